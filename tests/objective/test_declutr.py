"""NT-Xent and its memory bank against the authors' code in float64, slow versions, and the objective around them."""

from functools import partial

import numpy as np
import pytest
import torch
from made_up_views import cosine

from cse.errors import UserError
from cse.model.heads import DeclutrHead
from cse.objective.declutr import Declutr, nt_xent, nt_xent_against_memory
from cse.types import Encoded

TINY = {torch.float64: 2.2250738585072014e-308, torch.float32: 1.1754943508222875e-38}  # the smallest normal numbers

MEMORY = ["objective=declutr", "objective.memory_size=70"]
MORE_TOYS = {  # for tests of every objective (tests/toys.py)
    "declutr_relu": ["objective=declutr", "objective.head.kind=relu"],
    "declutr_memory": MEMORY,
    "declutr_memory_pml": [*MEMORY, "objective.memory_kind=pml", "objective.head.kind=relu"],
}


def spans(kind):
    """8 anchors and 2 positives each, as leaves: (8, 32), (16, 32)."""
    rng = np.random.default_rng(0)
    anchors, noise = rng.standard_normal((8, 32)), rng.standard_normal((16, 32))
    assert (anchors.sum(), noise.sum()) == pytest.approx((0.48477678, -14.666834))
    positives = noise if kind == "independent" else 0.4 * np.repeat(anchors, 2, axis=0) + noise
    return torch.tensor(anchors, requires_grad=True), torch.tensor(positives, requires_grad=True)


# (inputs, temperature, floor inside the log): loss, gradient norms of anchors and of positive spans
REFERENCE = {
    ("independent", 0.05, 0.0): (5.775978, 1.461727, 1.3665778),
    ("correlated", 0.05, 0.0): (0.18470553, 0.27149681, 0.25467295),
    ("independent", 0.0005, 0.0): (523.8162, 163.56407, 150.26016),
    ("correlated", 0.0005, 0.0): (3.2109465e-06, 0.0013498316, 0.0012588266),
    ("independent", 0.05, TINY[torch.float64]): (5.775978, 1.461727, 1.3665778),
    ("independent", 0.0005, TINY[torch.float64]): (473.35488, 124.53255, 124.27184),
    ("independent", 0.0005, 1e-20): (44.639202, 31.637853, 20.978188),
    ("correlated", 0.0005, 1e-20): (3.2109465e-06, 0.0013498316, 0.0012588266),
}


@pytest.mark.parametrize(("kind", "temperature", "floor"), REFERENCE)
def test_authors_numbers(kind, temperature, floor):
    anchors, positives = spans(kind)
    loss = nt_xent(anchors, positives.unflatten(0, (8, 2)).mean(1), temperature, log_floor=floor)
    norms = [gradient.norm().item() for gradient in torch.autograd.grad(loss, (anchors, positives))]
    assert (loss.item(), *norms) == pytest.approx(REFERENCE[kind, temperature, floor], rel=1e-6)


def test_authors_numbers_in_float32():
    """At temperature 5e-4 the library's floor, float32's smallest normal, caps a pair at 87.34."""
    anchors, positives = (x.float() for x in spans("independent"))
    means = positives.unflatten(0, (8, 2)).mean(1)
    loss = nt_xent(anchors, means, 0.0005, log_floor=TINY[torch.float32])
    assert loss.item() == pytest.approx(83.34375, rel=1e-5)
    assert nt_xent(anchors, means, 0.05).item() == pytest.approx(5.7759776, rel=1e-6)


