"""What the parts of cse hand to each other. Nothing to inherit: a part fits if it has these names.

Shapes are in the names: B rows of a batch, T tokens, D embedding width, M views of a sentence.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

Encode = Callable[[list[str]], np.ndarray]
"""n texts -> (n, D) float32, eval mode, the embedding that is used at test time."""


@dataclass(frozen=True)
class Tokens:
    """One view of a batch, padded to its longest row.

    ids_BT int64; mask_BT 1 for a real token, 0 for padding; labels_BT the original id where a token was masked
    for the MLM loss and -100 elsewhere, or None where the view is not masked.
    """

    ids_BT: Tensor
    mask_BT: Tensor
    labels_BT: Tensor | None = None


@dataclass(frozen=True)
class Batch:
    """All views of one step, view after view, in one padded block: they go through the encoder together.

    sizes: the rows of each view; they add up to the rows of `tokens`.
    """

    tokens: Tokens
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class Encoded:
    """What the encoder makes of one view. Every field is per row, so rows can be gathered, cut and joined.

    mlm_nll_B is the sum of -log p(original token) over a row's masked tokens, mlm_count_B their number; both are
    None for a view without labels. hidden_BTD (last layer, padding included) is None where only rows are needed.
    """

    pooled_BD: Tensor
    hidden_BTD: Tensor | None = None
    mlm_nll_B: Tensor | None = None
    mlm_count_B: Tensor | None = None

    def mlm_loss(self) -> Tensor:
        """The mean of -log p(original token) over the masked tokens of all rows, a scalar; 0 where none is masked.

        Raises ValueError for a view without labels.
        """
        if self.mlm_nll_B is None or self.mlm_count_B is None:
            raise ValueError("this view was not masked, so it has no language-model loss")
        return self.mlm_nll_B.sum() / self.mlm_count_B.sum().clamp(min=1)


@dataclass(frozen=True)
class Loss:
    """A scalar to minimise and its named terms (scalars, logged as train/<name>)."""

    total: Tensor
    parts: dict[str, Tensor] = field(default_factory=dict)


class Objective(Protocol):
    """A paper's loss: an nn.Module that owns its training head.

    It sees the whole global batch: the loop gathers views across processes, with gradient, before the call, so an
    objective is written for one process and is exact on many. Randomness inside it must depend only on its seed
    and its own buffers, so that every process draws the same.
    """

    num_views: int
    """Views of each row that the augmentation has to make."""
    masking: str
    """"none"; "first": view 0 is masked for the MLM loss; "copies": masked copies of all views come as a last view."""

    averages_positives: bool
    """Optional, False: whether view 1 may have several rows for each row of view 0 (DeCLUTR's spans)."""

    def __call__(self, views: list[Encoded]) -> Loss: ...

    def test_head(self) -> nn.Module | None:
        """The head that stays on the pooled embedding at test time, or None where it is dropped."""
        ...


class Augmentation(Protocol):
    """Makes the views of a row. Exactly one of the two methods does the work; the other is absent.

    rng is keyed by (seed, epoch, row), so views do not depend on workers or processes.
    """

    def views(self, text: str, num_views: int, rng: np.random.Generator) -> list[str | list[str]]:
        """Text level: num_views views of one text; a view may be several texts (DeCLUTR's spans)."""
        ...

    def tokens(self, ids: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Token level: one view of one row's ids (int, special tokens at both ends, no padding)."""
        ...


class AuxModality(Protocol):
    """Images or sound through the same transformer: an nn.Module that owns its patch embedding and head."""

    seconds_waited: float
    """Time spent so far waiting for data."""

    def batches(self, first: int, rank: int, world: int) -> Iterator[Any]:
        """Endless reshuffled batches from number `first` on, a part for each process.

        They depend on (seed, number) only, for exact resume.
        """
        ...

    def tokens(self, batch: Any) -> tuple[Tensor, Tensor]:
        """(x_BTD, labels_B): both views of the batch stacked (2B rows, view 1 then view 2), labels of the B items."""
        ...

    def loss(self, pooled_BD: Tensor, labels_B: Tensor) -> Loss: ...


class Evaluator:
    """Scores an encoder from its `encode` alone. Its config key is the metrics' prefix: `test/<key>/STS12/spearman`.

    Inherit it: what is optional has its default here.
    """

    splits: tuple[str, ...]
    """Those it can score, of "dev" and "test"."""

    def prepare(self) -> None:
        """Find and check the data before any work; raise MissingResource or UserError."""
        raise NotImplementedError

    def __call__(self, encode: Encode, split: str) -> dict[str, float]:
        """Every score of a split, by name."""
        raise NotImplementedError

    def cosines(self, encode: Encode, split: str) -> tuple[np.ndarray, np.ndarray] | None:
        """(cosines_N, gold_N) of a split's N pairs, for pictures; None by default."""
        return None

    def provenance(self) -> dict[str, Any]:
        """What a score rests on: protocol, files with sha256, rows. JSON-ready."""
        raise NotImplementedError


def seeded(*key: int) -> torch.Generator:
    """A CPU generator that depends on the key alone, e.g. (seed, step, view)."""
    words = np.random.SeedSequence(key).generate_state(2, np.uint32)
    return torch.Generator().manual_seed(int(words[0]) << 32 | int(words[1]))
