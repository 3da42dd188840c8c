"""DeCLUTR (arXiv:2006.03659v1), Eq. 1: NT-Xent between anchor spans and the mean of their positive spans, plus MLM.

    l(i, j) = -log  exp(sim(e_i, e_j) / t)  /  sum_{k != i} exp(sim(e_i, e_k) / t)
    L_contrastive = mean of the 2N losses  l(i, i + N)  and  l(i + N, i);  the 2N rows are [anchors; mean positives]

All rows except i and its partner are negatives, also rows of the same document. The paper's text takes the sum, the
authors' code the mean. N is the number of anchors in the whole batch (documents x anchors per document), P the number
of positives per anchor, R = 2N the number of rows, Q the number of rows in the memory bank, and D the width.
"""

from collections.abc import Callable
from functools import partial
from typing import Literal, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from cse.equation import at_least, equation, integers
from cse.errors import UserError
from cse.objective.blockwise import blockwise
from cse.ranges import Natural, NonNegative, Positive
from cse.tensors import full_precision
from cse.types import Encoded, Loss, Objective

Reduction = Literal["mean", "sum"]


def negative_log(log_p: Tensor, floor: float) -> Tensor:
    """Return -log p. With a floor, return -log(p + floor), as in the authors' metric-learning library."""
    return -(log_p.exp() + floor).log() if floor else -log_p


@equation(Q=at_least(0))
def nt_xent(
    anchors_ND: Tensor,
    positives_ND: Tensor,
    temperature: Positive,
    memory_QD: Tensor | None = None,
    reduction: Reduction = "mean",
    log_floor: NonNegative = 0.0,
) -> Tensor:
    """Return the loss of Eq. 1 over both directions of the N pairs, a scalar.

    memory_QD: rows of earlier batches, as further negatives of every row.
    reduction: over the 2N directed pairs, "mean" (the authors' code) or "sum" (the paper's text).
    log_floor: a term -log p is -log(p + log_floor), as in the authors' metric-learning library; 0 is exact.

    For example:

        >>> anchors = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> positives = torch.tensor([[0.8, 0.6], [0.0, 1.0]])
        >>> nt_xent(anchors, positives, temperature=0.5)
        tensor(0.5276)
    """
    rows_RD = normalize(torch.cat([anchors_ND, positives_ND]), dim=1)
    others_CD = rows_RD if memory_QD is None else torch.cat([rows_RD, normalize(memory_QD, dim=1)])
    partner_R = torch.arange(len(rows_RD), device=rows_RD.device).roll(len(anchors_ND))

    def log_p(start: int, end: int) -> Tensor:
        logits_rC = rows_RD[start:end] @ others_CD.T / temperature
        logits_rC[:, start:].fill_diagonal_(-torch.inf)  # no row is its own negative
        return logits_rC.log_softmax(1).gather(1, partner_R[start:end, None])

    log_p_R1 = blockwise(log_p, len(rows_RD), len(others_CD))
    losses_R1 = negative_log(log_p_R1, log_floor)
    return losses_R1.sum() if reduction == "sum" else losses_R1.mean()


@equation(Q=at_least("R"), labels_R=integers, labels_Q=integers)
def nt_xent_against_memory(
    rows_RD: Tensor,
    labels_R: Tensor,
    memory_QD: Tensor,
    labels_Q: Tensor,
    temperature: Positive,
    own_copy: bool,
    reduction: Reduction = "mean",
    log_floor: NonNegative = 0.0,
) -> Tensor:
    """Return NT-Xent of a batch's R rows against the memory only, as in the authors' cross-batch memory.

    The last R rows of the memory are copies of the batch's rows. The positives of a row are the memory rows with the
    row's label. All other memory rows are its negatives. reduction: the mean or the sum over all positive pairs.
    own_copy: whether a row's own copy is one of its positives. The copy is a positive in pytorch-metric-learning 0.9.86
    (the version at the paper's time), but not since 0.9.98. log_floor: as in `nt_xent`.

    For example:

        >>> rows, labels = torch.tensor([[1.0, 0.0], [0.8, 0.6]]), torch.tensor([1, 1])
        >>> memory, kept = torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.8, 0.6]]), torch.tensor([0, 1, 1])
        >>> nt_xent_against_memory(rows, labels, memory, kept, temperature=0.5, own_copy=False)
        tensor(0.3485)
    """
    rows_RD, memory_QD = normalize(rows_RD, dim=1), normalize(memory_QD, dim=1)
    copies = len(memory_QD) - len(rows_RD)  # the place of the first copy

    def losses_and_pairs(start: int, end: int) -> Tensor:
        logits_rQ = rows_RD[start:end] @ memory_QD.T / temperature
        same_rQ = labels_R[start:end, None] == labels_Q
        negatives_r1 = logits_rQ.masked_fill(same_rQ, torch.finfo(logits_rQ.dtype).min).logsumexp(1, keepdim=True)
        positive_rQ = same_rQ.clone()
        positive_rQ[:, copies + start : copies + end].fill_diagonal_(own_copy)
        log_p_rQ = logits_rQ - logits_rQ.logaddexp(negatives_r1)
        losses_r = negative_log(log_p_rQ, log_floor).masked_fill(~positive_rQ, 0.0).sum(1)
        return torch.stack([losses_r, positive_rQ.sum(1)], dim=1)

    total, pairs = blockwise(losses_and_pairs, len(rows_RD), len(memory_QD)).sum(0)
    return total if reduction == "sum" else total / pairs


