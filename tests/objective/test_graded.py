"""CoSENT, AnglE and regression, against loops from the formulas and against sentence-transformers' losses."""

import math

import pytest
import torch
from made_up_views import cosine
from sentence_transformers.sentence_transformer.losses import AnglELoss, CoSENTLoss, CosineSimilarityLoss
from torch.nn.functional import normalize

from cse.errors import UserError
from cse.model.heads import Projector
from cse.objective.graded import Angle, Cosent, Cosine, angle_similarity, cosent
from cse.types import Encoded

MORE_TOYS = {"angle_of_the_text": ["objective=angle", "objective.reading=angle"]}
WEIGHTS = {"cosine_weight": 1.0, "negatives_weight": 0.5, "angle_weight": 2.0}
TEMPERATURES = {"cosine_temperature": 0.05, "negatives_temperature": 0.1, "angle_temperature": 1.0}


@pytest.fixture
def pairs():
    generator = torch.Generator().manual_seed(0)
    x_BD, y_BD = torch.randn(2, 9, 6, generator=generator, dtype=torch.float64)
    return x_BD, y_BD, torch.tensor([0, 5, 2.5, 2.5, 1, 4, 5, 0, 3.2], dtype=torch.float64) / 5


def slow_cosent(similarities, targets, temperature):
    total = 1.0
    for s_i, t_i in zip(similarities, targets, strict=True):
        for s_j, t_j in zip(similarities, targets, strict=True):
            total += math.exp((s_j - s_i) / temperature) if t_i > t_j else 0.0
    return math.log(total)


def views(pairs):
    x_BD, y_BD, targets_B = pairs
    return [Encoded(z_BD, {"targets_B": targets_B}) for z_BD in (x_BD, y_BD)]


def test_cosent_against_loops(pairs):
    x_BD, y_BD, targets_B = pairs
    cosines = [cosine(a, b) for a, b in zip(x_BD, y_BD, strict=True)]
    expected = slow_cosent(cosines, targets_B.tolist(), 0.05)
    assert Cosent(6, 0.05)(views(pairs)).total.item() == pytest.approx(expected, rel=1e-12)


def test_angle_against_loops(pairs):
    """The terms of the authors' code, number by number: (a + bi) / (c + di), scaled to length one, summed."""
    x_BD, y_BD, targets_B = pairs
    released, of_text = [], []
    for x, y in zip(x_BD.tolist(), y_BD.tolist(), strict=True):
        z, w = ([complex(v[i], v[i + 3]) for i in range(3)] for v in (x, y))
        scale = math.sqrt(sum(abs(a) ** 2 for a in z) * sum(abs(b) ** 2 for b in w))
        products = [a * b.conjugate() for a, b in zip(z, w, strict=True)]
        released.append(abs(sum(product.real + product.imag for product in products)) / scale)
        turns = [math.atan2(product.imag, product.real) for product in products]
        of_text.append(1 - sum(map(abs, turns)) / 3 / math.pi)
        # the paper's formula, word for word, gives 1 for every pair
        assert [abs(a / b * abs(b) / abs(a)) for a, b in zip(z, w, strict=True)] == pytest.approx([1, 1, 1])
    rows, negatives = normalize(torch.cat([x_BD, y_BD]), dim=1).tolist(), 0.0
    for i in range(18):
        if targets_B[i % 9] < 0.5:
            continue
        exps = [math.exp(sum(a * b for a, b in zip(rows[i], row, strict=True)) / 0.1) for row in rows]
        negatives -= math.log(exps[(i + 9) % 18] / (sum(exps) - exps[i])) / 18
    for reading, similarities in (("released", released), ("angle", of_text)):
        loss = Angle(6, **WEIGHTS, **TEMPERATURES, positive_from=0.5, reading=reading)(views(pairs))
        assert loss.parts["angle"].item() == pytest.approx(slow_cosent(similarities, targets_B.tolist(), 1), rel=1e-12)
        assert loss.parts["negatives"].item() == pytest.approx(negatives, rel=1e-12)
        weighted = loss.parts["cosine"] + 0.5 * loss.parts["negatives"] + 2 * loss.parts["angle"]
        assert loss.total.item() == pytest.approx(weighted.item(), rel=1e-12)


def test_against_sentence_transformers(pairs):
    x_BD, y_BD, targets_B = pairs
    model = torch.nn.Identity()
    theirs = CoSENTLoss(model, scale=20.0).compute_loss_from_embeddings([x_BD, y_BD], targets_B)
    torch.testing.assert_close(Cosent(6, 0.05)(views(pairs)).total, theirs, rtol=1e-6, atol=0)
    theirs = AnglELoss(model, scale=1.0).compute_loss_from_embeddings([x_BD, y_BD], targets_B)
    ours = cosent(angle_similarity(x_BD, y_BD, "released"), targets_B, 1.0)
    torch.testing.assert_close(ours.float(), theirs.float())
    theirs = CosineSimilarityLoss(model).compute_loss_from_embeddings([x_BD, y_BD], targets_B)
    torch.testing.assert_close(Cosine(6)(views(pairs)).total.float(), theirs.float())


def test_pairs_of_equal_scores_have_a_loss_and_gradient_of_zero():
    similarities_B = torch.tensor([0.9, 0.1, 0.5], requires_grad=True)
    loss = cosent(similarities_B, torch.ones(3), 0.05)
    (gradient,) = torch.autograd.grad(loss, similarities_B)
    assert loss.item() == 0
    assert not gradient.any()  # nor is any NaN


def narrower(dim):
    return Projector(dim, hidden=4, out=dim - 1, layers=2, bias_hidden=True, bias_last=True)


@pytest.mark.parametrize(("dim", "head"), [(5, None), (6, narrower)])
def test_an_odd_width_has_no_halves(dim, head):
    with pytest.raises(UserError, match=r"objective=angle.*5"):
        Angle(dim, **WEIGHTS, **TEMPERATURES, positive_from=0.5, reading="released", head=head)
