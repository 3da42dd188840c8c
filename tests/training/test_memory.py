"""A run that needs more memory than there is ends with one sentence, and is marked failed."""

import json

import numpy as np
import pytest
import torch

from cse.objective.simcse import Simcse

REAL = {
    "torch on a CPU": lambda: torch.empty(2**50),
    "numpy": lambda: np.ones((2**30, 2**20)),
}


def out_on_a_gpu():
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


@pytest.mark.parametrize("allocate", [*REAL.values(), out_on_a_gpu], ids=[*REAL, "torch on a GPU"])
def test_out_of_memory_names_what_saves_it(allocate, small_run, cse_train, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Simcse, "forward", lambda *_: allocate())
    assert cse_train(small_run) == 1
    (said,) = capsys.readouterr().err.strip().splitlines()
    for words in ("out of memory", "trainer.chunk=1 (now None)", "model.gradient_checkpointing", "trainer.max_length"):
        assert words in said
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert results["status"] == "failed"
    assert results["error"].startswith("RunError: out of memory")


def test_other_errors_stay_what_they_are(small_run, cse_train, monkeypatch):
    def broken(*_):
        raise RuntimeError("the sizes of tensors must match")

    monkeypatch.setattr(Simcse, "forward", broken)
    with pytest.raises(RuntimeError, match="sizes of tensors"):
        cse_train(small_run)