class Declutr(Objective):
    """DeCLUTR's contrastive loss plus the masked-language-model loss. One pass over masked anchors serves both losses.

    head: a partial of a module; it is called with `dim`. The head is applied to each span before positives are
    averaged, and is dropped at test time. memory_size: the number of embeddings in the memory bank; 0: no bank (the
    paper's main setting). memory_kind: "paper_literal": rows of earlier batches are further negatives. "pml":
    nt_xent_against_memory, as in the authors' metric-learning library. "v1_labels": like "pml", but labels start at 0
    in each batch, so rows of earlier batches with the same label are positives (the authors' code for v1 of the paper).
    """

    num_views = 2
    averages_positives = True

    def __init__(
        self,
        dim: int,
        head: Callable[[int], nn.Module],
        temperature: Positive,
        reduction: Reduction,
        log_floor: NonNegative,
        contrastive_weight: NonNegative,
        mlm_weight: NonNegative,
        memory_size: Natural,
        memory_kind: Literal["paper_literal", "pml", "v1_labels"],
        memory_own_copy: bool,
    ):
        super().__init__()
        self.masking = "first" if mlm_weight else "none"
        self.head: nn.Module = head(dim)
        self.temperature = temperature
        self.reduction = reduction
        self.log_floor = log_floor
        self.contrastive_weight = contrastive_weight
        self.mlm_weight = mlm_weight
        self.memory_size = memory_size
        self.memory_kind = memory_kind
        self.memory_own_copy = memory_own_copy
        self.memory_QD: Tensor
        self.labels_Q: Tensor
        self.register_buffer("memory_QD", torch.zeros(memory_size, cast(int, self.head.out_dim)))
        self.register_buffer("labels_Q", torch.full((memory_size,), -1))  # -1: not filled yet
        self.held: int | None = 0  # filled rows of the bank; None: count them in labels_Q, and wait for the GPU
        self.register_load_state_dict_post_hook(Declutr._forget_held)

    def forward(self, views: list[Encoded]) -> Loss:
        """Return the weighted sum of the losses, and each loss unweighted. View 0: anchors; view 1: their positives."""
        anchors, positives = views[:2]
        anchors_ND = self.head(anchors.pooled_BD)
        positives_NPD = self.head(positives.pooled_BD).unflatten(0, (len(anchors_ND), -1))
        with full_precision(anchors_ND, positives_NPD) as (anchors_ND, positives_NPD):
            contrastive = self.contrast(anchors_ND, positives_NPD.mean(1))
        total = self.contrastive_weight * contrastive
        if not self.mlm_weight:
            return Loss(total, {"contrastive": contrastive})
        mlm = anchors.mlm_loss()
        return Loss(total + self.mlm_weight * mlm, {"contrastive": contrastive, "mlm": mlm})

    def negatives(self, anchors: int) -> int:
        """Return the number of negatives of an anchor if the memory bank is full.

        paper_literal: the other 2N - 2 rows of the batch and all rows of the bank. pml: all rows of the bank, which
        contains the batch, except the two rows with the anchor's label. v1_labels: all rows of the bank except the two
        rows of each batch that have the anchor's label.
        """
        if not self.memory_size or self.memory_kind == "paper_literal":
            return 2 * anchors - 2 + self.memory_size
        return self.memory_size - (2 if self.memory_kind == "pml" else self.memory_size // anchors)

    def contrast(self, anchors_ND: Tensor, positives_ND: Tensor) -> Tensor:
        """Return the loss of Eq. 1, with the memory bank if there is one. Update the bank.

        Raises UserError if the bank is too small for one batch, unless memory_kind is "paper_literal".
        """
        loss = partial(nt_xent, reduction=self.reduction, log_floor=self.log_floor)
        if not self.memory_size:
            return loss(anchors_ND, positives_ND, self.temperature)
        rows_RD = torch.cat([anchors_ND, positives_ND])
        first = 0 if self.memory_kind == "v1_labels" else self.labels_Q.max() + 1
        labels_R = (first + torch.arange(len(anchors_ND), device=rows_RD.device)).repeat(2)
        older = int((self.labels_Q >= 0).sum()) if self.held is None else self.held
        older_QD = self.memory_QD[self.memory_size - older :]
        self.held = min(older + len(rows_RD), self.memory_size)
        self.memory_QD = torch.cat([self.memory_QD, rows_RD.detach()])[-self.memory_size :]
        self.labels_Q = torch.cat([self.labels_Q, labels_R])[-self.memory_size :]
        if self.memory_kind == "paper_literal":
            return loss(anchors_ND, positives_ND, self.temperature, older_QD)
        if self.memory_size < len(rows_RD):
            raise UserError(
                f"objective.memory_size={self.memory_size} cannot hold the {len(rows_RD)} embeddings of one batch, but "
                f"objective.memory_kind={self.memory_kind} needs them all: raise objective.memory_size"
            )
        return nt_xent_against_memory(
            rows_RD,
            labels_R,
            self.memory_QD[-self.held :],
            self.labels_Q[-self.held :],
            temperature=self.temperature,
            own_copy=self.memory_own_copy,
            reduction=self.reduction,
            log_floor=self.log_floor,
        )

    @staticmethod
    def _forget_held(module: nn.Module, _: object) -> None:
        """Set `held` to None after a checkpoint is loaded into the module."""
        cast(Declutr, module).held = None
