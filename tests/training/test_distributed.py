"""Two processes with half the batch each have the loss and gradients of one process with all of it."""

from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from objectives import OBJECTIVES, ToyEncoder, batch_for, make, shard

from cse.training.distributed import average_gradients
from cse.training.step import Chunks, chunked_step, plain_step, split

ROWS = 16


def one_step(rank: int, world: int, name: str, scale: str, chunk: int | None) -> tuple[float, list[torch.Tensor]]:
    """The second of two steps, so that memory banks and running moments hold what the first left."""
    torch.manual_seed(0)
    encoder, objective = ToyEncoder().double(), make(name)
    step, more = (chunked_step, {"chunks": Chunks(rows=chunk)}) if chunk else (plain_step, {})
    for seed in (0, 1):
        encoder.zero_grad()
        objective.zero_grad()
        batch = shard(batch_for(objective, ROWS, seed), rank, world)
        loss, _ = step(encoder, objective, batch, torch.Tensor.backward, scale, **more)
        average_gradients([encoder, objective], [objective] if scale == "paper" else [])
    return loss.total.item(), [p.grad for m in (encoder, objective) for p in m.parameters() if p.grad is not None]


def worker(rank: int, meeting: Path, cases: list, results) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    results[rank] = [one_step(rank, 2, *case) for case in cases]
    dist.destroy_process_group()


CASES = [(name, "exact", chunk) for name in OBJECTIVES for chunk in (None, 5)]
PAPER = [(name, "paper", chunk) for name in ("simcse", "simcse_mlm", "declutr", "declutr_relu") for chunk in (None, 5)]
CASES += PAPER


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory) -> list[list]:
    """What each of two processes computes for every case; they are started once for all cases."""
    meeting = tmp_path_factory.mktemp("meeting") / "store"  # a free port could be another's by then
    with mp.Manager() as manager:
        results = manager.dict()
        mp.spawn(worker, (meeting, CASES, results), nprocs=2)
        return [results[0], results[1]]


@pytest.mark.parametrize("case", [c for c in CASES if c[1] == "exact"], ids=str)
def test_two_processes_equal_one(two_processes, case):
    loss, grads = one_step(0, 1, *case)
    for rank in range(2):
        theirs_loss, theirs = two_processes[rank][CASES.index(case)]
        assert theirs_loss == pytest.approx(loss, rel=1e-9)
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
