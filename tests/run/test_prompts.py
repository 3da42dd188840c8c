"""A run with templates and denoising: in chunks, on two processes, stopped and resumed, scored and read by others."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file
from typed import exit_code

from cse.model.load import load_encoder

PROMPT = [
    "model.pooling=mask", "model.template='kadan, [X] lofel [MASK].'", "model.denoise=paper",
    "model.second_template='migor [X] nuler [MASK].'", "trainer.lr=1e-3",
]  # fmt: skip
STILL = ["augmentation=shuffle", "augmentation.model_dropout=0.0"]  # a process draws its own dropout


def losses(folder: Path) -> list[float]:
    events = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    return [event["train/loss"] for event in events if "train/loss" in event]


def test_a_run_is_resumed_scored_and_read_by_others(small_run, cse_train, tmp_path, senteval, capsys):
    from sentence_transformers import SentenceTransformer

    run = [*small_run, *PROMPT]
    assert cse_train(run) == 0
    paused = [*run, f"hydra.run.dir={tmp_path}/paused"]
    assert cse_train([*paused, "trainer.max_steps=4"]) == 0
    assert cse_train([*paused, "resume=auto"]) == 0
    one, other = (load_file(tmp_path / name / "last/state.safetensors") for name in ("run", "paused"))
    assert [name for name in one if not one[name].equal(other[name])] == []
    texts = ["kadan lofel migor", "permon"]
    ours = load_encoder(str(tmp_path / "run/best"), None).encode(texts)
    np.testing.assert_allclose(SentenceTransformer(f"{tmp_path}/run/best", device="cpu").encode(texts), ours, atol=1e-5)
    scored = ["eval=stsb", f"paths.senteval={senteval}", "allow_partial=true", "tracker=none"]
    assert exit_code("cse-eval", f"checkpoint={tmp_path}/run", *scored, f"hydra.run.dir={tmp_path}/scores") == 0
    results = [json.loads((tmp_path / name / "results.json").read_text())["metrics"] for name in ("run", "scores")]
    assert results[1]["test/stsb/spearman"] == pytest.approx(results[0]["test/stsb/spearman"], abs=1e-3)


def test_chunks_are_the_whole_batch(small_run, cse_train, tmp_path):
    assert cse_train([*small_run, *PROMPT, *STILL]) == 0
    assert cse_train([*small_run, *PROMPT, *STILL, "trainer.chunk=3", f"hydra.run.dir={tmp_path}/chunks"]) == 0
    np.testing.assert_allclose(losses(tmp_path / "chunks"), losses(tmp_path / "run"), rtol=1e-4)


@pytest.mark.nightly
def test_two_processes_are_one(small_run, cse_train, tmp_path):
    assert cse_train([*small_run, *PROMPT, *STILL]) == 0
    command = [Path(sys.executable).parent / "cse-train", *small_run, *PROMPT, *STILL, "trainer.devices=2"]
    subprocess.run([*command, f"hydra.run.dir={tmp_path}/two"], check=True, timeout=300)
    np.testing.assert_allclose(losses(tmp_path / "two"), losses(tmp_path / "run"), rtol=1e-4)
