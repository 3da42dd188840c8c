"""A toy encoder, batches for every objective, and the gradients of a step: also for processes that import no more."""

from contextlib import nullcontext
from pathlib import Path

import torch
import torch.distributed as dist
from omegaconf import DictConfig
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from cse.lab.run.build import make_objective
from cse.objective import blockwise
from cse.objective.blockwise import shared_rows
from cse.objective.simcse import info_nce
from cse.training.distributed import average_gradients
from cse.training.step import Chunks, chunked_step, plain_step
from cse.training.update import geometry
from cse.types import Batch, Encoded, Tokens

DIM, VOCABULARY, ROWS = 8, 30, 16
SHARED = [(64, True), (64, False), (7, True), (1, True)]  # rows, and whether two processes share them


class ToyEncoder(nn.Module):
    """Embedding, one layer, dropout, mean over tokens: rows are independent of each other."""

    def __init__(self, dropout: float = 0.0):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, DIM)
        self.layer = nn.Linear(DIM, DIM)
        self.dropout = nn.Dropout(dropout)
        self.mlm = nn.Linear(DIM, VOCABULARY)

    def forward(self, tokens: Tokens) -> Encoded:
        hidden_BTD = self.dropout(self.layer(self.words(tokens.ids_BT)).tanh())
        weight_BT1 = tokens.mask_BT.unsqueeze(-1).to(hidden_BTD.dtype)
        pooled_BD = (hidden_BTD * weight_BT1).sum(1) / weight_BT1.sum(1)
        if tokens.labels_BT is None:
            return Encoded(pooled_BD)
        masked_BT = tokens.labels_BT != -100
        nll_BT = nn.functional.cross_entropy(
            self.mlm(hidden_BTD).transpose(1, 2), tokens.labels_BT.clamp(min=0), reduction="none"
        )
        return Encoded(pooled_BD, {"mlm_nll_B": (nll_BT * masked_BT).sum(1), "mlm_count_B": masked_BT.sum(1)})


def built(objective: DictConfig, dim: int = DIM) -> nn.Module:
    """An objective in float64, with the same initial weights every time."""
    torch.manual_seed(5)
    return make_objective(objective, dim).double()


def batch_for(objective: nn.Module, rows: int, seed: int = 0) -> Batch:
    """Random tokens for every view of `rows` rows; with labels where the objective masks."""
    generator = torch.Generator().manual_seed(seed)
    sizes = [rows] * objective.num_views
    if objective.averages_positives:
        sizes[1] = 2 * rows
    if objective.masking == "copies":
        sizes.append(sum(sizes))
    ids_BT = torch.randint(1, VOCABULARY, (sum(sizes), 6), generator=generator)
    lengths_B = torch.randint(2, 7, (sum(sizes),), generator=generator)
    mask_BT = (torch.arange(6)[None] < lengths_B[:, None]).long()
    labels_BT = None
    if objective.masking != "none":
        labels_BT = torch.full_like(ids_BT, -100)
        first, last = (0, sizes[0]) if objective.masking == "first" else (sum(sizes[:-1]), sum(sizes))
        labels_BT[first:last, 0] = ids_BT[first:last, 1]
    return Batch(Tokens(ids_BT, mask_BT, labels_BT), tuple(sizes), known_of(objective, sizes, generator))


def known_of(objective: nn.Module, sizes: list[int], generator: torch.Generator) -> dict[str, torch.Tensor]:
    """What the objective reads beside the encoder's output: scores with ties, unit teacher vectors, other vectors."""
    rows, total = sizes[0], sum(sizes)
    rows_B = torch.cat([torch.arange(rows).repeat_interleave(size // rows) for size in sizes])
    scores_B = torch.randint(0, 6, (rows,), generator=generator) / 5
    vectors_BE = nn.functional.normalize(torch.randn(total, DIM, generator=generator, dtype=torch.float64))
    known = {"targets_B": scores_B[rows_B]} if objective.reads_scores else {}
    known |= {"rows_B": rows_B} if objective.reads_rows else {}
    if objective.further_are_negatives and objective.num_views > 3:  # a third of the negatives is missing
        is_missing_B = torch.rand(total, generator=generator) < 1 / 3
        known["missing_B"] = is_missing_B & (torch.arange(total) >= 2 * rows)
    if objective.teachers:
        known["teacher_BE"] = vectors_BE
    if objective.momentum is not None:
        queues = [x_QD for name, x_QD in objective.named_buffers() if name.endswith("memory_QD")]  # by width
        wide_QD = max(queues, key=lambda x_QD: x_QD.shape[1])
        known["momentum_BD"] = torch.randn(total, wide_QD.shape[1], generator=generator, dtype=wide_QD.dtype)
    return known


def shard(batch: Batch, rank: int, world: int) -> Batch:
    """The rows of one process: a contiguous part of every view, as cse.data.loader deals them."""
    keep, start = [], 0
    for size in batch.sizes:
        keep += range(start + size // world * rank, start + size // world * (rank + 1))
        start += size
    tokens = batch.tokens
    parts = [None if x is None else x[keep] for x in (tokens.ids_BT, tokens.mask_BT, tokens.labels_BT)]
    known = {name: x[keep] for name, x in batch.known.items()}
    return Batch(Tokens(*parts), tuple(size // world for size in batch.sizes), known)


def one_step(
    rank: int, world: int, settings: DictConfig, scale: str, chunk: int | None
) -> tuple[dict[str, float], list[torch.Tensor]]:
    """Numbers and gradients of the second of two steps, so that memory banks and running moments hold what the first
    left."""
    torch.manual_seed(0)
    encoder, objective = ToyEncoder().double(), built(settings)
    step, more = (chunked_step, {"chunks": Chunks(rows=chunk)}) if chunk else (plain_step, {})
    for seed in (0, 1):
        encoder.zero_grad()
        objective.zero_grad()
        batch = shard(batch_for(objective, ROWS, seed), rank, world)
        loss, views = step(encoder, objective, batch, torch.Tensor.backward, scale, **more)
        average_gradients([encoder, objective], [objective] if scale == "paper" else [])
    numbers = {"loss": loss.total.item(), **geometry(views)}
    return numbers, [p.grad for m in (encoder, objective) for p in m.parameters() if p.grad is not None]


def shared_info_nce(rows: int, is_shared: bool) -> tuple[float, int, torch.Tensor]:
    """SimCSE's loss of vectors that all processes have: its value, the operations of its products, its gradient."""
    generator = torch.Generator().manual_seed(rows)
    x_BD, y_BD = (torch.randn(rows, DIM, generator=generator, dtype=torch.float64).requires_grad_() for _ in range(2))
    with FlopCounterMode(display=False) as counter:
        with shared_rows() if is_shared else nullcontext():
            loss = info_nce(x_BD, y_BD, temperature=0.5)
        loss.backward()
    return loss.item(), counter.get_total_flops(), torch.stack([x_BD.grad, y_BD.grad])


def worker(rank: int, meeting: Path, cases: list, results) -> None:
    """One of two processes: SHARED, and its step of every case, in blocks of a few rows if in chunks."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    shared, steps = [shared_info_nce(*case) for case in SHARED], []
    for case in cases:
        blockwise.MAX_ELEMENTS = 2**26 if case[2] is None else 100
        steps.append(one_step(rank, 2, *case))
    results[rank] = steps, shared
    dist.destroy_process_group()
