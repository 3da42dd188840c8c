"""The examples run as written, with every objective, on a tiny encoder."""

import math

import pytest
import torch
from sentence_transformers import SentenceTransformer

from cse.objective.declutr import nt_xent
from examples import plain_loop, st_trainer
from examples.objectives import OBJECTIVES


@pytest.fixture(scope="module")
def lines(sentences) -> list[str]:
    return sentences.read_text().splitlines()[:64]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_plain_loop_lowers_the_loss(tiny_bert, lines, objective):
    torch.manual_seed(0)
    losses = list(plain_loop.train(tiny_bert, lines, objective, batch_size=16, lr=1e-3))
    assert len(losses) == 4
    assert all(map(math.isfinite, losses))
    assert min(losses[1:]) < losses[0]


def test_sentence_transformers_trainer_moves_the_encoder(tiny_bert, lines, tmp_path):
    """With one objective, since the trainer is the same for all; ViewLoss is tested below."""
    trained = st_trainer.train(tiny_bert, lines[:32], "barlow", str(tmp_path / "run"), batch_size=16)
    before = SentenceTransformer(tiny_bert).encode(lines[:4])
    after = trained.encode(lines[:4])
    assert after.shape == before.shape
    assert not (after == before).all()


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_adapter_gives_every_objectives_loss_and_gradient(tiny_bert, lines, objective):
    loss = st_trainer.ViewLoss(SentenceTransformer(tiny_bert), OBJECTIVES[objective])
    views = range(0, 8 * OBJECTIVES[objective].views, 8)
    total = loss([loss.model.preprocess(lines[start : start + 8]) for start in views], None)
    total.backward()
    assert math.isfinite(total.item())
    assert any(p.grad is not None and p.grad.any() for p in loss.parameters())


def test_the_adapter_gives_the_pure_functions_loss(tiny_bert, lines):
    model = SentenceTransformer(tiny_bert).eval()
    loss = st_trainer.ViewLoss(model, OBJECTIVES["declutr"])
    features = [model.preprocess(lines[:8]), model.preprocess(lines[8:16])]
    expected = nt_xent(*(torch.tensor(model.encode(part)) for part in (lines[:8], lines[8:16])), temperature=0.05)
    torch.testing.assert_close(loss(features, None), expected.to(loss.model.device), rtol=1e-4, atol=1e-5)
