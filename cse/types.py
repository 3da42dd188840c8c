"""The data that the parts of cse pass to each other, and the interface of each part. Optional members have a default.
Names carry shapes: B rows of a batch, T tokens, D embedding width, M views of a sentence."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

import numpy as np
import torch
from torch import Tensor, nn

from cse.device import to_device
from cse.needs import Part, Settings
from cse.score import Score, Source

if TYPE_CHECKING:  # importing transformers takes seconds
    from transformers import PreTrainedTokenizerBase

Encode = Callable[[list[str]], np.ndarray]
"""n texts -> (n, D) float32: the embeddings used at test time, in eval mode. A text may be a Query or a Document."""


class Sided(str):
    """A text of one side of a search. It is never equal to a plain text, so that both get their own vectors."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self), str(self)))


class Query(Sided):
    """A text to search with. An encoder with two prefixes (model.prefix) puts the prefix of queries before it."""

    __slots__ = ()


class Document(Sided):
    """A text to find. An encoder with two prefixes (model.prefix) puts the prefix of documents before it."""

    __slots__ = ()


@dataclass(frozen=True)
class Tokens:
    """One view of a batch, padded to its longest row.

    ids_BT: int64. mask_BT: 1 for a real token, 0 for padding. labels_BT: the original id of a masked token and -100
    elsewhere, or None. masked_N: the indices of the masked tokens among all B * T; `to` computes them on the CPU.
    """

    ids_BT: Tensor
    mask_BT: Tensor
    labels_BT: Tensor | None = None
    masked_N: Tensor | None = None

    def to(self, device: torch.device) -> "Tokens":
        """The tokens on `device`; see to_device."""
        ids_BT, mask_BT = to_device(self.ids_BT, device), to_device(self.mask_BT, device)
        if self.labels_BT is None:
            return Tokens(ids_BT, mask_BT)
        masked_N = (self.labels_BT != -100).flatten().nonzero()[:, 0] if self.masked_N is None else self.masked_N
        return Tokens(ids_BT, mask_BT, to_device(self.labels_BT, device), to_device(masked_N, device))


@dataclass(frozen=True)
class Batch:
    """All views of one step, joined in one padded block. The encoder reads the block at once.

    sizes: the number of rows of each view; `tokens` has their sum. known: see Encoded. source: the name of the source
    of the rows, in a mixture of several.
    """

    tokens: Tokens
    sizes: tuple[int, ...]
    known: dict[str, Tensor] = field(default_factory=dict)
    source: str | None = None


@dataclass(frozen=True)
class Encoded:
    """The encoder's vectors for the rows of one view. `known` has further data of each row, by name:

    mlm_nll_B, mlm_count_B: for a view with labels, the sum of -log p(original token) over the masked tokens of a row,
    and the number of these tokens. targets_B: the score of a row from 0 to 1, for text with scores (data.scores).
    teacher_BE: vectors whose products are the cosines of the objective's `teachers`. momentum_BD: the row's vector by
    the momentum encoder. rows_B: the numbers of the rows in the data, for an objective that reads them. missing_B: for
    text with missing negatives, whether the row has no text in this view's column. The vector of such a row is the
    vector of an empty text.
    """

    pooled_BD: Tensor
    known: dict[str, Tensor] = field(default_factory=dict)

    def mlm_loss(self) -> Tensor:
        """The mean of -log p(original token) over all masked tokens, a scalar; 0 without any.

        Raises ValueError for a view without labels.

        For example:

            >>> known = {"mlm_nll_B": torch.tensor([2.0, 4.0]), "mlm_count_B": torch.tensor([1, 3])}
            >>> Encoded(torch.zeros(2, 8), known).mlm_loss()
            tensor(1.5000)
        """
        if "mlm_nll_B" not in self.known:
            raise ValueError("this view was not masked, so it has no language-model loss")
        return self.known["mlm_nll_B"].sum() / self.known["mlm_count_B"].sum().clamp(min=1)


def missing_rows(views: list[Encoded]) -> Tensor | None:
    """Which rows of these views are missing, (N,) bool; None if no row of the data is missing."""
    missing = [view.known["missing_B"] for view in views if "missing_B" in view.known]
    return torch.cat(missing) if missing else None


