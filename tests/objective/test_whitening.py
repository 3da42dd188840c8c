"""Shuffled group whitening against the authors' formulas in float64 (eps 0), and a slow version; gradients."""

from functools import partial

import numpy as np
import pytest
import torch
from made_up_whitening import B, D, M, random_views, views, whitening

from cse.errors import RunError
from cse.objective.whitenedcse import shuffled_group_whitening
from cse.objective.whitening import InverseSqrt, inverse_sqrt, whiten_views, whitening_matrices


def slow(x_BD, num_groups, permutation, eps, kind):
    """Eq. 6, group after group, from the formula."""
    x = x_BD.numpy()
    size = x.shape[1] // num_groups
    out = np.empty_like(x)
    for g in range(num_groups):
        channels = permutation[g * size : (g + 1) * size].numpy()
        y = x[:, channels] - x[:, channels].mean(0)
        c = sum(np.outer(row, row) for row in y) / len(y)
        c = (1 - eps) * c + eps * np.trace(c) / size * np.eye(size)
        if kind == "cholesky":
            out[:, channels] = np.linalg.solve(np.linalg.cholesky(c), y.T).T
        else:
            values, u = np.linalg.eigh(c)
            out[:, channels] = y @ u / np.sqrt(values) @ (u.T if kind == "zca" else np.eye(size))
    return torch.tensor(out)


REFERENCE = {  # (k, layout): row 0 of view 0, end of row 15 of view 2, sum of |z|, traces of the views' W
    (4, "per_view"): ([0.2692621552, -0.2525618247, 0.4745862127, 0.7849633715, -1.818010577],
        [-0.3474061181, -0.0350170384, -0.9932729937], 1858.135194, [67.3821316, 68.17364753, 76.72347728]),
    (4, "chunked"): ([-0.1747437765, -0.3759447979, 0.8972234069, 0.4408428035, -1.345510226],
        [-0.7487396213, 1.135135142, -0.1395404368], 1878.29884, [87.21223655, 98.91706256, 94.14452145]),
    (12, "per_view"): ([1.098473409, -0.02260009459, 0.2778433242, 0.1599852286, -1.449448018],
        [-0.2284012908, 0.8338473216, -0.752140568], 1868.234298, [43.69874408, 41.9542098, 45.24420104]),
    (12, "chunked"): ([0.5311132026, -0.631721772, 0.2898742484, -0.3485873084, -1.429749925],
        [-0.6381212088, 0.8095648732, -0.8110547393], 1885.385577, [49.26064304, 51.32520039, 52.0766273]),
}  # fmt: skip


@pytest.mark.parametrize(("num_groups", "layout"), REFERENCE)
def test_authors_numbers(num_groups, layout):
    x_MBD, permutations_MD = views(layout)
    z_MBD = whiten_views(x_MBD, num_groups, permutations_MD, eps=0.0)
    first, last, absolute, traces = REFERENCE[num_groups, layout]
    # back to sample-major rows, as the reference counts them
    z_BMD = z_MBD.transpose(0, 1) if layout == "per_view" else z_MBD.reshape(B, M, D)
    assert z_BMD[0, 0, :5].tolist() == pytest.approx(first, rel=1e-6)
    assert z_BMD[15, 2, -3:].tolist() == pytest.approx(last, rel=1e-6)
    assert z_MBD.abs().sum().item() == pytest.approx(absolute, rel=1e-6)
    for x_BD, permutation, trace in zip(x_MBD, permutations_MD, traces, strict=True):
        y_kBs = (x_BD - x_BD.mean(0))[:, permutation].reshape(B, num_groups, -1).transpose(0, 1)
        w_kss = whitening_matrices(y_kBs.mT @ y_kBs / B, "zca")
        assert w_kss.diagonal(dim1=1, dim2=2).sum().item() == pytest.approx(trace, rel=1e-6)


