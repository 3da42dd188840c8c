"""The whitening layer: its permutations, running moments, layouts, and the settings that it refuses."""

import numpy as np
import pytest
import torch
from made_up_whitening import B, M, random_views, views, whitening

from cse.errors import UserError
from cse.objective.whitenedcse import shuffled_group_whitening
from cse.objective.whitening import whiten_views


@pytest.mark.parametrize("layout", ["per_view", "chunked"])
def test_layer_draws_its_permutations_by_seed_step_and_view(layout):
    x_MBD, _ = views()
    layer = whitening(layout=layout)
    first, second = layer(x_MBD), layer(x_MBD)
    assert layer.step == 2
    assert not torch.allclose(first, second)
    again = whitening(layout=layout)
    torch.testing.assert_close(again(x_MBD), first, rtol=0, atol=0)
    resumed = whitening(layout=layout)
    resumed.load_state_dict(again.state_dict())
    torch.testing.assert_close(resumed(x_MBD), second, rtol=0, atol=0)
    assert not torch.allclose(whitening(layout=layout, seed=2)(x_MBD), first)
    same = whitening(shuffle=False, layout=layout)
    torch.testing.assert_close(same(x_MBD), same(x_MBD), rtol=0, atol=0)


def test_layer_chunked_is_the_authors_cut():
    """Each third of the sample-major rows i * m + v is whitened by itself, and every row comes back to its view."""
    x_MBD, _ = views()
    layer = whitening(layout="chunked", shuffle=False)
    z_MBD = layer(x_MBD)
    rows = [(i, v) for i in range(B) for v in range(M)]
    for run in range(M):
        members = rows[run * B : (run + 1) * B]
        z_BD = shuffled_group_whitening(torch.stack([x_MBD[v, i] for i, v in members]), 12, eps=0.0)
        for (i, v), z_D in zip(members, z_BD, strict=True):
            torch.testing.assert_close(z_MBD[v, i], z_D)


def test_layer_running_moments_serve_any_permutation():
    """A group's running covariance is a block of the whole one; and a batch smaller than its groups can be whitened."""
    x_MBD, permutations_MD = random_views(rows=5, width=6)
    layer = whitening(dim=6, num_groups=2, stats="ema", beta=0.9, eps=1e-3, batch_size=5).double()
    for _ in range(3):
        layer(x_MBD)
    layer.eval()
    before = layer.covariance_DD.clone(), layer.step
    layer(x_MBD)
    assert torch.equal(layer.covariance_DD, before[0])
    assert layer.step == before[1]
    z_MBD = whiten_views(x_MBD, 2, permutations_MD, 1e-3, moments=(layer.mean_D, layer.covariance_DD))
    for x_BD, permutation, z_BD in zip(x_MBD, permutations_MD, z_MBD, strict=True):
        for channels in (permutation[:3], permutation[3:]):
            block = 0.999 * layer.covariance_DD[channels][:, channels] + 0.001 * torch.eye(3)
            values, u = np.linalg.eigh(block.numpy())
            expected = (x_BD - layer.mean_D)[:, channels].numpy() @ u / np.sqrt(values) @ u.T
            torch.testing.assert_close(z_BD[:, channels], torch.tensor(expected))


def test_running_moments_are_sums_over_views_weighted_by_age():
    """Eq. 13 unrolled over two batches of M views: a view that is n views old counts (1 - beta) beta^n, the start
    beta^(2M)."""
    x_MBD, _ = random_views(rows=5, width=6)
    layer = whitening(dim=6, num_groups=2, stats="ema", beta=0.9, eps=1e-3, batch_size=5).double()
    age = 2 * len(x_MBD)
    mean_D, covariance_DD = torch.zeros(6), 0.9**age * torch.eye(6)
    for batch in range(2):
        layer(x_MBD + batch)
        for x_BD in x_MBD + batch:
            age -= 1
            weight = 0.1 * 0.9**age
            mean_D = mean_D + weight * x_BD.mean(0)
            covariance_DD = covariance_DD + weight * torch.cov(x_BD.T, correction=0)
    torch.testing.assert_close(layer.mean_D, mean_D)
    torch.testing.assert_close(layer.covariance_DD, covariance_DD)


def test_layer_affine_is_the_running_whitening():
    x_MBD, _ = views()
    layer = whitening(track=True, eps=1e-3).double()
    layer(x_MBD)
    matrix_DD, mean_D = layer.affine()
    permutation_1D = layer.permutations([(1,)], x_MBD)
    expected = whiten_views(x_MBD[:1], 12, permutation_1D, 1e-3, moments=(layer.mean_D, layer.covariance_DD))[0]
    torch.testing.assert_close((x_MBD[0] - mean_D) @ matrix_DD, expected)


def test_groups_that_do_not_divide_the_width_are_refused():
    with pytest.raises(ValueError, match=r"^num_groups .*\b1, 2, 3, 4, 6, 12\b"):
        shuffled_group_whitening(torch.randn(20, 12), 5)
    with pytest.raises(UserError, match=r"num_groups=384: .*1024.*512, 1024"):
        whitening(dim=1024, num_groups=384)


def test_groups_that_exceed_the_batch_are_refused():
    with pytest.raises(ValueError, match=r"^num_groups .*\b3, 4, 6, 12\b"):
        shuffled_group_whitening(torch.randn(6, 12), 2)
    for made in (
        lambda: whitening(dim=12, num_groups=2, batch_size=6),
        lambda: whitening(dim=12, num_groups=2)(torch.randn(3, 6, 12)),
    ):
        with pytest.raises(UserError, match=r"num_groups=2: .*valid: 3, 4, 6, 12"):
            made()
    assert shuffled_group_whitening(torch.randn(7, 12), 2).isfinite().all()
    assert shuffled_group_whitening(torch.randn(6, 12), 2, eps=1e-3).isfinite().all()
    whitening(dim=12, num_groups=1, stats="ema", batch_size=6)(torch.randn(3, 6, 12))


@pytest.mark.parametrize("changes", [{"kind": "pca"}, {"stats": "ema"}])
def test_a_whitening_without_a_gradient_cannot_be_trained_through(changes):
    with pytest.raises(UserError, match="grad=through"):
        whitening(grad="through", **changes)
