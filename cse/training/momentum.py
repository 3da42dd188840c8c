"""A second encoder, which follows the first encoder (MoCo, arXiv:1911.05722, Eq. 2), for ESimCSE's negatives.

    theta_m  <-  momentum theta_m + (1 - momentum) theta

The second encoder starts as a copy of the first. B is the number of rows, D the width.
"""

from copy import deepcopy

import torch
from torch import Tensor, nn

from cse.device import to_device
from cse.model.encoder import Encoder
from cse.training.step import Chunks, rows_of
from cse.types import Tokens


class MomentumEncoder(nn.Module):
    """The second encoder. last/ holds both encoders. The second encoder's layers are in eval mode, without dropout.

    The second encoder's other modules are in train mode, so model.denoise applies."""

    def __init__(self, encoder: Encoder, momentum: float):
        super().__init__()
        self.encoder, self.momentum = deepcopy(encoder), momentum
        self.encoder.backbone.eval()

    @torch.no_grad()
    def follow(self, encoder: Encoder) -> None:
        """Move the weights towards the weights of `encoder`, with the equation of this module."""
        for mine, theirs in zip(self.encoder.parameters(), encoder.parameters(), strict=True):
            mine.lerp_(theirs, 1 - self.momentum)

    @torch.no_grad()
    def forward(self, tokens: Tokens, chunks: Chunks | None) -> Tensor:
        """Return the vectors of all rows, (B, D), without gradient. tokens: on the CPU. chunks: None for one chunk."""
        unmasked = Tokens(tokens.ids_BT, tokens.mask_BT)
        rows = (chunks or Chunks(rows=len(tokens.ids_BT))).cut(tokens.mask_BT.sum(1))
        pooled = [self.encoder(rows_of(unmasked, numbers).to(self.encoder.device)).pooled_BD for numbers in rows]
        return torch.cat(pooled)[to_device(torch.cat(rows).argsort(), self.encoder.device)]
