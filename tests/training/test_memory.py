"""A run that needs more memory than there is ends with one sentence, and is marked failed."""

import json

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf

from cse.errors import RunError
from cse.objective.simcse import Simcse
from cse.training.memory import explain_out_of_memory

CFG = OmegaConf.create({"trainer": {"chunk": None, "batch_size": 64, "max_length": 32},
                        "model": {"gradient_checkpointing": False}})  # fmt: skip


def on_a_gpu():
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


def without_the_allocator():
    raise torch.AcceleratorError("CUDA error: out of memory")


def in_a_library():
    raise RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")


def elsewhere():
    raise RuntimeError("the sizes of tensors must match")


@pytest.mark.parametrize(("work", "kind", "named"), [
    (lambda: torch.empty(2**50), RunError, r"trainer\.chunk=8 "), (on_a_gpu, RunError, r"trainer\.max_length"),
    (without_the_allocator, RunError, r"trainer\.chunk=8 "), (in_a_library, RunError, r"trainer\.chunk=8 "),
    (lambda: np.ones((2**30, 2**20)), RunError, r"model\.gradient_checkpointing"), (elsewhere, RuntimeError, "sizes"),
])  # fmt: skip
def test_out_of_memory_names_what_saves_it_and_other_errors_stay(work, kind, named):
    with pytest.raises(kind, match=named), explain_out_of_memory(CFG):
        work()


def test_a_run_that_runs_out_of_memory_failed(small_run, cse_train, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Simcse, "forward", lambda *_: on_a_gpu())
    assert cse_train(small_run) == 1
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert results["status"] == "failed"
    assert results["error"].startswith("RunError: out of memory")
