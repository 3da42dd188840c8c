"""Pool hidden states to one vector per row. mask_BT is 1 for real tokens, including special tokens, 0 for padding."""

from typing import get_args

import torch
from torch import Tensor

from cse.ranges import Pooling

TRAINABLE = ("cls", "mean", "last", "mask")  # the layout of sentence-transformers can express these
POOLERS: tuple[Pooling, ...] = get_args(Pooling)


def pool(kind: str, last_BTD: Tensor, layers: tuple[Tensor, ...] | None, mask_BT: Tensor) -> Tensor:
    """Return one vector per row, (B, D).

    cls: the last layer at position 0. mean: the mean of the last layer over tokens. last: the last layer at the last
    real token (decoders); padding may be on either side. mask: the last layer at the mask token of a template; mask_BT
    is 1 only there. avg_*: the mean over tokens and two layers: avg_top2 has the last two layers, avg_first_last the
    first and the last layer (SimCSE's released code), avg_first_last_0 the embedding output and the last layer
    (NonLing-CSE, early SimCSE). layers: for avg_*, the embedding output and the output of every layer.
    """
    if kind == "cls":
        return last_BTD[:, 0]
    if kind in ("mean", "mask"):
        return mean(last_BTD, mask_BT)
    if kind == "last":
        places_T = torch.arange(mask_BT.shape[1], device=mask_BT.device)
        last_B = (places_T * mask_BT).argmax(1)
        return last_BTD[torch.arange(len(last_B), device=last_B.device), last_B]
    assert layers is not None
    other = {"avg_top2": -2, "avg_first_last": 1, "avg_first_last_0": 0}[kind]
    return mean((layers[other] + layers[-1]) / 2, mask_BT)


def mean(hidden_BTD: Tensor, mask_BT: Tensor) -> Tensor:
    """Return the mean over real tokens, (B, D); 0 for a row without real tokens."""
    weight_BT1 = mask_BT.unsqueeze(-1).to(hidden_BTD.dtype)
    return (hidden_BTD * weight_BT1).sum(1) / weight_BT1.sum(1).clamp(min=1)
