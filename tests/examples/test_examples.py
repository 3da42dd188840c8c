"""The examples run as they stand, with every objective, on a tiny encoder."""

import math

import pytest
import torch
from sentence_transformers import SentenceTransformer

from cse.config.groups import choices
from cse.objective.declutr import nt_xent
from examples import plain_loop, st_trainer
from examples.objectives import OBJECTIVES

ELSEWHERE = {"mlm"}  # no function of embeddings: it needs the encoder's language-model head


@pytest.fixture(scope="module")
def lines(sentences) -> list[str]:
    return sentences.read_text().splitlines()[:64]


def test_every_objective_has_an_example():
    assert set(OBJECTIVES) == set(choices("objective")) - ELSEWHERE


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_plain_loop_lowers_the_loss(tiny_bert, lines, objective):
    torch.manual_seed(0)
    losses = list(plain_loop.train(tiny_bert, lines, objective, batch_size=16, lr=1e-3))
    assert len(losses) == 4
    assert all(map(math.isfinite, losses))
    assert min(losses[1:]) < losses[0]


def quick_or_slow(objective: str) -> object:
    """One objective in the fast tests, the others in the slow ones: the trainer is the same."""
    return objective if objective == "barlow" else pytest.param(objective, marks=pytest.mark.slow)


@pytest.mark.parametrize("objective", [quick_or_slow(objective) for objective in OBJECTIVES])
def test_sentence_transformers_trainer_moves_the_encoder(tiny_bert, lines, objective, tmp_path):
    trained = st_trainer.train(tiny_bert, lines[:32], objective, str(tmp_path / "run"), batch_size=16)
    before = SentenceTransformer(tiny_bert).encode(lines[:4])
    after = trained.encode(lines[:4])
    assert after.shape == before.shape
    assert not (after == before).all()


def test_the_adapter_gives_the_pure_functions_loss(tiny_bert, lines):
    model = SentenceTransformer(tiny_bert).eval()
    loss = st_trainer.ViewLoss(model, OBJECTIVES["declutr"])
    features = [model.preprocess(lines[:8]), model.preprocess(lines[8:16])]
    expected = nt_xent(*(torch.tensor(model.encode(part)) for part in (lines[:8], lines[8:16])), temperature=0.05)
    torch.testing.assert_close(loss(features, None), expected.to(loss.model.device), rtol=1e-4, atol=1e-5)
