"""Training heads: their layers, sizes and initial weights."""

import pytest
import torch
from torch import nn

from cse.errors import UserError
from cse.model.export import check_head
from cse.model.heads import DeclutrHead, MLPHead, Projector


def parameters(module):
    return sum(p.numel() for p in module.parameters())


def test_mlp_head_is_tanh_of_a_linear_layer_initialised_like_bert():
    torch.manual_seed(0)
    head = MLPHead(256)
    weight, bias = head.linear.weight, head.linear.bias
    x_BD = torch.randn(3, 256)
    assert head.out_dim == 256
    assert torch.equal(bias, torch.zeros(256))
    assert weight.std().item() == pytest.approx(0.02, rel=0.02)  # 65,536 draws: the standard error is 0.3 %
    torch.testing.assert_close(head(x_BD), torch.tanh(x_BD @ weight.T))


def test_only_a_head_that_best_can_hold_is_kept():
    check_head(MLPHead(8), 8)
    check_head(nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Tanh()), 8)
    for other in (nn.Sequential(nn.Linear(8, 8), nn.ReLU()), nn.Sequential(nn.LayerNorm(8), MLPHead(8)),
                  nn.Linear(8, 4), nn.Sequential(nn.Linear(8, 8, bias=False), nn.Tanh()), nn.Identity(),
                  nn.Sequential(nn.Linear(16, 8), nn.Tanh()), nn.Sequential(MLPHead(8), MLPHead(8))):  # fmt: skip
        with pytest.raises(UserError, match=r"one linear layer and tanh, but objective\.head is"):
            check_head(other, 8)


def test_projector_has_the_size_of_vicregs():
    with torch.device("meta"):
        vicreg = Projector(768, hidden=8192, out=8192, layers=3, bias_hidden=True, bias_last=False)
        barlow = Projector(768, hidden=8192, out=8192, layers=3, bias_hidden=False, bias_last=False)
    assert parameters(vicreg) == 140_558_336
    assert parameters(vicreg) - parameters(barlow) == 2 * 8192


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_projector_is_linear_batchnorm_relu_then_linear(layers):
    torch.manual_seed(0)
    projector = Projector(5, hidden=7, out=4, layers=layers, bias_hidden=True, bias_last=True).double()
    x_BD = torch.randn(6, 5, dtype=torch.float64)
    linears = [m for m in projector.net if isinstance(m, nn.Linear)]
    assert len(linears) == layers
    expected = x_BD
    for linear in linears[:-1]:
        h = expected @ linear.weight.T + linear.bias
        expected = ((h - h.mean(0)) / (h.var(0, unbiased=False) + 1e-5).sqrt()).clamp(min=0)
    expected = expected @ linears[-1].weight.T + linears[-1].bias
    torch.testing.assert_close(projector(x_BD), expected)
    assert projector.out_dim == expected.shape[1] == 4


def test_declutr_head_kinds():
    torch.manual_seed(0)
    e_ND = torch.randn(4, 6)
    none = DeclutrHead(6, kind="none", width=3)
    assert none.out_dim == 6
    assert none(e_ND) is e_ND
    assert parameters(none) == 0
    for kind, sigma in (("linear", lambda h: h), ("relu", torch.relu)):
        head = DeclutrHead(6, kind=kind, width=3)
        first, last = head.net[0], head.net[2]
        expected = sigma(e_ND @ first.weight.T + first.bias) @ last.weight.T + last.bias
        torch.testing.assert_close(head(e_ND), expected)
        assert head.out_dim == 3
        assert parameters(head) == 6 * 3 + 3 + 3 * 3 + 3
