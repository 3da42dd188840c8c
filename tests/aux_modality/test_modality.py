"""Heads, projection, precision and the settings that the loop reads."""

import logging

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


def modality(dim=8, width=8, **changes) -> Modality:
    return Modality(dim, width, None, **SETTINGS | changes)


class WideHead(nn.Linear):
    def __init__(self, dim: int):
        super().__init__(dim, 12)
        self.out_dim = 12


def pooled(seed=0, dtype=torch.float32) -> torch.Tensor:
    return torch.randn(8, 8, generator=torch.Generator().manual_seed(seed)).to(dtype)


def expected(rows: torch.Tensor) -> torch.Tensor:
    return contrast(*rows.chunk(2), LABELS, 0.07)


def test_own_head():
    aux = modality()
    aux.bind(text_head=MLPHead(8))
    rows = pooled()
    assert torch.equal(aux.loss(rows, LABELS).total, expected(aux.head(rows)))
    assert sorted(dict(aux.named_parameters())) == ["head.linear.bias", "head.linear.weight"]


def test_text_then_own_head_is_as_wide_as_the_text_head_gives():
    text = WideHead(8)
    aux = modality(head_mode="text_then_own")
    aux.bind(text_head=text)
    assert aux.head.linear.in_features == 12
    rows = pooled()
    assert torch.equal(aux.loss(rows, LABELS).total, expected(aux.head(text(rows))))
    assert {id(p) for p in text.parameters()} < {id(p) for p in aux.parameters()}  # so the aux update trains it too


def test_shared_head():
    text = MLPHead(8)
    aux = modality(head_mode="shared", head=None)
    aux.bind(text_head=text)
    rows = pooled()
    assert torch.equal(aux.loss(rows, LABELS).total, expected(text(rows)))
    aux.loss(rows, LABELS).total.backward()
    assert text.linear.weight.grad.norm() > 0


def test_no_head_is_the_papers_text():
    aux = modality(head_mode="none")
    rows = pooled()
    assert torch.equal(aux.loss(rows, LABELS).total, expected(rows))
    assert not list(aux.parameters())


@pytest.mark.parametrize("mode", ["text_then_own", "shared"])
def test_an_objective_without_head(mode):
    aux = modality(head_mode=mode)
    with pytest.raises(UserError, match=rf"head_mode={mode} uses the objective's head, and this objective has none"):
        aux.bind(text_head=None)
    with pytest.raises(UserError, match="no head of the objective was given"):
        aux.loss(pooled(), LABELS)


def test_own_head_needs_one():
    with pytest.raises(UserError, match=r"head_mode=own needs aux_modality.head"):
        modality(head=None)


def test_the_loop_finds_the_settings():
    aux = modality(weight=0.2, order="text_first", optimizer="joint", lr=3e-6, schedule="linear", clip=None)
    found = (aux.weight, aux.order, aux.optimizer, aux.lr, aux.weight_decay, aux.schedule, aux.clip)
    assert found == (0.2, "text_first", "joint", 3e-6, 0.0, "linear", None)


def test_a_projection_only_where_widths_differ(caplog):
    with caplog.at_level(logging.INFO):
        assert isinstance(modality().projection, nn.Identity)
        assert not caplog.records
        assert modality(dim=8, width=5).projection.weight.shape == (8, 5)
    assert "tokens of width 5 go through a linear layer to the encoder's 8" in caplog.text


def test_float64_stays_and_autocast_computes_the_loss_in_float32():
    aux = modality(head_mode="none")
    assert aux.loss(pooled(dtype=torch.float64), LABELS).total.dtype == torch.float64
    rows = pooled().bfloat16()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = aux.loss(rows, LABELS).total
    assert torch.equal(found, expected(rows.float()))


@pytest.mark.parametrize(("name", "tokens"), [("visual", 197), ("audio", 211)])
def test_the_tokens_that_an_estimate_counts_are_the_published_ones(name, tokens):
    from hydra.utils import get_class

    from cse.config.compose import composed

    node = composed("train", [f"aux_modality={name}"]).aux_modality
    assert get_class(node._target_).num_tokens(node) == tokens