# (N, queue, kind, own copy a positive): losses of four batches, gradient norms of their rows, at temperature 0.05
MEMORY_REFERENCE = {
    (8, 16, "paper_literal", False): ((1.1926967, 1.5151327, 2.5915518, 1.2084261),
        (1.3165316, 1.267677, 1.4713503, 1.0767933)),
    (4, 16, "paper_literal", False): ((0.78734193, 0.74167144, 0.55402202, 2.2177862),
        (1.4927884, 1.2872113, 0.9622371, 1.8335856)),
    (8, 32, "paper_literal", False): ((1.1926967, 1.5151327, 2.7545956, 1.3363497),
        (1.3165316, 1.267677, 1.4742465, 1.1089202)),
    (8, 16, "pml", False): ((1.1926967, 1.1454716, 1.7449697, 0.51356846),
        (0.72858176, 0.59620254, 0.71873888, 0.47080047)),
    (8, 16, "pml", True): ((0.59634968, 0.57273976, 0.87248639, 0.25678528),
        (0.36429141, 0.29810335, 0.3593702, 0.23540091)),
    (4, 16, "pml", False): ((0.78734193, 0.74167144, 0.22417753, 1.5912551),
        (0.81319023, 0.90080631, 0.4710962, 0.9312565)),
    (4, 16, "pml", True): ((0.39367101, 0.37083977, 0.11208941, 0.79562841),
        (0.40659513, 0.45040768, 0.2355493, 0.46562864)),
    (4, 16, "v1_labels", False): ((0.78734193, 3.8628828, 4.4188654, 5.4367065),
        (0.81319023, 0.85086934, 0.85921683, 0.9967263)),
    (4, 16, "v1_labels", True): ((0.39367101, 2.8971633, 3.3141493, 4.0775303),
        (0.40659513, 0.638153, 0.64441303, 0.747545)),
    (8, 48, "pml", False): ((1.1926967, 1.5151327, 2.7545956, 1.3363497),
        (0.72858176, 0.69594207, 0.77549658, 0.63471857)),
    (8, 48, "v1_labels", True): ((0.59634968, 4.9175703, 5.9317558, 5.6923879),
        (0.36429141, 0.51468129, 0.51157124, 0.47926167)),
}  # fmt: skip


def run_memory(count, **changes):
    """Losses and gradient norms of four batches of `count` anchors, one positive each."""
    rng = np.random.default_rng(1)
    module = objective(dim=32, **changes).double()
    losses, norms = [], []
    for _ in range(4):
        a = rng.standard_normal((count, 32))
        rows = torch.tensor(np.concatenate([a, 0.4 * a + rng.standard_normal((count, 32))]), requires_grad=True)
        loss = module([Encoded(rows[:count]), Encoded(rows[count:])]).total
        losses.append(loss.item())
        norms.append(torch.autograd.grad(loss, rows)[0].norm().item())
    return losses, norms


@pytest.mark.parametrize(("count", "queue", "kind", "own_copy"), MEMORY_REFERENCE)
def test_authors_numbers_with_memory(count, queue, kind, own_copy):
    losses, norms = run_memory(count, memory_size=queue, memory_kind=kind, memory_own_copy=own_copy)
    assert losses == pytest.approx(MEMORY_REFERENCE[count, queue, kind, own_copy][0], rel=1e-6)
    assert norms == pytest.approx(MEMORY_REFERENCE[count, queue, kind, own_copy][1], rel=1e-6)


def test_authors_numbers_with_memory_and_floor():
    """pytorch-metric-learning 0.9.86 at temperature 0.001."""
    losses, norms = run_memory(
        8, memory_size=16, memory_kind="pml", memory_own_copy=True, temperature=0.001, log_floor=1e-20
    )
    assert losses == pytest.approx([9.1039882, 8.3867457, 11.621426, 3.4251095], rel=1e-6)
    assert norms == pytest.approx([7.538747, 8.2822152, 10.972272, 10.086501], rel=1e-6)


