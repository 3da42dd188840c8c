"""The geometry of embeddings on the unit sphere: alignment, uniformity, effective rank, isotropy, mean cosine.

Wang & Isola 2020 (arXiv:2005.10242), on unit vectors x_i:
    alignment  = mean over positive pairs (x, y) of |x - y|^2
    uniformity = log mean over i < j of exp(-t |x_i - x_j|^2),  t = 2

N is the number of sentences, D the embedding width, and B the rows of a chunk. If no gradient is needed, uniformity has
one (B, B) block of cosines in memory at a time.
"""

import math
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Annotated, Literal

import numpy as np
import torch
from annotated_types import MinLen
from torch import Tensor
from torch.nn.functional import normalize

from cse.equation import at_least, equation, real
from cse.errors import UserError
from cse.eval.files import senteval_folder, senteval_needs
from cse.eval.senteval.data import Examples, read_table
from cse.eval.sts import Readers, ScoredPairs
from cse.needs import Need, Settings
from cse.progress import track
from cse.ranges import Count, Name, Positive, Split
from cse.score import Score, Source
from cse.types import Encode

StsbFile = Literal["train", "dev", "test"]

CHUNK = 4096  # rows; a (4096, 4096) float32 block takes 64 MiB
MAX_COSINES = 2**26  # the cosines in a chunk of a search: 256 MiB


def unit_rows(x_ND: Tensor | np.ndarray) -> Tensor:
    """Return the rows scaled to length 1, in float32 or the input's higher precision. Rows of zeros stay zero."""
    x_ND = torch.as_tensor(x_ND)
    return normalize(x_ND.to(torch.promote_types(x_ND.dtype, torch.float32)), dim=-1)


