"""Two processes with half the batch each have the numbers and gradients of one process with all of it."""

import pytest
import torch
import torch.multiprocessing as mp
from objectives import OBJECTIVES, make, settings_of
from toy_batches import ROWS, SHARED, ToyEncoder, batch_for, one_step, shard, shared_info_nce, worker

from cse.training.step import split

EXACT = [(name, "exact", chunk) for name in OBJECTIVES for chunk in (None, 5)]
PAPER = [(name, "paper", chunk) for name in OBJECTIVES for chunk in (None, 5) if not name.startswith("declutr_memory")]
MASKED = [case for case in PAPER if case[0] in ("mlm", "simcse_mlm", "declutr", "declutr_relu")]
CASES = EXACT + PAPER


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory) -> list[tuple[list, list]]:
    """What each of two processes computes for CASES and for SHARED; they are started once for all cases."""
    meeting = tmp_path_factory.mktemp("meeting") / "store"  # a free port could be another's by then
    cases = [(settings_of(name), scale, chunk) for name, scale, chunk in CASES]  # so that they need not compose
    with mp.Manager() as manager:
        results = manager.dict()
        mp.spawn(worker, (meeting, cases, results), nprocs=2)
        return [results[0], results[1]]


@pytest.mark.parametrize("case", [case for case in CASES if case not in MASKED], ids=str)
def test_two_processes_equal_one(two_processes, case):
    """Under "paper" the gradient of the encoder and of the head is half of one process's (spec of DeCLUTR, section 2,
    and of NonLing-CSE, section 1)."""
    name, scale, chunk = case
    numbers, grads = one_step(0, 1, settings_of(name), scale, chunk)
    if scale == "paper":
        grads = [grad / 2 for grad in grads]
    for rank in range(2):
        their_numbers, theirs = two_processes[rank][0][CASES.index(case)]
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


@pytest.mark.parametrize("case", MASKED, ids=str)
def test_gather_scale_paper_takes_the_language_model_of_own_rows(two_processes, case):
    """Half of one process's contrastive gradient, and the mean of the processes' gradients of the language model."""
    name = case[0]
    expected = [getattr(make(name), "mlm_weight", 1) * grad for grad in gradient_of(name, "mlm", 2)]
    if name != "mlm":
        contrastive = gradient_of(name, "contrastive", 1)
        expected = [mlm + whole / 2 for mlm, whole in zip(expected, contrastive, strict=True)]
    expected = [grad for grad in expected if grad.any()]
    for rank in range(2):
        _, theirs = two_processes[rank][0][CASES.index(case)]
        torch.testing.assert_close(theirs, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("case", SHARED, ids=str)
def test_each_process_computes_the_similarities_of_its_share(two_processes, case):
    """Half of the operations each. The shares of 7 rows differ; a share of one row is empty."""
    rows, is_shared = case
    loss, operations, gradient = shared_info_nce(rows, False)
    both = [two_processes[rank][1][SHARED.index(case)] for rank in range(2)]
    assert [their_loss for their_loss, _, _ in both] == pytest.approx([loss, loss], rel=1e-12)
    assert sum(theirs for _, theirs, _ in both) == operations * (1 if is_shared else 2)
    torch.testing.assert_close((both[0][2] + both[1][2]) / 2, gradient)
    if rows == 64:
        assert both[0][1] == both[1][1]
