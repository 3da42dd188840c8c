"""WhitenedCSE's losses against the authors' formulas in float64 (eps 0), a slow version, and the layer around them."""

from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from cse.errors import UserError
from cse.model.heads import MLPHead
from cse.objective.whitenedcse import WhitenedCSE, multi_positive
from cse.objective.whitening import ShuffledGroupWhitening, whiten_views
from cse.types import Encoded

MORE_TOYS = {
    "whitenedcse_through": ["objective=whitenedcse", "objective.whitening.grad=through"],
    "whitenedcse_ema": ["objective=whitenedcse", "objective.whitening.stats=ema", "objective.whitening.eps=1e-3"],
    "whitenedcse_shared": ["objective=whitenedcse", "objective.source=shared_backbone", "objective.loss=L2_softmin"],
}


def toy(dim):
    """For tests of every objective (tests/toys.py): groups of two channels, since a small batch has to hold a group."""
    return [f"objective.whitening.num_groups={dim // 2}"]


B, D, M, TEMPERATURE = 16, 48, 3, 0.05

# (k, layout, shuffle): L1 with lambda (1, 1) and (1, 0.8); L2 softmin, hard, hard with (1, 0.8), literal;
# gradient norms of X (W detached), the linear layer's weight and bias; first four of X's gradient, sample-major
REFERENCE = {
    (4, "per_view", True): ((1.419155224, 1.1906317, 1.799795887, -0.3806406631, -0.2866114319, 15.67265243),
        (2.683738577, 4.543603711, 0.5380041309), (-0.09236915942, -0.190505128, 0.2237273205, 0.1460537329)),
    (4, "per_view", False): ((1.375908572, 1.274626944, 1.65066441, -0.2747558386, -0.1553821059, 15.49732717),
        (2.713815042, 5.049335854, 0.524390382), (-0.1208098763, 0.06248562128, 0.105535354, 0.03212213321)),
    (4, "chunked", True): ((12.47438345, 11.231902, 7.931959706, 4.542423746, 4.649261503, 5.130267652),
        (6.118613254, 10.45191293, 0.9316371186), (-0.1176495456, 0.1217503713, 0.09477844397, 0.139717717)),
    (4, "chunked", False): ((12.00135183, 10.82518749, 8.405141672, 3.59621016, 3.73075742, 5.206277221),
        (7.349064166, 10.29883246, 0.8679172712), (-0.1492131538, 0.09077968926, 0.312171385, 0.1145676924)),
    (12, "per_view", True): ((0.1888072132, 0.1717145282, 0.7948269401, -0.6060197268, -0.4997106336, 18.99847921),
        (0.4368903316, 1.687167342, 0.1666404833), (-0.01080833696, 0.02673838753, 0.01536587014, 0.01501274492)),
    (12, "per_view", False): ((0.6591008292, 0.6028967742, 1.096052159, -0.4369513297, -0.3285227709, 18.64423378),
        (1.081189819, 4.132333417, 0.4606751433), (-0.0540582972, -0.00355787771, 0.1084690859, 0.1065465225)),
    (12, "chunked", True): ((3.486737452, 3.216116627, 3.003275031, 0.4834624205, 0.5981914454, 11.83936548),
        (2.039974354, 7.526461864, 0.7269604833), (-0.09879186922, 0.07331324281, 0.02032134492, 0.08912880406)),
    (12, "chunked", False): ((3.031373091, 2.744769229, 2.677898348, 0.353474743, 0.4502622072, 12.46961918),
        (1.800224061, 6.569771164, 0.6214848786), (-0.07938414354, 0.03776309195, 0.007305354635, 0.03920087638)),
    (None, "per_view", False): ((0.6796646433, 0.601738135, 1.124027287, -0.4443626439, -0.3409627081, 20.71874945),
        None, None),  # no whitening
}  # fmt: skip
VARIANTS = [
    ("L1", None), ("L1", [1, 0.8]), ("L2_softmin", None), ("L2_hard", None), ("L2_hard", [1, 0.8]), ("L2_literal", None)
]  # fmt: skip
THROUGH = {  # (k, layout): norm of X's gradient through W, its cosine with the detached one
    (4, "per_view"): (1.637568432, 0.6802498787),
    (4, "chunked"): (3.263985226, 0.6217832787),
    (12, "per_view"): (0.4037836471, 0.9302059411),
    (12, "chunked"): (1.783629783, 0.8821483423),
}


