"""Shuffled group whitening (Zhuo et al., ACL 2023, Eq. 6): whiten random groups of channels over the batch.

    SGW(x) = shuffle^-1( concat_g (y_g - mean) W_g ),   y = shuffle(x) cut into k groups of s = D / k channels
    W_g = C_g^(-1/2),   C_g = (y_g - mean)^T (y_g - mean) / B

B is the number of rows in the batch, M of views, k of groups, and s of channels in a group. D is the width. The paper's
tables call k "group size". But groups of 64 to 384 channels would have singular covariances with the paper's 64 rows,
so k is the number of groups. All views and groups are whitened at once. Covariances and eigenvalues are float64.
"""

from collections.abc import Sequence
from typing import Literal, assert_never

import torch
from torch import Tensor, nn

from cse.device import to_device
from cse.errors import RunError, UserError, within
from cse.ranges import BelowOne, Count, Seed, Share
from cse.tensors import seeded

Decomposition = Literal["zca", "pca", "cholesky"]
MIN_EIGENVALUE = 1e-7  # as a share of the group's largest eigenvalue
MIN_VARIANCE = 1e-30  # a group that is constant over the batch becomes 0, not nan
SINGULAR_EPS = 1e-3  # with this shrinkage or more, the covariance of too few rows can be inverted


def identity(size: int, like: Tensor) -> Tensor:
    """Return the identity matrix, (size, size), with the dtype and the device of `like`."""
    return torch.eye(size, dtype=like.dtype, device=like.device)


class InverseSqrt(torch.autograd.Function):
    """C^(-1/2) of symmetric positive definite C (..., s, s), with the gradient of Daleckii and Krein.

    With a = sqrt(eigenvalues of C):  dC = U [K o (U^T sym(dW) U)] U^T,  K_ij = -1 / (a_i a_j (a_i + a_j)).
    Unlike the gradient of an eigendecomposition, this gradient never divides by a difference of eigenvalues.
    """

    @staticmethod
    def forward(ctx, c_ss: Tensor) -> Tensor:
        """Return C^(-1/2), (..., s, s)."""
        values_s, u_ss = floored_eigh(c_ss)
        a_s = values_s.sqrt()
        ctx.save_for_backward(a_s, u_ss)
        return (u_ss / a_s[..., None, :]) @ u_ss.mT

    @staticmethod
    def backward(ctx, *grads: Tensor) -> Tensor:
        """Return dC, (..., s, s), from the gradient of C^(-1/2)."""
        (grad_ss,) = grads
        a_s, u_ss = ctx.saved_tensors
        row_s1, column_1s = a_s[..., :, None], a_s[..., None, :]
        k_ss = -1 / (row_s1 * column_1s * (row_s1 + column_1s))
        return u_ss @ (k_ss * (u_ss.mT @ (grad_ss + grad_ss.mT) @ u_ss) / 2) @ u_ss.mT


def floored_eigh(c_ss: Tensor) -> tuple[Tensor, Tensor]:
    """Return eigenvalues in ascending order, with a floor above zero, and eigenvectors in columns."""
    values_s, u_ss = torch.linalg.eigh(c_ss)
    return values_s.maximum(MIN_EIGENVALUE * values_s[..., -1:]).clamp(min=MIN_VARIANCE), u_ss


def inverse_sqrt(c_ss: Tensor) -> Tensor:
    """Return C^(-1/2), in closed form for groups of one or two channels (BERT's published k = 384), or else by eigh."""
    if c_ss.shape[-1] == 1:
        return c_ss.clamp(min=MIN_VARIANCE).rsqrt()
    if c_ss.shape[-1] == 2:  # Cayley-Hamilton: ((tr + q) I - C) / (q t),  q = sqrt(det C),  t = sqrt(tr + 2 q)
        trace_11 = c_ss.diagonal(dim1=-2, dim2=-1).sum(-1)[..., None, None].clamp(min=MIN_VARIANCE)
        det = c_ss[..., 0, 0] * c_ss[..., 1, 1] - c_ss[..., 0, 1] * c_ss[..., 1, 0]
        q_11 = det[..., None, None].maximum(MIN_EIGENVALUE * trace_11**2).sqrt()
        return ((trace_11 + q_11) * identity(2, c_ss) - c_ss) / (q_11 * (trace_11 + 2 * q_11).sqrt())
    return InverseSqrt.apply(c_ss)


def whitening_matrices(c_ss: Tensor, kind: Decomposition) -> Tensor:
    """Return W (..., s, s) for rows z = y W: zca C^(-1/2), pca U L^(-1/2), cholesky R^-T where C = R R^T."""
    try:
        if kind == "zca":
            return inverse_sqrt(c_ss)
        if kind == "pca":
            values_s, u_ss = floored_eigh(c_ss)
            return u_ss * values_s.rsqrt()[..., None, :]
        if kind == "cholesky":
            return torch.linalg.inv(torch.linalg.cholesky(c_ss)).mT
    except torch.linalg.LinAlgError as error:
        raise RunError(
            "Group whitening cannot decompose a covariance: the embeddings are not finite, or have collapsed. "
            "If they have collapsed, a larger objective.whitening.eps helps."
        ) from error
    assert_never(kind)


