"""Fast dropout masks: the right share, independent elements, the right expectation and gradient."""

import pytest
import torch

from cse.model.dropout import add_dropped, keep


@pytest.mark.parametrize("p", [0.0, 0.1, 0.15, 0.5, 0.9])
def test_the_share_kept_and_its_factor(p):
    torch.manual_seed(1)
    kept, factor = keep(torch.Size((1000, 1003)), p, torch.float32)
    assert set(kept.unique().tolist()) <= {0.0, 1.0}
    deviation = (p * (1 - p) / kept.numel()) ** 0.5
    assert kept.mean().item() == pytest.approx(1 - p, abs=4 * deviation + 2**-17)
    assert factor == pytest.approx(1 / (1 - p), rel=2**-13)
    dropped = round(p * 65536) / 65536
    assert factor * (1 - dropped) == pytest.approx(1, abs=1e-12)


def test_elements_are_independent():
    """Correlations of neighbours, of the four elements of one draw, within rows and columns: as of independent
    draws."""
    torch.manual_seed(2)
    kept, _ = keep(torch.Size((2000, 500)), 0.1, torch.float64)
    centred = (kept - kept.mean()).flatten()
    for lag in (1, 2, 3, 4, 500, 4000):
        correlation = (centred[lag:] * centred[:-lag]).mean() / centred.var()
        assert abs(correlation) < 4 / len(centred) ** 0.5, lag
    for parts in (kept.mean(0), kept.mean(1)):  # every row and column has the same share
        expected = (0.09 / (kept.numel() / len(parts))) ** 0.5
        assert parts.std().item() == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_add_dropped_is_the_residual_plus_scaled_kept_elements(dtype):
    residual, x = torch.randn(5, 8), torch.randn(5, 8, dtype=dtype, requires_grad=True)
    state = torch.get_rng_state()
    y = add_dropped(residual, x, 0.25)
    torch.set_rng_state(state)
    kept, factor = keep(x.shape, 0.25, dtype)
    assert factor == pytest.approx(4 / 3)
    expected = residual + x.detach().to(y.dtype) * kept.to(y.dtype) * factor
    torch.testing.assert_close(y, expected, rtol=1e-5, atol=1e-6)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(gradient, (kept * factor).to(dtype))
    assert gradient.dtype == dtype