@dataclass(frozen=True)
class Loss:
    """A scalar to minimise, and its named terms: scalars. The loop logs them as train/<name>."""

    total: Tensor
    parts: dict[str, Tensor] = field(default_factory=dict)


class Objective(Part, nn.Module, ABC):
    """A paper's loss, and its training head. This base class has the defaults of optional members.

    The loop calls an objective with the global batch, gathered from all processes with its gradient. So code for one
    process is exact on several. The equations of cse.objective share their rows between processes, so every process
    must call them with the same rows. Randomness must depend only on the objective's seed and its own buffers, so that
    every process draws the same numbers. The constructor takes `dim`, the encoder's width, and the keys of its YAML.
    """

    num_views: int = 2
    """How many views of each row the objective needs."""
    masking: str = "none"
    """"none"; "first": view 0 is masked for the MLM loss; "copies": masked copies of all views are one more view."""
    min_rows: int = 1
    """The smallest batch: 2 rows if the loss compares rows, or takes statistics over them."""
    averages_positives: bool = False
    """Whether view 1 may have several rows for each row of view 0. Their mean is the positive (DeCLUTR's spans)."""
    further_are_negatives: bool = False
    """Whether the views after the second are hard negatives. Each is from its own column, and a row may lack it
    (missing_B)."""
    pairs_texts: bool = False
    """Whether its views are two different texts of a row, not one text twice. A guide or a score compares them."""
    reads_scores: bool = False
    """Whether it learns from a score of each row, targets_B."""
    memory_size: int = 0
    """How many vectors of earlier batches it keeps as negatives."""
    reads_rows: bool = False
    """Whether it reads rows_B, to recognise rows that it keeps from earlier batches."""
    teachers: Mapping[str, float] = {}
    """The checkpoints that compute teacher_BE, and the weights of their cosines. All use `teacher_pooling`."""
    teacher_pooling: str | None = None
    momentum: float | None = None
    """Momentum of a second encoder (cse.training.momentum); it computes momentum_BD. None: no second encoder."""
    head: nn.Module | None
    """The training head, or None. A second modality may share it (aux_modality.head_mode)."""

    def __new__(cls, *_: object, **__: object) -> Self:
        self = super().__new__(cls)
        nn.Module.__init__(self)
        self.register_module("head", None)  # a plain None would hide the head of a copy
        return self

    def __init__(self) -> None:
        """Do nothing: a subclass may omit super().__init__(), or call it after setting its own modules."""

    def of(self, source: str | None) -> "Objective":
        """The objective of a batch: this objective, or in a mixture the objective of the batch's source."""
        return self

    def through_head(self, x_BD: Tensor) -> Tensor:
        """(B, dim) -> the input of the loss: the head's output, or the embeddings if there is no head."""
        return x_BD if self.head is None else self.head(x_BD)

    @classmethod
    def views_of(cls, settings: Settings) -> int:
        """num_views of an objective with these settings (from its YAML). Needs no encoder."""
        return settings.get("num_views") or cls.num_views

    @abstractmethod
    def forward(self, views: list[Encoded]) -> Loss:
        """The loss of one global batch, and its terms."""

    def negatives(self, anchors: int) -> int:
        """The number of negatives of each anchor, in a batch of `anchors` rows. 0, the default: a loss without any."""
        return 0

    def test_head(self) -> nn.Module | None:
        """The head that also applies to the pooled embedding at test time, or None."""
        return None


class Rows(Protocol):
    """The prepared text for an augmentation: rows, by number and column."""

    @property
    def num_columns(self) -> int:
        """The number of columns; plain text has one."""

    def __len__(self) -> int: ...

    def text(self, i: int, column: int = 0) -> str:
        """The text of row i in that column."""

    def measured(self, number_of: Callable[[str], int], key: str) -> np.ndarray:
        """(N,) int64: number_of(text) for the first text of each row. It is computed once for the same key, and kept in
        the cache. key: everything else that a number depends on."""


