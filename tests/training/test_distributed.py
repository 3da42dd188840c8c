"""Two processes with half the batch each have the numbers and gradients of one process with all of it."""

import pytest
import torch
import torch.multiprocessing as mp
from objectives import OBJECTIVES, make, settings_of
from toy_batches import ROWS, ToyEncoder, batch_for, one_step, shard, worker

from cse.training.step import split

CASES = [(name, "exact", chunk) for name in OBJECTIVES for chunk in (None, 5)]
PAPER = [(name, "paper", chunk) for name in ("simcse", "simcse_mlm", "declutr", "declutr_relu") for chunk in (None, 5)]
CASES += PAPER


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory) -> list[list]:
    """What each of two processes computes for every case; they are started once for all cases."""
    meeting = tmp_path_factory.mktemp("meeting") / "store"  # a free port could be another's by then
    cases = [(settings_of(name), scale, chunk) for name, scale, chunk in CASES]  # so that they need not compose
    with mp.Manager() as manager:
        results = manager.dict()
        mp.spawn(worker, (meeting, cases, results), nprocs=2)
        return [results[0], results[1]]


@pytest.mark.parametrize("case", [c for c in CASES if c[1] == "exact"], ids=str)
def test_two_processes_equal_one(two_processes, case):
    name, scale, chunk = case
    numbers, grads = one_step(0, 1, settings_of(name), scale, chunk)
    for rank in range(2):
        their_numbers, theirs = two_processes[rank][CASES.index(case)]
        assert their_numbers["loss"] == pytest.approx(numbers["loss"], rel=1e-9)
        assert their_numbers == pytest.approx(numbers, rel=1e-6)  # its geometry is of float32
        torch.testing.assert_close(theirs, grads, rtol=1e-6, atol=1e-9)


def gradient_of(name: str, part: str, shards: int) -> list[torch.Tensor]:
    """One process's gradient of one part of the loss: the mean over so many shards of the batch, each by itself."""
    torch.manual_seed(0)
    encoder, objective = ToyEncoder().double(), make(name)
    batch = batch_for(objective, ROWS, 1)
    for rank in range(shards):
        piece = shard(batch, rank, shards)
        (objective(split(encoder(piece.tokens), piece)).parts[part] / shards).backward()
    parameters = [p for module in (encoder, objective) for p in module.parameters()]
    return [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]


@pytest.mark.parametrize("case", PAPER, ids=str)
def test_gather_scale_paper_is_the_papers_gathering(two_processes, case):
    """Spec of DeCLUTR, section 2, and of NonLing-CSE, section 1: on W processes the contrastive gradient is 1/W of one
    process's, in the encoder and in the head; the language model's is the mean of the processes' own, in full."""
    name = case[0]
    weight = make(name).mlm_weight
    expected = [grad / 2 for grad in gradient_of(name, "contrastive", 1)]
    if weight:
        expected = [c + weight * m for c, m in zip(expected, gradient_of(name, "mlm", 2), strict=True)]
    expected = [grad for grad in expected if grad.any()]
    for rank in range(2):
        _, theirs = two_processes[rank][CASES.index(case)]
        torch.testing.assert_close(theirs, expected, rtol=1e-6, atol=1e-9)