def whiten_views(
    x_MBD: Tensor,
    num_groups: int,
    permutations_MD: Tensor | None = None,
    eps: float = 1e-5,
    kind: Decomposition = "zca",
    grad: str = "detach",
    moments: tuple[Tensor, Tensor] | None = None,
) -> Tensor:
    """Whiten each view with its own permutation and statistics. shuffled_group_whitening is the case of one view.

    moments: (mean_D, covariance_DD), constants that replace each view's own statistics.
    """
    views, rows, width = x_MBD.shape
    size = width // num_groups
    if permutations_MD is not None:
        x_MBD = x_MBD.gather(2, permutations_MD[:, None].expand_as(x_MBD))
    y_MkBs = x_MBD.reshape(views, rows, num_groups, size).transpose(1, 2)
    if moments is None:
        y_MkBs = y_MkBs - y_MkBs.mean(2, keepdim=True)
        source_MkBs = (y_MkBs.detach() if grad == "detach" else y_MkBs).double()
        c_Mkss = source_MkBs.mT @ source_MkBs / rows
        scale_Mk11 = c_Mkss.diagonal(dim1=2, dim2=3).mean(2)[..., None, None]
    else:
        order_MD = torch.arange(width, device=x_MBD.device)[None] if permutations_MD is None else permutations_MD
        order_Mks = order_MD.reshape(-1, num_groups, size)
        mean_D, covariance_DD = moments
        y_MkBs = y_MkBs - mean_D[order_Mks][:, :, None]
        c_Mkss = covariance_DD[order_Mks[..., :, None], order_Mks[..., None, :]].double()
        scale_Mk11 = c_Mkss.new_ones(())  # running moments start at I; the authors' class shrinks towards I
    shrunk_Mkss = (1 - eps) * c_Mkss + eps * scale_Mk11 * identity(size, c_Mkss)
    z_MkBs = y_MkBs @ whitening_matrices(shrunk_Mkss, kind).to(y_MkBs.dtype)
    z_MBD = z_MkBs.transpose(1, 2).reshape(views, rows, width)
    if permutations_MD is None:
        return z_MBD
    return z_MBD.gather(2, permutations_MD.argsort(1)[:, None].expand_as(z_MBD))