class Augmentation(Part):
    """Makes the views of a row. A subclass has `views` or `tokens`, as `level` says. rng depends on
    (seed, epoch, row, view)."""

    level: Literal["text", "tokens"] = "tokens"
    """"text": `views` is called with texts; "tokens": `tokens` is called with token ids."""
    model_dropout: float | None = None
    """The encoder's dropout in training; None: the checkpoint's own."""
    positives: int = 1
    """Rows of view 1 for each row of view 0."""
    max_views: int | None = None
    """The most views of a row that it can make; None: any number."""
    needs_columns: bool = False
    """Whether each view must have its own column, because nothing else makes the views of a row differ."""
    keeps_first: bool = False
    """Whether view 0 is the row unchanged, and only the other views are augmented."""
    longest: int = sys.maxsize
    """The most ids that `tokens` may return for a row; see `limit_length`."""
    keeps_text: bool = False
    """Whether texts are left unchanged. Then only dropout makes two views of one column differ."""

    def inputs(self) -> dict[str, str]:
        """Digests of the data that it reads, by their names in messages."""
        return {}

    def bind(self, tokenizer: "PreTrainedTokenizerBase") -> None:
        """Keep the needed facts of the encoder's Hugging Face tokenizer. Called once, before any view is made."""

    def limit_length(self, longest: int) -> None:
        """Keep the most ids that the encoder reads in a row. Called after `bind`, before any view is made."""
        self.longest = min(self.longest, longest)

    def usable_rows(self, text: Rows) -> np.ndarray:
        """The numbers (int64) of the rows that can have views; by default all rows."""
        return np.arange(len(text))

    def views(self, text: str, num_views: int, rng: np.random.Generator) -> list[str | list[str]]:
        """For level "text": num_views views of one text. A view may be several texts (DeCLUTR's spans)."""
        raise NotImplementedError

    def tokens(self, ids: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """For level "tokens": one view of the ids of one row (int, special tokens at both ends, no padding)."""
        raise NotImplementedError


class AuxModality(Part, nn.Module):
    """Images or sound through the same transformer, with their own patch embedding, head and optimizer settings.

    weight: omega, the factor of its loss. optimizer: "separate": a second AdamW over the encoder and this module;
    "joint": one sum of losses and one update.
    no_decay: parameters whose names contain one of these have no weight decay.
    """

    weight: float
    order: Literal["aux_first", "text_first"]
    optimizer: Literal["separate", "joint"]
    lr: float
    weight_decay: float
    no_decay: list[str]
    schedule: str
    clip: float | None
    needs_dropout: bool = False
    """Whether only the encoder's dropout makes its two views differ."""

    @property
    def seconds_waited(self) -> float:
        """Seconds spent waiting for data so far."""
        raise NotImplementedError

    def bind(self, text_head: nn.Module | None) -> None:
        """Share the objective's head, if the settings say so. Called once, before the optimizers are made."""

    def inputs(self) -> dict[str, str]:
        """Digests of its data, by their names in messages. They do not depend on the place of the data."""
        return {}

    def provenance(self) -> dict[str, object]:
        """Its data and its loss, JSON-ready; see cse.data.stream.Stream.provenance."""
        return {}

    def batches(self, first: int, rank: int, world: int) -> Iterator[Any]:
        """This process's part of endless reshuffled batches, from number `first` on.

        A batch depends only on (seed, its number).
        """
        raise NotImplementedError

    def tokens(self, batch: Any) -> tuple[Tensor, Tensor]:
        """(x_BTD, labels_B): 2B rows, all views 1 and then all views 2; the labels of the B items, on the CPU."""
        raise NotImplementedError

    def loss(self, pooled_BD: Tensor, labels_B: Tensor) -> Loss:
        """The loss of 2B pooled rows, before the factor `weight`."""
        raise NotImplementedError


class Evaluator(Part, ABC):
    """Scores an encoder through `encode` alone. Its config key is the prefix of its metrics:
    `test/<key>/STS12/spearman`."""

    splits: tuple[str, ...] = ("dev", "test")
    """The splits that it can score: "dev", "test" or both."""
    primary: str | None = None
    """The name of its main score. `trainer.select=<key>` selects the checkpoint on `dev/<key>/<primary>`."""

    @abstractmethod
    def prepare(self) -> None:
        """Find and check the data, once, before any work. Raises MissingResource or UserError."""

    @abstractmethod
    def __call__(self, encode: Encode, split: str) -> list[Score]:
        """Every score of a split. Called after `prepare`."""

    def texts(self) -> Iterable[str]:
        """Every text that it scores, to find overlap with the training data. By default none."""
        return ()

    @abstractmethod
    def source(self) -> Source:
        """The data and the protocol of the scores. Called after `prepare`, before and after scoring."""
