"""Errors of libraries that end a run become one sentence, and the run is marked failed."""

import numpy as np
import pytest
import torch
from run_folders import results_of

from cse.errors import RunError
from cse.objective.simcse import Simcse
from cse.training.failures import explain_failures

SETTINGS = {"trainer": {"chunk": None, "compile": False, "batch_size": 64, "max_length": 32},
            "model": {"gradient_checkpointing": False}}  # fmt: skip


def fails(error: Exception):
    raise error


GONE = RuntimeError("[gloo/transport/tcp/pair.cc:538] Read error: Connection reset by peer")
ELSE = RuntimeError("the sizes of tensors must match")


@pytest.mark.parametrize(("work", "processes", "named"), [
    (lambda: torch.empty(2**50), 1, r"trainer\.chunk=8 "), (lambda: np.ones((2**30, 2**20)), 1, r"trainer\.chunk=8 "),
    (lambda: fails(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")), 1, "gradient_checkp"),
    (lambda: fails(torch.AcceleratorError("CUDA error: out of memory")), 1, r"trainer\.max_length"),
    (lambda: fails(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`")), 1, "chunk=8 "),
    (lambda: fails(GONE), 2, "go on so"), (lambda: fails(GONE), 1, None), (lambda: fails(ELSE), 2, None),
])  # fmt: skip
def test_known_failures_name_a_remedy_and_other_errors_pass(work, processes, named, monkeypatch):
    monkeypatch.setattr("cse.training.failures.world_size", lambda: processes)
    kind = RuntimeError if named is None else RunError
    with pytest.raises(kind, match=named), explain_failures(SETTINGS, lambda: "go on so"):
        work()


def test_a_run_that_runs_out_of_memory_is_recorded_as_failed(small_run, cse_train, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Simcse, "forward", lambda *_: fails(torch.OutOfMemoryError("CUDA out of memory")))
    assert cse_train(small_run) == 1
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    results = results_of(tmp_path / "run")
    assert results["status"] == "failed"
    assert results["error"].startswith("RunError: out of memory")
