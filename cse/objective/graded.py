"""Losses for pairs with a human score t_i and a cosine s_i: CoSENT, AnglE, and regression as their baseline.

    CoSENT (Su 2022; Huang et al., TASLP 2024)  log( 1 + sum_{t_i > t_j} exp( (s_j - s_i) / tau ) )
    AnglE (arXiv:2309.12871)                    w1 CoSENT(cosine) + w2 in-batch negatives + w3 CoSENT(angle)
    regression (SBERT, arXiv:1908.10084)        mean_i (s_i - t_i)^2

B is the number of pairs in the global batch, R = 2B the number of rows, C = D / 2 the number of complex numbers in a
vector, and D the width.
"""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, mse_loss, normalize

from cse.equation import equation, even, finite
from cse.errors import UserError
from cse.objective.blockwise import blockwise
from cse.ranges import NonNegative, Positive
from cse.tensors import full_precision
from cse.types import Encoded, Loss, Objective

Reading = Literal["released", "angle"]


@equation(targets_B=finite)
def cosent(similarities_B: Tensor, targets_B: Tensor, temperature: Positive) -> Tensor:
    """Return CoSENT, a scalar. It is small if pairs with higher scores have higher similarities.

    For example:

        >>> similarities = torch.tensor([0.9, 0.2, 0.4])
        >>> scores = torch.tensor([1.0, 0.5, 0.0])
        >>> cosent(similarities, scores, temperature=0.5)
        tensor(1.1334)
    """
    s_B = similarities_B / temperature
    nothing = torch.finfo(s_B.dtype).min

    def sums(start: int, end: int) -> Tensor:
        differences_bB = s_B - s_B[start:end, None]
        return differences_bB.masked_fill(targets_B[start:end, None] <= targets_B, nothing).logsumexp(1)

    return torch.cat([s_B.new_zeros(1), blockwise(sums, len(s_B), len(s_B))]).logsumexp(0)


@equation(positive_B=finite)
def in_batch_negatives(x_BD: Tensor, y_BD: Tensor, positive_B: Tensor, temperature: Positive) -> Tensor:
    """Return the mean of -log softmax of each row's partner among all other rows of the batch.

    The rows of a pair that is not positive have the loss 0. The mean is over all R rows, as in the authors' code.
    positive_B: whether each pair is positive.

    For example:

        >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> y = torch.tensor([[0.8, 0.6], [0.0, 1.0]])
        >>> in_batch_negatives(x, y, torch.tensor([True, False]), temperature=0.5)
        tensor(0.2974)
    """
    rows_RD = normalize(torch.cat([x_BD, y_BD]), dim=1)
    partner_R = torch.arange(len(rows_RD), device=rows_RD.device).roll(len(x_BD))

    def log_p(start: int, end: int) -> Tensor:
        logits_rR = rows_RD[start:end] @ rows_RD.T / temperature
        logits_rR[:, start:].fill_diagonal_(-torch.inf)
        return logits_rR.log_softmax(1).gather(1, partner_R[start:end, None])[:, 0]

    return -(blockwise(log_p, len(rows_RD), len(rows_RD)) * positive_B.repeat(2)).mean()


@equation(D=even)
def angle_similarity(x_BD: Tensor, y_BD: Tensor, reading: Reading) -> Tensor:
    """Return similarities (B,) of x and y, taken as complex vectors z and w. The first C channels are the real parts.

    The paper's |z / w * |w| / |z|| is 1 for any two numbers and has no gradient. `reading` says what is computed
    instead. "released": the authors' code, |sum Re(z w*) + sum Im(z w*)| of unit vectors. This sum of a cosine and a
    sine is high for similar vectors, but not symmetric in x and y.
    "angle": the paper's description, 1 - mean |arg(z / w)| / pi. Similar pairs have small angles.

    For example:

        >>> x = torch.tensor([[1.0, 0.0, 0.0, 1.0]])
        >>> y = torch.tensor([[0.8, 0.6, 0.0, 1.0]])
        >>> angle_similarity(x, y, reading="angle")
        tensor([0.9140])
    """
    z_BC, w_BC = (torch.complex(*part.chunk(2, dim=1)) for part in (normalize(x_BD, dim=1), normalize(y_BD, dim=1)))
    quotient_BC = z_BC * w_BC.conj()
    if reading == "released":
        return (quotient_BC.real + quotient_BC.imag).sum(1).abs()
    return 1 - quotient_BC.angle().abs().mean(1) / torch.pi