def random_rows(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("older", [0, 3])
@pytest.mark.parametrize("floor", [0.0, 1e-3])
def test_slow_version_and_gradient(older, floor):
    """Eq. 1, pair by pair."""
    anchors, positives, memory = random_rows(4, 6), random_rows(4, 6, seed=1), random_rows(older, 6, seed=2)
    rows = [*anchors.numpy(), *positives.numpy()]
    total = 0.0
    for i in range(8):
        others = [k for k in range(8) if k != i]
        below = sum(np.exp(cosine(rows[i], rows[k]) / 0.2) for k in others)
        below += sum(np.exp(cosine(rows[i], old) / 0.2) for old in memory.numpy())
        total -= np.log(np.exp(cosine(rows[i], rows[(i + 4) % 8]) / 0.2) / below + floor)

    def loss(a, p, reduction="sum"):
        return nt_xent(a, p, 0.2, memory if older else None, reduction, floor)

    assert loss(anchors, positives).item() == pytest.approx(total, rel=1e-12)
    assert loss(anchors, positives, "mean").item() == pytest.approx(total / 8, rel=1e-12)
    assert torch.autograd.gradcheck(loss, (anchors.requires_grad_(), positives.requires_grad_()))


@pytest.mark.parametrize("own_copy", [False, True])
def test_slow_version_and_gradient_of_the_librarys_memory(own_copy):
    """Every pair of equal labels by itself: its own similarity against the memory rows of other labels."""
    rows, memory = random_rows(4, 6), torch.cat([random_rows(4, 6, seed=1), random_rows(4, 6)])
    labels, labels_memory = torch.tensor([0, 1, 0, 1]), torch.tensor([0, 1, 0, 2, 0, 1, 0, 1])
    losses = []
    for i in range(4):
        for j in range(8):
            if labels[i] == labels_memory[j] and (own_copy or j != 4 + i):
                up = np.exp(cosine(rows[i].numpy(), memory[j].numpy()) / 0.2)
                others = [k for k in range(8) if labels_memory[k] != labels[i]]
                below = up + sum(np.exp(cosine(rows[i].numpy(), memory[k].numpy()) / 0.2) for k in others)
                losses.append(-np.log(up / below))

    def loss(x):
        return nt_xent_against_memory(x, labels, memory, labels_memory, 0.2, own_copy)

    assert loss(rows).item() == pytest.approx(np.mean(losses), rel=1e-12)
    assert torch.autograd.gradcheck(loss, rows.requires_grad_())


def objective(dim=6, **changes):
    settings = {
        "head": partial(DeclutrHead, kind="none", width=4), "temperature": 0.05, "reduction": "mean", "log_floor": 0.0,
        "contrastive_weight": 1.0, "mlm_weight": 0.0, "memory_size": 0, "memory_kind": "paper_literal",
        "memory_own_copy": False,
    }  # fmt: skip
    torch.manual_seed(0)
    return Declutr(dim, **(settings | changes))


def test_objective_averages_positives_after_the_head():
    """3 documents x 2 anchors x 2 positives, positives document by document, then anchor by anchor."""
    head = partial(DeclutrHead, kind="relu", width=4)
    module = objective(head=head).double()
    anchors, positives = random_rows(6, 6).requires_grad_(), random_rows(12, 6, seed=1).requires_grad_()
    means = torch.stack([(module.head(positives[2 * i]) + module.head(positives[2 * i + 1])) / 2 for i in range(6)])
    loss = module([Encoded(anchors), Encoded(positives)])
    torch.testing.assert_close(loss.total, nt_xent(module.head(anchors), means, 0.05))
    loss.total.backward()
    assert anchors.grad.norm() > 0
    assert positives.grad.norm() > 0


@pytest.mark.parametrize("kind", ["paper_literal", "pml", "v1_labels"])
def test_memory_survives_a_checkpoint(kind):
    batches = [[Encoded(random_rows(3, 6, seed=i)), Encoded(random_rows(3, 6, seed=9 + i))] for i in range(4)]
    module = objective(memory_size=14, memory_kind=kind).double()
    losses = [module(views).total for views in batches]
    half = objective(memory_size=14, memory_kind=kind).double()
    for views in batches[:2]:
        half(views)
    resumed = objective(memory_size=14, memory_kind=kind).double()
    resumed.load_state_dict(half.state_dict())
    torch.testing.assert_close([resumed(views).total for views in batches[2:]], losses[2:], rtol=0, atol=0)


def test_a_memory_smaller_than_a_batch_is_refused_where_rows_meet_only_the_memory():
    views = [Encoded(random_rows(3, 6)), Encoded(random_rows(3, 6))]
    with pytest.raises(UserError, match=r"objective\.memory_size=5 .*objective\.memory_kind=pml"):
        objective(memory_size=5, memory_kind="pml").double()(views)
    objective(memory_size=5).double()(views)
