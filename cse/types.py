"""The data that the parts of cse pass to each other, and the interface of each part. What is optional has a default.
Shapes are in the names: B rows of a batch, T tokens, D embedding width, M views of a sentence."""

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
"""n texts -> (n, D) float32, eval mode, the embedding that is used at test time."""


@dataclass(frozen=True)
class Tokens:
    """One view of a batch, padded to its longest row.

    ids_BT: int64. mask_BT: 1 for a real token, 0 for padding. labels_BT: the original id of a masked token and -100
    elsewhere, or None. masked_N: the indices of the masked tokens among all B * T, which `to` computes on the CPU.
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
    """All views of one step, joined in one padded block that the encoder reads at once.

    sizes: the number of rows of each view, whose sum is that of `tokens`. known: see Encoded.
    """

    tokens: Tokens
    sizes: tuple[int, ...]
    known: dict[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class Encoded:
    """The encoder's vectors of one view's rows, and what else is known of each row, by name:

    mlm_nll_B, mlm_count_B: of a view with labels, the sum of -log p(original token) over a row's masked tokens, and
    their number. targets_B: a row's score from 0 to 1, of text with scores (data.scores). teacher_BE: vectors whose
    products are the cosines of the objective's `teachers`. momentum_BD: the row by its second encoder. rows_B: the
    numbers of the rows in the data, for an objective that reads them.
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


@dataclass(frozen=True)
class Loss:
    """A scalar to minimise, and its named terms: scalars, logged as train/<name>."""

    total: Tensor
    parts: dict[str, Tensor] = field(default_factory=dict)


class Objective(Part, nn.Module, ABC):
    """A paper's loss, and the training head that belongs to it. Base class; what is optional has its default here.

    It is called with the global batch: the loop gathers the views of all processes, with their gradient, so code
    written for one process is exact on many. Its randomness must depend only on its seed and its own buffers, so that
    every process draws the same. Its constructor takes `dim`, the encoder's width, and the keys of its YAML.
    """

    num_views: int = 2
    """How many views of each row the objective needs."""
    masking: str = "none"
    """"none"; "first": view 0 is masked for the MLM loss; "copies": masked copies of all views are one more view."""
    min_rows: int = 1
    """The fewest rows of a batch: 2 where the loss compares rows, or takes statistics over them."""
    averages_positives: bool = False
    """Whether view 1 may have several rows for each row of view 0, whose mean is the positive (DeCLUTR's spans)."""
    third_is_negative: bool = False
    """Whether view 2 is a hard negative, which is a column of its own."""
    pairs_texts: bool = False
    """Whether its views are two texts of a row, which a guide or a score compares, and not one text twice."""
    reads_scores: bool = False
    """Whether it learns from a score of each row, targets_B."""
    memory_size: int = 0
    """How many vectors of earlier batches it keeps as negatives."""
    reads_rows: bool = False
    """Whether it reads rows_B, to know a row again that it keeps from earlier batches."""
    teachers: Mapping[str, float] = {}
    """Checkpoints that teacher_BE comes from, and the weights of their cosines. All are pooled by `teacher_pooling`."""
    teacher_pooling: str | None = None
    momentum: float | None = None
    """Of the second encoder's weights, which gives momentum_BD (cse.training.momentum); None: there is none."""
    head: nn.Module | None
    """The training head, or None; a second modality may share it (aux_modality.head_mode)."""

    def __new__(cls, *_: object, **__: object) -> Self:
        self = super().__new__(cls)
        nn.Module.__init__(self)
        self.register_module("head", None)  # a plain None would hide the head of a copy
        return self

    def __init__(self) -> None:
        """Nothing is left to do: a subclass may forget super().__init__(), or call it after its own modules are set."""

    @classmethod
    def views_of(cls, settings: Settings) -> int:
        """num_views of an objective with these settings (its YAML's), known before there is an encoder."""
        return settings.get("num_views") or cls.num_views

    @abstractmethod
    def forward(self, views: list[Encoded]) -> Loss:
        """The loss of one global batch, and its terms."""

    def negatives(self, anchors: int) -> int:
        """The number of negatives of each anchor, in a batch of so many; 0, the default, for a loss without any."""
        return 0

    def test_head(self) -> nn.Module | None:
        """The head that is applied to the pooled embedding at test time too, or None."""
        return None


