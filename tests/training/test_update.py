"""One update made of several batches: its loss and its gradient are their means."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

STILL = (  # no dropout, no clipping, weights that hardly move: each batch meets the same encoder
    "augmentation=shuffle",
    "augmentation.model_dropout=0.0",
    "trainer.clip=null",
    "trainer.lr=1e-12",
    "trainer.schedule=constant",
)


def told(folder: Path) -> tuple[list[float], dict[str, torch.Tensor]]:
    """The losses of a run's updates, and AdamW's first moments at its end."""
    events = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    losses = [event["train/loss"] for event in events if "train/loss" in event]
    state = load_file(folder / "last" / "state.safetensors")
    return losses, {name: tensor for name, tensor in state.items() if name.endswith("exp_avg")}


def test_two_batches_are_averaged(small_run, cse_train, tmp_path):
    """After one update AdamW's first moment is .1 g; after two it is .09 g1 + .1 g2."""
    runs = {"one": ["trainer.max_steps=1"], "two": ["trainer.max_steps=2"]}
    runs["both"] = ["trainer.max_steps=1", "trainer.accumulate=2"]
    for name, words in runs.items():
        assert cse_train([*small_run, *STILL, *words, f"hydra.run.dir={tmp_path}/{name}"]) == 0
    (_, one), (losses, two), ([mean], both) = (told(tmp_path / name) for name in runs)
    assert losses[0] != pytest.approx(losses[1], rel=1e-3)
    assert mean == pytest.approx(sum(losses) / 2, rel=1e-5)
    assert one
    for name, first in one.items():
        second = two[name] - 0.9 * first
        torch.testing.assert_close(both[name], (first + second) / 2, rtol=1e-3, atol=1e-8)
