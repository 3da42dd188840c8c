"""BERT-whitening against the authors' numbers, and the covariance of what it was fitted on."""

import numpy as np
import pytest

from cse.errors import UserError
from cse.model import whitening
from cse.model.whitening import Whitening

# the authors' cosines of rows 0-1, 2-3, 4-5, 6-7 of the sample, by number of components
REFERENCE = {
    8: [-0.09088521377, 0.4336673127, 0.3259151418, -0.06026306501],
    16: [0.1303620479, 0.3683342125, -0.1154460858, 0.07550353762],
    48: [-0.01640564304, 0.104431606, 0.09305485601, -0.1428933967],
}


def sample():
    rng = np.random.default_rng(20230712)
    rng.standard_normal((16, 48))
    mix = rng.standard_normal((48, 48)) / 48**0.5
    rng.standard_normal((16, 3, 48)), rng.standard_normal((48, 48)), rng.standard_normal(48)
    for _ in range(3):
        rng.permutation(48)
    return rng.standard_normal((200, 48)) @ mix + 0.5


def cosines(y_ND):
    return [y_ND[i] @ y_ND[i + 1] for i in range(0, 8, 2)]


@pytest.mark.parametrize("kind", ["pca", "zca"])
@pytest.mark.parametrize("components", REFERENCE)
def test_authors_cosines(kind, components):
    """ZCA has the same cosines as PCA: it only rotates the axes."""
    y_ND = Whitening(kind, components).fit(sample())(sample())
    assert y_ND.shape == (200, components if kind == "pca" else 48)
    assert cosines(y_ND) == pytest.approx(REFERENCE[components], rel=1e-6)
    assert np.linalg.norm(y_ND, axis=1) == pytest.approx(np.ones(200))


@pytest.mark.parametrize("kind", ["pca", "zca"])
def test_the_sample_it_was_fitted_on_becomes_white(kind):
    x_ND = sample()
    layer = Whitening(kind, None).fit(x_ND)
    z_ND = (x_ND - layer.mean_D) @ layer.matrix_Dn
    assert np.cov(z_ND.T) == pytest.approx(np.eye(48), abs=1e-9)
    if kind == "zca":  # ZCA's matrix is symmetric
        assert layer.matrix_Dn == pytest.approx(layer.matrix_Dn.T, abs=1e-9)


def test_chunks_and_float32_change_nothing(monkeypatch):
    x_ND = sample()
    whole = Whitening("pca", 8).fit(x_ND)
    monkeypatch.setattr(whitening, "CHUNK", 7)
    chunked = Whitening("pca", 8).fit(x_ND.astype(np.float32))
    y_ND = chunked(x_ND.astype(np.float32))
    assert y_ND.dtype == np.float32
    assert cosines(y_ND) == pytest.approx(cosines(whole(x_ND)), abs=1e-5)


def test_channels_without_variance_stay_finite():
    x_ND = sample()
    x_ND[:, 1] = x_ND[:, 0]
    x_ND[:, 2] = 3.0
    assert np.isfinite(Whitening("zca", None).fit(x_ND)(x_ND)).all()


@pytest.mark.parametrize(("components", "rows"), [(49, 200), (None, 48)])
def test_too_few_channels_or_rows_are_refused(components, rows):
    with pytest.raises(UserError, match="48"):
        Whitening("pca", components).fit(sample()[:rows])
