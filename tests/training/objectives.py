"""Every objective at toy size, and batches for it: for tests that hold for all of them."""

import torch
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from torch import nn

from cse.run.composition import CONF_DIR
from cse.types import Batch, Encoded, Tokens

DIM, VOCABULARY = 8, 30


class ToyEncoder(nn.Module):
    """Embedding, one layer, dropout, mean over tokens: rows do not see each other."""

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
            return Encoded(pooled_BD, hidden_BTD)
        masked_BT = tokens.labels_BT != -100
        nll_BT = nn.functional.cross_entropy(
            self.mlm(hidden_BTD).transpose(1, 2), tokens.labels_BT.clamp(min=0), reduction="none"
        )
        return Encoded(pooled_BD, hidden_BTD, (nll_BT * masked_BT).sum(1), masked_BT.sum(1))


PROJECTOR = ["objective.head.hidden=24", "objective.head.out=24"]  # wider than the batch: the Gram form
WHITENING = ["objective=whitenedcse", "objective.whitening.num_groups=4", "objective.whitening.batch_size=16"]
MEMORY = ["objective=declutr", "objective.memory_size=70"]
OBJECTIVES = {
    "simcse": ["objective=simcse"],
    "simcse_sup": ["objective=simcse_sup", "objective.hard_negative_weight=1.0"],
    "simcse_mlm": ["objective=simcse", "objective.mlm_weight=0.1"],
    "whitenedcse": WHITENING,
    "whitenedcse_through": [*WHITENING, "objective.whitening.grad=through"],
    "whitenedcse_ema": [*WHITENING, "objective.whitening.stats=ema", "objective.whitening.eps=1e-3"],
    "whitenedcse_shared": [*WHITENING, "objective.source=shared_backbone", "objective.loss=L2_softmin"],
    "declutr": ["objective=declutr"],
    "declutr_relu": ["objective=declutr", "objective.head.kind=relu"],
    "declutr_memory": MEMORY,
    "declutr_memory_pml": [*MEMORY, "objective.memory_kind=pml", "objective.head.kind=relu"],
    "mlm": ["objective=mlm"],
    "barlow": ["objective=barlow", *PROJECTOR],
    "barlow_narrow": ["objective=barlow", "objective.head.hidden=9", "objective.head.out=9"],
    "vicreg": ["objective=vicreg", *PROJECTOR],
}


def make(name: str, dim: int = DIM) -> nn.Module:
    """The objective as conf/ builds it, in float64, with the same new weights every time."""
    with initialize_config_dir(CONF_DIR, version_base="1.3"):
        config = compose("train", ["data=text", *OBJECTIVES[name]])
    torch.manual_seed(5)
    return instantiate(config.objective, dim=dim).double()


def batch_for(objective: nn.Module, rows: int, seed: int = 0) -> Batch:
    """Random tokens for every view of `rows` rows; with labels where the objective masks."""
    generator = torch.Generator().manual_seed(seed)
    sizes = [rows] * objective.num_views
    if getattr(objective, "averages_positives", False):
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
    return Batch(Tokens(ids_BT, mask_BT, labels_BT), tuple(sizes))


def shard(batch: Batch, rank: int, world: int) -> Batch:
    """The rows of one process: a contiguous part of every view, as cse.data.loader deals them."""
    keep, start = [], 0
    for size in batch.sizes:
        keep += range(start + size // world * rank, start + size // world * (rank + 1))
        start += size
    tokens = batch.tokens
    parts = [None if x is None else x[keep] for x in (tokens.ids_BT, tokens.mask_BT, tokens.labels_BT)]
    return Batch(Tokens(*parts), tuple(size // world for size in batch.sizes))