def valid_groups(width: int, rows: int, eps: float) -> list[int]:
    """Return every k that divides D, if B rows span a group of D / k channels or eps is at least SINGULAR_EPS."""
    divisors = [k for k in range(1, width + 1) if width % k == 0]
    return [k for k in divisors if width // k < rows or eps >= SINGULAR_EPS]


def check_groups(num_groups: int, width: int, rows: int, eps: float) -> None:
    """Raise UserError, with the valid values, if num_groups is not valid."""
    valid = valid_groups(width, rows, eps)
    if num_groups not in valid:
        raise UserError(
            f"it must divide the width {width}. With `stats`=batch and `eps`<{SINGULAR_EPS}, a group must also have "
            f"fewer channels than the batch has rows ({rows})",
            key="num_groups",
            value=num_groups,
            instead=f"valid: {', '.join(map(str, valid))}",
        )


def fewest_rows(num_groups: int, width: int, eps: float) -> int:
    """Return the smallest batch that can be whitened in k groups of channels without a singular covariance."""
    return 2 if eps >= SINGULAR_EPS else width // num_groups + 1


class ShuffledGroupWhitening(nn.Module):
    """A module that whitens M views (M, B, D), with new permutations at each training step.

    kind: none | pca | zca | cholesky.
    layout: "per_view": each view is whitened alone (the paper's text). "chunked" (the authors' code): the B * M vectors
        are cut into M equal parts for whitening. Before the cut, the M vectors of a sentence are neighbours.
    stats: "batch"; "ema": running moments with momentum beta, which include this batch.
    grad: "detach": W is a constant (the authors' code); "through": the gradient flows through W too.
    batch_size: the expected number of rows. The constructor refuses groups that this number of rows cannot span.
    track: whether to keep the running moments that `affine` needs.
    """

    def __init__(
        self,
        dim: int,
        track: bool,
        kind: Literal["none", "pca", "zca", "cholesky"],
        num_groups: Count,
        shuffle: bool,
        layout: Literal["per_view", "chunked"],
        stats: Literal["batch", "ema"],
        beta: BelowOne,
        eps: Share,
        grad: Literal["detach", "through"],
        batch_size: Count,
        seed: Seed,
    ):
        super().__init__()
        if kind != "none":
            check_groups(num_groups, dim, batch_size, SINGULAR_EPS if stats == "ema" else eps)
        spans_any = kind == "none" or stats == "ema"
        self.min_rows = 2 if spans_any else fewest_rows(num_groups, dim, eps)
        if grad == "through" and (kind == "pca" or stats == "ema"):
            why = "PCA's eigenvectors have no stable gradient" if kind == "pca" else "running moments are constants"
            raise UserError(why, key="grad", value=grad, instead="use `grad`=detach")
        self.dim, self.kind, self.num_groups, self.layout, self.stats = dim, kind, num_groups, layout, stats
        self.beta, self.eps, self.grad, self.seed = beta, eps, grad, seed
        self.shuffle = shuffle and num_groups > 1  # as in the authors' code: shuffling one group changes nothing
        self.track = track or stats == "ema"
        self.step = 0  # get_extra_state saves it; reading a buffer would wait for the GPU
        self.mean_D: Tensor
        self.covariance_DD: Tensor
        self.register_buffer("mean_D", torch.zeros(dim))
        self.register_buffer("covariance_DD", torch.eye(dim) if self.track else None)

    @property
    def diversifies(self) -> bool:
        """Whether two whitenings of one view differ.

        With one group, or with groups of one channel, shuffling changes nothing, so the two whitenings are equal.
        """
        return self.kind != "none" and self.shuffle and self.num_groups < self.dim and self.layout == "per_view"

    def forward(self, x_MBD: Tensor) -> Tensor:
        """Whiten (M, B, D). In training, also advance the step and update the running moments.

        Raises UserError if B rows cannot span a group, RunError if a covariance cannot be decomposed.
        """
        if self.kind == "none":
            return x_MBD
        views, rows, _ = x_MBD.shape
        if self.stats == "batch":
            with within("objective.whitening"):  # in training, no caller adds this key to the error
                check_groups(self.num_groups, self.dim, rows, self.eps)
        if self.layout == "chunked":
            x_MBD = x_MBD.transpose(0, 1).reshape(views, rows, -1)
        if self.track and self.training:
            self.update_moments(x_MBD.detach())
        keys = [(self.seed, self.step, view) for view in range(views)]
        moments = (self.mean_D, self.covariance_DD) if self.stats == "ema" else None
        permutations_MD = self.permutations(keys, x_MBD)
        z_MBD = whiten_views(
            x_MBD, self.num_groups, permutations_MD, eps=self.eps, kind=self.kind, grad=self.grad, moments=moments
        )
        self.step += self.training
        return z_MBD.reshape(rows, views, -1).transpose(0, 1) if self.layout == "chunked" else z_MBD

    def permutations(self, keys: Sequence[tuple[int, ...]], like: Tensor) -> Tensor | None:
        """Return a permutation of the channels for each key, (len(keys), D), on the device of `like`; None without
        shuffling."""
        if not self.shuffle:
            return None
        orders_KD = torch.stack([torch.randperm(self.dim, generator=seeded(*key)) for key in keys])
        return to_device(orders_KD, like.device)

    def update_moments(self, x_MBD: Tensor) -> None:
        """Apply Eq. 13, view after view: moments = beta * moments + (1 - beta) * moments of the view."""
        views, rows, _ = x_MBD.shape
        centred_MBD = x_MBD - x_MBD.mean(1, keepdim=True)
        ages_M = torch.arange(views - 1, -1, -1, dtype=x_MBD.dtype, device=x_MBD.device)
        weights_M = (1 - self.beta) * self.beta**ages_M
        weighted_MBD = weights_M[:, None, None] / rows * centred_MBD
        self.mean_D.mul_(self.beta**views).add_(weights_M @ x_MBD.mean(1))
        self.covariance_DD.mul_(self.beta**views).add_(weighted_MBD.flatten(0, 1).T @ centred_MBD.flatten(0, 1))

    def affine(self) -> tuple[Tensor, Tensor]:
        """Return (matrix_DD, mean_D) of the running whitening at test time: z = (x - mean) matrix.

        The permutation is fixed. Row i of the matrix is the whitened e_i + mean, where e_i is a unit vector.
        """
        rows_1DD = (identity(self.dim, self.mean_D) + self.mean_D)[None]
        assert self.kind != "none"  # WhitenedCSE refuses mlp_whitening with kind=none
        permutation_1D = self.permutations([(self.seed,)], rows_1DD)
        moments = (self.mean_D, self.covariance_DD)
        matrix_1DD = whiten_views(rows_1DD, self.num_groups, permutation_1D, self.eps, self.kind, moments=moments)
        return matrix_1DD[0], self.mean_D

    def get_extra_state(self) -> Tensor:
        """Return the step, for the state dict."""
        return torch.tensor(self.step)

    def set_extra_state(self, state: Tensor) -> None:
        """Restore the step, which determines the next permutations."""
        self.step = int(state)