class Reference:
    """The reference's tensors, and its route: sample-major rows, whitening, linear and tanh."""

    def __init__(self):
        rng = np.random.default_rng(20230712)
        base, mix, noise = rng.standard_normal((B, D)), rng.standard_normal((D, D)), rng.standard_normal((B, M, D))
        self.weight = torch.tensor(0.2 * rng.standard_normal((D, D)), requires_grad=True)
        self.bias = torch.tensor(0.1 * rng.standard_normal(D), requires_grad=True)
        self.permutations_MD = torch.tensor(np.stack([rng.permutation(D) for _ in range(M)]))
        x = (base @ (mix / D**0.5))[:, None, :] + 0.8 * noise + 0.5
        self.x_BMD = torch.tensor(x, requires_grad=True)

    def heads(self, k, layout, shuffle, grad="detach"):
        x_MBD = self.x_BMD.transpose(0, 1) if layout == "per_view" else self.x_BMD.reshape(M, B, D)
        if k is not None:
            x_MBD = whiten_views(x_MBD, k, self.permutations_MD if shuffle else None, eps=0.0, grad=grad)
        h_MBD = (x_MBD @ self.weight.T + self.bias).tanh()
        return h_MBD if layout == "per_view" else h_MBD.reshape(B, M, D).transpose(0, 1)


@pytest.mark.parametrize("case", REFERENCE)
def test_authors_losses_and_gradients(case):
    reference = Reference()
    losses, norms, first = REFERENCE[case]
    h_MBD = reference.heads(*case)
    for (kind, weights), expected in zip(VARIANTS, losses, strict=True):
        assert multi_positive(h_MBD, TEMPERATURE, weights, kind).item() == pytest.approx(expected, rel=1e-6)
    if norms:
        leaves = reference.x_BMD, reference.weight, reference.bias
        gradients = torch.autograd.grad(multi_positive(h_MBD, TEMPERATURE), leaves)
        assert [g.norm().item() for g in gradients] == pytest.approx(norms, rel=1e-6)
        assert gradients[0][0, 0, :4].tolist() == pytest.approx(first, rel=1e-6)


@pytest.mark.parametrize(("k", "layout"), THROUGH)
def test_authors_gradient_through_the_whitening(k, layout):
    reference = Reference()
    detached, through = (
        torch.autograd.grad(multi_positive(reference.heads(k, layout, True, grad), TEMPERATURE), reference.x_BMD)[0]
        for grad in ("detach", "through")
    )
    cosine = nn.functional.cosine_similarity(detached.flatten(), through.flatten(), dim=0)
    assert (through.norm().item(), cosine.item()) == pytest.approx(THROUGH[k, layout], rel=1e-6)


def slow(views_MBD, temperature, weights, kind):
    """Eq. 7 and 8 as printed, sentence by sentence."""
    views = views_MBD.numpy()

    def sim(i, p, j):
        a, b = views[0, i], views[p, j]
        return a @ b / np.sqrt(a @ a) / np.sqrt(b @ b) / temperature

    rows, positives = range(views.shape[1]), range(1, len(views))
    z = {(i, p): sum(np.exp(sim(i, p, j)) for j in rows) for i in rows for p in positives}
    if kind == "L1":
        return -sum(weights[p - 1] * np.mean([np.log(np.exp(sim(i, p, i)) / z[i, p]) for i in rows]) for p in positives)
    inside = {
        "L2_softmin": lambda i, p: z[i, p] / np.exp(sim(i, p, i)),
        "L2_hard": lambda i, p: np.exp(sim(i, p, i)) / z[i, p],
        "L2_literal": lambda i, p: np.exp(-sim(i, p, i)) / z[i, p],
    }[kind]
    logs = [np.log(sum(weights[p - 1] * inside(i, p) for p in positives)) for i in rows]
    return np.mean(logs) * (1 if kind == "L2_softmin" else -1)