class Rows(Protocol):
    """The prepared text as an augmentation sees it: rows, by number and column."""

    @property
    def num_columns(self) -> int:
        """Columns of a row; plain text has one."""

    def __len__(self) -> int: ...

    def text(self, i: int, column: int = 0) -> str:
        """The text of row i in that column."""


class Augmentation(Part):
    """Makes the views of a row: write `views` or `tokens`, as `level` says. rng depends on (seed, epoch, row, view)."""

    level: Literal["text", "tokens"] = "tokens"
    """"text": `views` is called with texts; "tokens": `tokens` is called with token ids."""
    model_dropout: float | None = None
    """The encoder's dropout in training; None leaves the checkpoint's own."""
    positives: int = 1
    """Rows of view 1 for each row of view 0."""
    max_views: int | None = None
    """How many views of a row it can make; None: any number."""
    needs_columns: bool = False
    """Whether each view must be a column of its own, because nothing else makes the views of a row differ."""
    keeps_first: bool = False
    """Whether view 0 is the row unchanged, and only the other views are augmented."""
    longest: int = sys.maxsize
    """The most ids of a row that `tokens` may return: the loader sets it to what the encoder's positions leave."""
    keeps_text: bool = False
    """Whether texts are left unchanged, so that only dropout makes two views of one column differ."""

    def inputs(self) -> dict[str, str]:
        """Digests of the data that it reads, by their names in messages."""
        return {}

    def bind(self, tokenizer: "PreTrainedTokenizerBase") -> None:
        """Take what it needs from the encoder's Hugging Face tokenizer; called once, before any view is made."""

    def usable_rows(self, text: Rows) -> np.ndarray:
        """The numbers (int64) of the rows that views can be made of; all of them by default."""
        return np.arange(len(text))

    def views(self, text: str, num_views: int, rng: np.random.Generator) -> list[str | list[str]]:
        """Text level: num_views views of one text; a view may be several texts (DeCLUTR's spans)."""
        raise NotImplementedError

    def tokens(self, ids: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Token level: one view of one row's ids (int, special tokens at both ends, no padding)."""
        raise NotImplementedError


class AuxModality(Part, nn.Module):
    """Images or sound through the same transformer: has its own patch embedding, head and optimizer settings.

    weight: omega, the factor of its loss. optimizer: separate, an AdamW of its own over the encoder and this module, or
    joint, one sum and one update. no_decay: parameters whose names contain one of these are not decayed.
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
    """Whether nothing but the encoder's dropout makes its two views differ."""

    @property
    def seconds_waited(self) -> float:
        """Time spent so far waiting for data."""
        raise NotImplementedError

    def bind(self, text_head: nn.Module | None) -> None:
        """Take the objective's head, where it is shared; called once, before the optimizers are made."""

    def inputs(self) -> dict[str, str]:
        """Digests of what it learns from, by their names in messages; they do not depend on where it lies."""
        return {}

    def provenance(self) -> dict[str, object]:
        """What it learns from and by which loss, JSON-ready; see cse.data.stream.Stream.provenance."""
        return {}

    def batches(self, first: int, rank: int, world: int) -> Iterator[Any]:
        """Endless reshuffled batches from number `first` on, by (seed, number) alone; this process's part of each."""
        raise NotImplementedError

    def tokens(self, batch: Any) -> tuple[Tensor, Tensor]:
        """(x_BTD, labels_B): 2B rows, all views 1 and then all views 2; labels of the B items, still on the CPU."""
        raise NotImplementedError

    def loss(self, pooled_BD: Tensor, labels_B: Tensor) -> Loss:
        """The loss of 2B pooled rows, not yet times `weight`."""
        raise NotImplementedError


class Evaluator(Part, ABC):
    """Scores an encoder from `encode` alone. Its config key is the metrics' prefix: `test/<key>/STS12/spearman`."""

    splits: tuple[str, ...] = ("dev", "test")
    """The ones that it can score, of "dev" and "test"."""
    primary: str | None = None
    """The name of its score that says most: `trainer.select=<key>` selects a step by `dev/<key>/<primary>`."""

    @abstractmethod
    def prepare(self) -> None:
        """Find and check the data, once and before any work; raise MissingResource or UserError."""

    @abstractmethod
    def __call__(self, encode: Encode, split: str) -> list[Score]:
        """Every score of a split, after `prepare`."""

    def texts(self) -> Iterable[str]:
        """Every text that is scored, for the overlap with the training data; none by default."""
        return ()

    @abstractmethod
    def source(self) -> Source:
        """The data and protocol that the scores rest on. Called after `prepare`, before and after scoring."""
