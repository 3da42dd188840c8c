"""Training heads: small networks between the pooled embedding and a loss.

A head maps (B, dim) to (B, out_dim). It is dropped at test time, unless a paper keeps it. A config names a head with
`_partial_: true`, and the objective calls this partial with `dim`.
"""

from itertools import pairwise
from typing import Literal

from torch import Tensor, nn

from cse.ranges import Count

BERT_INITIALIZER_RANGE = 0.02  # BERT's standard deviation; SimCSE initialises its head as BERT does


class MLPHead(nn.Module):
    """The head of SimCSE (arXiv:2104.08821) and WhitenedCSE: one linear layer and tanh, dim -> dim.

    is_trained: whether the weights come from an earlier run. If so, scores before the first step include the head.
    """

    def __init__(self, dim: int):
        super().__init__()
        self.out_dim, self.is_trained = dim, False
        self.linear = nn.Linear(dim, dim)
        nn.init.normal_(self.linear.weight, std=BERT_INITIALIZER_RANGE)
        nn.init.zeros_(self.linear.bias)

    def forward(self, x_BD: Tensor) -> Tensor:
        """Map (B, dim) to (B, dim)."""
        return self.linear(x_BD).tanh()


def is_mlp_head(module: nn.Module, dim: int) -> bool:
    """Return whether a checkpoint's Dense module is like an MLPHead: a linear layer, dim -> dim, and tanh."""
    if not (isinstance(module, nn.Sequential) and len(module) == 2 and isinstance(module[1], nn.Tanh)):
        return False
    linear = module[0]
    return isinstance(linear, nn.Linear) and linear.weight.shape == (dim, dim) and linear.bias is not None


class Projector(nn.Module):
    """Barlow Twins' projector and VICReg's expander: (`layers` - 1) x [linear, BatchNorm, ReLU], then a linear layer.

    Call the head once per view, as the code of both papers does, because BatchNorm's statistics are over one view.
    VICReg's code has 768 -> 8192 -> 8192 -> 8192, bias_hidden=True and bias_last=False: 140,558,336 parameters. Barlow
    Twins' code has no bias in any linear layer.
    """

    def __init__(self, dim: int, hidden: Count, out: Count, layers: Count, bias_hidden: bool, bias_last: bool):
        super().__init__()
        self.out_dim = out
        widths = [dim] + [hidden] * (layers - 1)
        blocks: list[nn.Module] = []
        for narrow, wide in pairwise(widths):
            blocks += [nn.Linear(narrow, wide, bias=bias_hidden), nn.BatchNorm1d(wide), nn.ReLU()]
        self.net = nn.Sequential(*blocks, nn.Linear(widths[-1], out, bias=bias_last))

    def forward(self, x_BD: Tensor) -> Tensor:
        """Map (B, dim) to (B, out)."""
        return self.net(x_BD)


class DeclutrHead(nn.Module):
    """The head of DeCLUTR's ablation (arXiv:2006.03659v1, Figure S1a): z = W2 sigma(W1 e). Both layers have `width`
    channels.

    kind: "none" (z = e, the paper's main setting), "linear" (sigma is the identity) or "relu".
    Each point of the figure has one width. Widths of 128 to 768 give heads of 100,000 to 1 million parameters.
    """

    def __init__(self, dim: int, kind: Literal["none", "linear", "relu"], width: Count):
        super().__init__()
        self.out_dim = dim if kind == "none" else width
        self.net: nn.Module = nn.Identity()
        if kind != "none":
            sigma = nn.ReLU() if kind == "relu" else nn.Identity()
            self.net = nn.Sequential(nn.Linear(dim, width), sigma, nn.Linear(width, width))

    def forward(self, e_ND: Tensor) -> Tensor:
        """Map (N, dim) to (N, out_dim)."""
        return self.net(e_ND)
