"""Contrastive losses for labelled images or sound, as VisualCSE and AudioCSE publish them, or as their code has them.

A batch has B items with two views each: f' is view 1, f'' is view 2. D is the width, t the temperature, c(a, b) =
cos(a, b) / t, and y the label. Item i has the classmates P(i) = {j != i: y_j = y_i}, and N(i) = {j: y_j != y_i}.

    supcon      Khosla et al. 2020 (arXiv:2004.11362, Eq. 2): the mean over all 2B rows a and over a's positives p of
                -log softmax_{r != a} c(f_a, f_r) at p, times t / 0.07. Positives are the other view of a, and both
                views of the classmates. This is the paper's intent, and the loss of the code without `--new_supcon`.
    simclr      mean_i  -log softmax_j c(f'_i, f''_j) at j = i: paper Eq. 5, App. Eq. 2; the code's SimCLR.
    simclr_sym  NT-Xent over the 2B - 1 other rows, in both directions: supcon without labels (also times t / 0.07).
    rank_ce     the code's "SupCon" (`--new_supcon`), the loss of every published table: the cross-entropy of row i
                over c(f'_i, f''_.). The target is the rank of y_i among the batch's sorted distinct labels, used as a
                position in the batch. This is a bug: for only 2 % of the anchors, the target is i's other view.
    eq4         the paper's Eq. 4 as published, a sum over i:
                -log ( e^c(f'_i, f''_i) + sum_P(i) e^c(f'_i, f'_j) ) / sum_N(i) e^c(f'_i, f''_j)
    eq4_app     App. Eq. 1: eq4 with f''_j instead of f'_j in the sum over P(i).
"""

from typing import Literal, assert_never

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from cse.device import to_device
from cse.equation import equation, integers
from cse.errors import RunError
from cse.ranges import Positive

Kind = Literal["supcon", "simclr", "simclr_sym", "rank_ce", "eq4", "eq4_app"]
WITHOUT_LABELS: tuple[Kind, ...] = ("simclr", "simclr_sym")
BASE_TEMPERATURE = 0.07  # Khosla's code scales its loss by t / 0.07, and has no setting for 0.07


@equation(labels_B=integers)
def contrast(
    view1_BD: Tensor, view2_BD: Tensor, labels_B: Tensor, temperature: Positive, kind: Kind = "supcon"
) -> Tensor:
    """Return the loss `kind` of a batch, a scalar: the mean over anchors, or for eq4 and eq4_app the sum over items.

    labels_B: integers. Keep the labels on the CPU: a read from a GPU waits for the GPU. simclr and simclr_sym ignore
    the labels. For eq4 and eq4_app, raises RunError if all items have the same class: the denominator would be empty.

    For example:

        >>> view1 = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
        >>> view2 = torch.tensor([[0.8, 0.6], [0.0, 1.0], [0.6, 0.8]])
        >>> contrast(view1, view2, torch.tensor([0, 1, 1]), temperature=0.07)
        tensor(2.0044)
    """
    if kind.startswith("eq4") and (labels_B == labels_B[0]).all():
        raise RunError(
            f"aux_modality.loss: the denominator of Eq. 4 sums over items of other classes, but all {len(labels_B)} "
            f"items of this batch have class {labels_B[0].item()}: use aux_modality.loss=supcon, a larger "
            "aux_modality.data.batch_size or data with more classes"
        )
    ranks_B = to_device(labels_B.unique(return_inverse=True)[1], view1_BD.device)
    own_B = torch.arange(len(ranks_B), device=ranks_B.device)
    view1_BD, view2_BD = normalize(view1_BD, dim=1), normalize(view2_BD, dim=1)
    if kind == "supcon":
        return _supcon(view1_BD, view2_BD, ranks_B, temperature)
    if kind == "simclr_sym":
        return _supcon(view1_BD, view2_BD, own_B, temperature)
    across_BB = view1_BD @ view2_BD.T / temperature
    if kind == "simclr":
        return cross_entropy(across_BB, own_B)
    if kind == "rank_ce":
        return cross_entropy(across_BB, ranks_B)
    if kind == "eq4":
        return _eq4(across_BB, view1_BD @ view1_BD.T / temperature, ranks_B)
    if kind == "eq4_app":
        return _eq4(across_BB, across_BB, ranks_B)
    assert_never(kind)


def _supcon(view1_BD: Tensor, view2_BD: Tensor, labels_B: Tensor, temperature: float) -> Tensor:
    rows_RD, labels_R = torch.cat([view1_BD, view2_BD]), labels_B.repeat(2)  # R = 2B
    self_RR = torch.eye(len(rows_RD), dtype=torch.bool, device=rows_RD.device)
    logits_RR = (rows_RD @ rows_RD.T / temperature).masked_fill(self_RR, -torch.inf)
    log_p_RR = logits_RR.log_softmax(dim=1).masked_fill(self_RR, 0.0)
    positive_RR = (labels_R[:, None] == labels_R) & ~self_RR
    mean_R = (log_p_RR * positive_RR).sum(1) / positive_RR.sum(1)
    return -mean_R.mean() * temperature / BASE_TEMPERATURE


def _eq4(across_BB: Tensor, classmates_BB: Tensor, labels_B: Tensor) -> Tensor:
    same_BB = labels_B[:, None] == labels_B
    own_BB = torch.eye(len(labels_B), dtype=torch.bool, device=labels_B.device)
    # on the diagonal the positive is the item's other view: in eq4, classmates_BB compares the item with itself there
    positives_BB = torch.where(own_BB, across_BB, classmates_BB).masked_fill(~same_BB, -torch.inf)
    negatives_BB = across_BB.masked_fill(same_BB, -torch.inf)
    return (negatives_BB.logsumexp(1) - positives_BB.logsumexp(1)).sum()