@pytest.mark.parametrize("kind", ["L1", "L2_softmin", "L2_hard", "L2_literal"])
@pytest.mark.parametrize("weights", [[1.0, 1.0, 1.0], [1.0, 0.8, 0.3]])
def test_slow_version_and_gradient(kind, weights):
    views_MBD = torch.randn(4, 5, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    loss = multi_positive(views_MBD, 0.3, weights, kind)
    assert loss.item() == pytest.approx(slow(views_MBD, 0.3, weights, kind), rel=1e-12)
    assert torch.autograd.gradcheck(lambda x: multi_positive(x, 0.3, weights, kind), views_MBD.requires_grad_())


def objective(**changes):
    whitening = {
        "kind": "zca", "num_groups": 6, "shuffle": True, "layout": "per_view", "stats": "batch", "beta": 0.9,
        "eps": 1e-5, "grad": "detach", "batch_size": 9, "seed": 42,
    }  # fmt: skip
    settings = {
        "head": MLPHead, "m": 3, "source": "dropout", "loss": "L1", "weights": None, "temperature": 0.05,
        "pooler": "cls_before_mlp",
    }  # fmt: skip
    whitening |= {key: changes.pop(key) for key in list(changes) if key in whitening}
    torch.manual_seed(0)
    return WhitenedCSE(12, whitening=partial(ShuffledGroupWhitening, **whitening), **(settings | changes))


def encoded(count, rows=9, seed=0, dtype=torch.float32):
    x_MBD = torch.randn(count, rows, 12, generator=torch.Generator().manual_seed(seed)).to(dtype)
    return [Encoded(x_BD.requires_grad_()) for x_BD in x_MBD]


def test_objective_whitens_then_heads_then_contrasts():
    module, views = objective().double(), encoded(3, dtype=torch.float64)
    twin = objective().double()
    x_MBD = torch.stack([view.pooled_BD for view in views])
    h_MBD = (twin.whitening(x_MBD) @ module.head.linear.weight.T + module.head.linear.bias).tanh()
    loss = module(views)
    torch.testing.assert_close(loss.total, multi_positive(h_MBD, 0.05))
    loss.total.backward()
    assert all(view.pooled_BD.grad.norm() > 0 for view in views)
    assert module.head.linear.weight.grad.norm() > 0


def test_objective_shared_backbone_makes_its_views_from_one():
    module = objective(source="shared_backbone", m=4).double()
    (view,) = encoded(1, dtype=torch.float64)
    twin = objective(source="shared_backbone", m=4).double()
    z_MBD = twin.whitening(view.pooled_BD.expand(4, -1, -1))
    assert module.num_views == 1
    assert not torch.allclose(z_MBD[0], z_MBD[1])
    torch.testing.assert_close(module([view]).total, multi_positive(twin.head(z_MBD), 0.05))


def test_pooler_decides_what_is_scored():
    views = encoded(3, dtype=torch.float64)
    assert objective().test_head() is None
    plain = objective(pooler="mlp_no_whitening")
    assert plain.test_head() is plain.head
    module = objective(pooler="mlp_whitening", eps=1e-3).double()
    module(views)
    head = module.test_head()
    matrix_DD, mean_D = module.whitening.affine()
    x_BD = views[0].pooled_BD
    torch.testing.assert_close(head(x_BD), module.head((x_BD - mean_D) @ matrix_DD))
    before = head.linear.weight.clone()
    module(encoded(3, seed=1, dtype=torch.float64))
    assert not torch.allclose(module.test_head().linear.weight, before)
    assert torch.equal(head.linear.weight, before)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"weights": [1.0]}, "weights needs 2 numbers"),
        ({"pooler": "mlp_whitening", "kind": "none"}, "pooler=mlp_whitening"),
        ({"source": "shared_backbone", "shuffle": False}, "source=shared_backbone"),
        ({"source": "shared_backbone", "kind": "none"}, "source=shared_backbone"),
        ({"source": "shared_backbone", "layout": "chunked"}, "source=shared_backbone"),
        ({"source": "shared_backbone", "num_groups": 12}, "source=shared_backbone"),
    ],
)
def test_choices_that_make_no_sense_are_refused(changes, named):
    with pytest.raises(UserError, match=named):
        objective(**changes)