class Graded(Objective):
    """Base class of the three losses. A row has two texts and their score.

    head: a partial of a module; it is called with `dim`. The module is dropped at test time. None: the loss reads the
    embeddings.
    """

    num_views = 2
    reads_scores = pairs_texts = True

    def __init__(self, dim: int, head: Callable[[int], nn.Module] | None = None):
        super().__init__()
        self.head = None if head is None else head(dim)

    def forward(self, views: list[Encoded]) -> Loss:
        """Return the loss of the pairs (view 0, view 1) with their scores."""
        with full_precision(*(self.through_head(view.pooled_BD) for view in views)) as (x_BD, y_BD):
            return self.loss(x_BD, y_BD, views[0].known["targets_B"])

    def loss(self, x_BD: Tensor, y_BD: Tensor, targets_B: Tensor) -> Loss:
        """Return the loss of pairs of vectors, which are float32 or wider."""
        raise NotImplementedError


class Cosent(Graded):
    """CoSENT on cosines."""

    min_rows = 2

    def __init__(self, dim: int, temperature: Positive, head: Callable[[int], nn.Module] | None = None):
        super().__init__(dim, head)
        self.temperature = temperature

    def loss(self, x_BD: Tensor, y_BD: Tensor, targets_B: Tensor) -> Loss:
        """Return `cosent` of the cosines."""
        return Loss(cosent(cosine_similarity(x_BD, y_BD), targets_B, self.temperature))


class Angle(Graded):
    """AnglE: the weighted sum of three terms. The loss's `parts` are the unweighted terms.

    positive_from: the lowest score, from 0 to 1, of a positive pair in the in-batch term.
    Raises UserError for vectors of odd width, because they have no halves.
    """

    min_rows = 2

    def __init__(
        self,
        dim: int,
        cosine_weight: NonNegative,
        negatives_weight: NonNegative,
        angle_weight: NonNegative,
        cosine_temperature: Positive,
        negatives_temperature: Positive,
        angle_temperature: Positive,
        positive_from: float,
        reading: Reading,
        head: Callable[[int], nn.Module] | None = None,
    ):
        super().__init__(dim, head)
        width = getattr(self.head, "out_dim", dim)
        if width % 2:
            raise UserError(
                f"objective=angle splits vectors into real and imaginary halves, but the width {width} is odd"
            )
        self.weights = cosine_weight, negatives_weight, angle_weight
        self.temperatures = cosine_temperature, negatives_temperature, angle_temperature
        self.positive_from = positive_from
        self.reading: Reading = reading

    def loss(self, x_BD: Tensor, y_BD: Tensor, targets_B: Tensor) -> Loss:
        """Return w1 L_cos + w2 L_ibn + w3 L_angle."""
        of_cosine, of_negatives, of_angle = self.temperatures
        parts = {
            "cosine": cosent(cosine_similarity(x_BD, y_BD), targets_B, of_cosine),
            "negatives": in_batch_negatives(x_BD, y_BD, targets_B >= self.positive_from, of_negatives),
            "angle": cosent(angle_similarity(x_BD, y_BD, self.reading), targets_B, of_angle),
        }
        terms = [weight * part for weight, part in zip(self.weights, parts.values(), strict=True)]
        return Loss(torch.stack(terms).sum(), parts)

    def negatives(self, anchors: int) -> int:
        """Return the number of rows, without the anchor and its partner."""
        return 2 * anchors - 2


class Cosine(Graded):
    """Regression of the cosine on the score: the mean squared error."""

    def loss(self, x_BD: Tensor, y_BD: Tensor, targets_B: Tensor) -> Loss:
        """Return mean_i (s_i - t_i)^2."""
        cosines_B = cosine_similarity(x_BD, y_BD)
        return Loss(mse_loss(cosines_B, targets_B.to(cosines_B.dtype)))