def test_authors_running_moments():
    """Eq. 13 with beta 0.9 over the three views, then full whitening of the last: the authors' class, eps towards I."""
    x_MBD, _ = views()
    layer = whitening(num_groups=1, shuffle=False, stats="ema", beta=0.9, eps=1e-3).double()
    z_MBD = layer(x_MBD)
    assert layer.covariance_DD.trace().item() == pytest.approx(56.01260159, rel=1e-6)
    assert layer.covariance_DD.logdet().item() == pytest.approx(2.083712595, rel=1e-6)
    assert z_MBD[2].norm().item() == pytest.approx(28.04529373, rel=1e-6)
    assert z_MBD[2].sum().item() == pytest.approx(245.8716375, rel=1e-6)
    assert z_MBD[2, 0, :4].tolist() == pytest.approx([0.02959347183, 0.2330979855, 0.4433876011, -0.16380528], rel=1e-6)
    moments = layer.mean_D, layer.covariance_DD
    pca_BD = whiten_views(x_MBD[2:], 1, None, 1e-3, "pca", moments=moments)[0]
    expected = [43.01282641, 8.769013808, 9.367232243, 6.700950879]  # signs of eigenvectors are free: compare Z Z^T
    assert (pca_BD @ pca_BD[0])[:4].tolist() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("kind", ["zca", "pca", "cholesky"])
@pytest.mark.parametrize("num_groups", [1, 3, 4, 6, 12])
@pytest.mark.parametrize("eps", [0.0, 1e-5, 0.1])
def test_slow_version(kind, num_groups, eps):
    x_MBD, permutations_MD = random_views(rows=20)
    z_MBD = whiten_views(x_MBD, num_groups, permutations_MD, eps, kind)
    for x_BD, permutation, z_BD in zip(x_MBD, permutations_MD, z_MBD, strict=True):
        torch.testing.assert_close(shuffled_group_whitening(x_BD, num_groups, permutation, eps, kind), z_BD)
        expected_BD = slow(x_BD, num_groups, permutation, eps, kind)
        if kind == "pca":  # up to the sign of an eigenvector
            z_BD, expected_BD = z_BD.abs(), expected_BD.abs()
        torch.testing.assert_close(z_BD, expected_BD)


@pytest.mark.parametrize("size", [2, 4])
def test_inverse_sqrt_gradient(size):
    """By finite differences; and against autograd through eigh, which repeated eigenvalues break but ours survives."""
    generator = torch.Generator().manual_seed(0)
    a = torch.randn(3, size, size, generator=generator, dtype=torch.float64, requires_grad=True)

    def of_symmetric(a, function=inverse_sqrt):
        return function(a @ a.mT + torch.eye(size).double())

    def by_eigh(c):
        values, u = torch.linalg.eigh(c)
        return (u * values.rsqrt()[..., None, :]) @ u.mT

    assert torch.autograd.gradcheck(of_symmetric, a)
    weights = torch.randn(3, size, size, generator=generator, dtype=torch.float64)
    ours, theirs = (
        torch.autograd.grad((of_symmetric(a, f) * weights).sum(), a)[0] for f in (InverseSqrt.apply, by_eigh)
    )
    torch.testing.assert_close(ours, theirs)
    equal = (3 * torch.eye(size).double()).requires_grad_()
    (gradient,) = torch.autograd.grad(inverse_sqrt(equal).trace(), equal)
    torch.testing.assert_close(gradient, -0.5 * 3**-1.5 * torch.eye(size).double())


@pytest.mark.parametrize(("kind", "num_groups"), [("zca", 2), ("zca", 3), ("zca", 6), ("cholesky", 2)])
def test_gradient_through(kind, num_groups):
    x_MBD, permutations_MD = random_views(rows=8, width=6)
    function = partial(whiten_views, num_groups=num_groups, permutations_MD=permutations_MD, kind=kind, grad="through")
    assert torch.autograd.gradcheck(function, x_MBD.requires_grad_())


@pytest.mark.parametrize("num_groups", [2, 6, 12])
def test_constant_and_repeated_channels_stay_finite(num_groups):
    x_BD = random_views()[0][0]
    x_BD[:, :6] = 1.0  # whole groups without any variance
    x_BD[:, 7] = x_BD[:, 6]  # a singular one
    z_BD = shuffled_group_whitening(x_BD, num_groups, eps=0.0)
    assert z_BD.isfinite().all()
    assert (z_BD[:, :6] == 0).all()


@pytest.mark.parametrize("kind", ["zca", "cholesky"])
def test_embeddings_that_are_not_finite_end_the_run(kind):
    with pytest.raises(RunError):
        shuffled_group_whitening(torch.full((12, 12), torch.nan), 2, kind=kind)