def cosines_in_chunks(queries_QD: Tensor, corpus_ND: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield (row numbers (B,), cosines with the corpus (B, N)) for each chunk of queries. All vectors have length 1."""
    for rows_B in track(torch.arange(len(queries_QD)).split(max(1, MAX_COSINES // len(corpus_ND))), "chunk"):
        yield rows_B, queries_QD[rows_B] @ corpus_ND.T


@equation(x_BD=real, y_BD=real)
def alignment(x_BD: Tensor | np.ndarray, y_BD: Tensor | np.ndarray) -> Tensor:
    """Return the mean of |x - y|^2 over positive pairs of rows scaled to length 1: a scalar in [0, 4] with a gradient.

    For example:

        >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> y = torch.tensor([[0.8, 0.6], [0.0, 1.0]])
        >>> alignment(x, y)
        tensor(0.2000)
    """
    return (unit_rows(x_BD) - unit_rows(y_BD)).square().sum(-1).mean()


@equation(B=at_least(2), x_BD=real)
def uniformity(x_BD: Tensor | np.ndarray, t: Positive = 2.0, log: bool = True, chunk: Count = CHUNK) -> Tensor:
    """Return log mean_{i<j} exp(-t |x_i - x_j|^2) of rows scaled to length 1: a scalar in [-4t, 0] with a gradient.

    log=False leaves out the log, as NonLing-CSE's text does. chunk: the number of rows of a block in memory.

    For example:

        >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
        >>> uniformity(x)
        tensor(-4.3963)
    """
    x_ND = unit_rows(x_BD)
    rows = len(x_ND)
    squares_N = x_ND.square().sum(-1)  # 1; 0 for a vector of zeros, whose squared distance to a unit vector is 1, not 2
    total = x_ND.new_zeros((), dtype=torch.float64)
    for start in track(range(0, rows, chunk), "chunk"):
        block_BD, squares_B1 = x_ND[start : start + chunk], squares_N[start : start + chunk, None]
        for other in range(start, rows, chunk):
            product_BB = block_BD @ x_ND[other : other + chunk].T
            potential_BB = (-t * (squares_B1 + squares_N[other : other + chunk] - 2 * product_BB)).exp()
            total = total + (potential_BB.triu(1) if other == start else potential_BB).double().sum()
    mean = (total / (rows * (rows - 1) / 2)).to(x_ND.dtype)
    return mean.log() if log else mean


def effective_rank(x_ND: Tensor | np.ndarray) -> float:
    """Return exp(entropy of p), in [1, min(N, D)], for p = singular values / their sum (Roy & Vetterli 2007; RankMe).

    The singular values are the square roots of the eigenvalues of X^T X, or of X X^T if N <= D. X is neither centred
    nor normalised. Raises LinAlgError if the eigenvalues do not converge. RankMe: arXiv:2210.02885.

    For example:

        >>> x = torch.tensor([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
        >>> round(effective_rank(x), 4)
        1.8899
    """
    x_ND = torch.as_tensor(x_ND).double()
    gram = x_ND.T @ x_ND if x_ND.shape[1] < len(x_ND) else x_ND @ x_ND.T
    singular_D = torch.linalg.eigvalsh(gram).clamp(min=0).sqrt()
    share_D = singular_D / singular_D.sum()
    return math.exp(torch.special.entr(share_D).sum())


def isotropy(x_ND: Tensor | np.ndarray) -> float:
    """Return min_c Z(c) / max_c Z(c), Z(c) = sum_i exp(c.x_i), over c = +-eigenvectors of X^T X; 1 is isotropic.

    Mu & Viswanath 2018 (arXiv:1702.01417), section 2.2. Rows are scaled to length 1, so that the length of an encoder's
    vectors has no effect. Both signs of c are used, because the sign of an eigenvector is arbitrary.

    For example:

        >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
        >>> round(isotropy(x), 4)
        0.2019
    """
    x_ND = unit_rows(x_ND).double()
    projected_ND = x_ND @ torch.linalg.eigh(x_ND.T @ x_ND).eigenvectors
    partition_D = torch.cat([projected_ND.exp().sum(0), (-projected_ND).exp().sum(0)])
    return float(partition_D.min() / partition_D.max())


def mean_cosine(x_ND: Tensor | np.ndarray) -> float:
    """Return the mean cosine over i != j, the anisotropy of Ethayarajh 2019 (arXiv:1909.00512).

    This needs no N x N product: sum_{i != j} x_i.x_j = |sum_i x_i|^2 - sum_i |x_i|^2

    For example:

        >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
        >>> round(mean_cosine(x), 4)
        0.4667
    """
    x_ND = unit_rows(x_ND).double()
    total, squares = float(x_ND.sum(0).square().sum()), float(x_ND.square().sum())
    return (total - squares) / (len(x_ND) * (len(x_ND) - 1))


class GeometrySource(Source):
    """The source of Geometry's scores. zero_vectors: {split: number of sentences with a vector of zeros}."""

    zero_vectors: dict[str, int]


class Geometry(ScoredPairs):
    """The geometry of STS-B's sentence embeddings, for each split. conf/eval/geometry.yaml explains the settings.

    Alignment is over the positive pairs, the other scores over the sentences of the split. A vector of zeros is the
    centre of the sphere. So its distance is 1 to each vector on the sphere, and 0 to another vector of zeros.
    """

    primary = "alignment"

    def __init__(
        self,
        senteval: Name | None,
        parts: dict[Split, Annotated[list[StsbFile], MinLen(1)]],
        threshold: float,
        inclusive: bool,
        duplicates: bool,
        allow_partial: bool = False,
    ):
        super().__init__(senteval_folder(senteval, allow_partial), averaged=())
        self.parts, self.splits = {str(split): files for split, files in parts.items()}, tuple(map(str, parts))
        self.threshold, self.inclusive, self.duplicates = threshold, inclusive, duplicates
        self.zeros: dict[str, int] = {}
        sign, times = ">=" if inclusive else ">", "with duplicates" if duplicates else "each once"
        self.protocol = f"positives: STS-B gold {sign} {threshold:g}; sentences {times}"

    @classmethod
    def needs(cls, settings: Settings) -> list[Need]:
        """Return SentEval's data as a Need."""
        return senteval_needs(settings)

    def readers(self, split: str) -> Readers:
        """Return the readers of STS-B's files for the split."""
        return {"STS-B": [partial(read_table, task="STS-B", split=file) for file in self.parts[split]]}

    def score_names(self, split: str) -> list[str]:
        """Return the names of the six scores."""
        return ["alignment", "uniformity", "uniformity_without_log", "effective_rank", "isotropy", "mean_cosine"]

    def prepare(self) -> None:
        """Read the pairs of every split. Raises MissingResource or UserError."""
        super().prepare()
        for split in self.splits:
            if not self._positive(self.whole(split)).any():
                why = f"no pair of {split} has this score or a higher score: lower the threshold"
                raise UserError(why, key="threshold", value=self.threshold)

    def whole(self, split: str) -> Examples:
        """Return the pairs of all files of a split."""
        files = self.tasks[split]["STS-B"]
        sides = (list(chain.from_iterable(one.sentences[side] for one in files)) for side in range(2))
        return Examples(tuple(sides), np.concatenate([one.labels_N for one in files]))

    def __call__(self, encode: Encode, split: str) -> list[Score]:
        """Return alignment, uniformity (with and without the log), effective rank, isotropy and mean cosine."""
        pairs = self.whole(split)
        sentences = pairs.texts()
        vectors_ND = torch.from_numpy(encode(sentences))
        first_ND, second_ND = vectors_ND.chunk(2)
        positive_N = torch.from_numpy(self._positive(pairs))
        place = {text: row for row, text in enumerate(sentences)}
        cloud_ND = vectors_ND if self.duplicates else vectors_ND[list(place.values())]
        self.zeros[split] = len(cloud_ND) - int(cloud_ND.any(dim=1).sum())
        modified = self.folder.modified
        close = partial(Score, rows=int(positive_N.sum()), lower_is_better=True, modified=modified)
        spread = partial(Score, rows=len(cloud_ND), modified=modified)
        low = partial(spread, lower_is_better=True)
        apart = float(alignment(first_ND[positive_N], second_ND[positive_N]))
        potential = uniformity(cloud_ND, log=False)
        return [
            close("alignment", apart, unit="mean squared distance of positives"),
            low("uniformity", float(potential.log()), unit="log of the mean of exp(-2 x squared distance)"),
            low("uniformity_without_log", float(potential), unit="mean of exp(-2 x squared distance)"),
            spread("effective_rank", effective_rank(cloud_ND), unit="effective rank, dimensions"),
            spread("isotropy", isotropy(cloud_ND), unit="isotropy, of 1"),
            low("mean_cosine", mean_cosine(cloud_ND), unit="mean cosine of two sentences"),
        ]

    def source(self) -> GeometrySource:
        """Return the protocol, the files and, after scoring, the number of zero vectors in each split."""
        return {**super().source(), "zero_vectors": self.zeros}

    def _positive(self, pairs: Examples) -> np.ndarray:
        return pairs.labels_N >= self.threshold if self.inclusive else pairs.labels_N > self.threshold
