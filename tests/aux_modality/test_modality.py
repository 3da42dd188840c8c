"""Heads and precision of a second modality."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from cse.aux_modality.modality import Modality
from cse.aux_modality.supcon import contrast
from cse.errors import UserError
from cse.model.heads import MLPHead

SETTINGS = {
    "loss": "supcon", "temperature": 0.07, "head": MLPHead, "head_mode": "own", "weight": 0.05, "order": "aux_first",
    "optimizer": "separate", "lr": 1e-6, "weight_decay": 0.0, "no_decay": ["bias"], "schedule": "cosine", "clip": 1.0,
}  # fmt: skip
LABELS = torch.tensor([0, 1, 1, 2])


def modality(classes=3, **changes) -> Modality:
    return Modality(8, 8, SimpleNamespace(num_classes=classes, kind="images", where="FOLDER"), **SETTINGS | changes)


class WideHead(nn.Linear):
    def __init__(self, dim: int):
        super().__init__(dim, 12)
        self.out_dim = 12


def pooled(seed=0, dtype=torch.float32) -> torch.Tensor:
    return torch.randn(8, 8, generator=torch.Generator().manual_seed(seed)).to(dtype)


def expected(rows: torch.Tensor) -> torch.Tensor:
    return contrast(*rows.chunk(2), LABELS, 0.07)


@pytest.mark.parametrize(
    ("mode", "through", "trained"),
    [
        ("own", lambda aux, text, rows: aux.head(rows), "aux"),
        ("text_then_own", lambda aux, text, rows: aux.head(text(rows)), "both"),
        ("shared", lambda aux, text, rows: text(rows), "text"),
        ("none", lambda aux, text, rows: rows, ""),
    ],
)
def test_heads(mode, through, trained):
    """What the rows go through, and what the aux update trains; an own head is as wide as the text's gives."""
    text = WideHead(8)
    aux = modality(head_mode=mode, head=None if mode == "shared" else MLPHead)
    aux.bind(text_head=text)
    rows = pooled()
    loss = aux.loss(rows, LABELS).total
    assert torch.equal(loss, expected(through(aux, text, rows)))
    ours = {id(parameter) for parameter in aux.parameters()}
    theirs = {id(parameter) for parameter in text.parameters()}
    assert bool(ours - theirs) == (trained in ("aux", "both"))
    assert (theirs <= ours) == (trained in ("text", "both"))
    if trained in ("text", "both"):
        loss.backward()
        assert text.weight.grad.norm() > 0


def test_a_head_mode_without_its_head_is_refused():
    for mode in ("text_then_own", "shared"):
        with pytest.raises(UserError, match=f"head_mode={mode}"):
            modality(head_mode=mode).bind(text_head=None)
    with pytest.raises(UserError, match="head_mode=own"):
        modality(head=None)


def test_a_loss_by_labels_needs_two_classes():
    with pytest.raises(UserError, match="loss=supcon: it learns from classes, but all images of FOLDER"):
        modality(classes=1)
    modality(classes=1, loss="simclr")


def test_the_loss_is_float32_under_autocast_and_float64_of_float64():
    aux = modality(head_mode="none")
    assert aux.loss(pooled(dtype=torch.float64), LABELS).total.dtype == torch.float64
    rows = pooled().bfloat16()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = aux.loss(rows, LABELS).total
    assert torch.equal(found, expected(rows.float()))
