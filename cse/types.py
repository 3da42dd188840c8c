"""The interface of each kind of part, and the data that the parts pass to each other. An optional member of an
interface has a default. The last letters of a tensor's name give its shape: B rows, T tokens, D embedding width."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
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
"""A function from n texts to their test-time embeddings, (n, D) float32. A text may be a Query or a Document."""


class Sided(str):
    """A query or a document of a search. It never equals a plain str with this text: the vectors may differ."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self), str(self)))


class Query(Sided):
    """A text to search with. An encoder with two prefixes (model.prefix) puts its query prefix before the text."""

    __slots__ = ()


class Document(Sided):
    """A text to find. An encoder with two prefixes (model.prefix) puts its document prefix before the text."""

    __slots__ = ()


@dataclass(frozen=True)
class Tokens:
    """The token ids of one view of a batch, padded to the view's longest row.

    ids_BT: int64. mask_BT: 1 for a real token, 0 for padding. labels_BT: the original id of each masked token, -100 for
    every other token; None without masking. masked_N: positions of the masked tokens in the flattened labels.
    """

    ids_BT: Tensor
    mask_BT: Tensor
    labels_BT: Tensor | None = None
    masked_N: Tensor | None = None

    def to(self, device: torch.device) -> "Tokens":
        """Return the tokens on `device`. The CPU does not wait for a copy to a GPU."""
        ids_BT, mask_BT = to_device(self.ids_BT, device), to_device(self.mask_BT, device)
        if self.labels_BT is None:
            return Tokens(ids_BT, mask_BT)
        masked_N = (self.labels_BT != -100).flatten().nonzero()[:, 0] if self.masked_N is None else self.masked_N
        return Tokens(ids_BT, mask_BT, to_device(self.labels_BT, device), to_device(masked_N, device))


@dataclass(frozen=True)
class Batch:
    """All views of a batch's rows, joined in one padded block. The encoder reads the block at once.

    sizes: the number of rows of each view; `tokens` has the rows of all views. known: see Encoded. source: the name
    of the rows' source in a mixture.
    """

    tokens: Tokens
    sizes: tuple[int, ...]
    known: dict[str, Tensor] = field(default_factory=dict)
    source: str | None = None


@dataclass(frozen=True)
class Encoded:
    """The encoder's vectors for the rows of one view. `known` has further data of each row, by name:

    mlm_nll_B: for a view with labels, the sum of -log p(original token) over the masked tokens of a row.
    mlm_count_B: the number of these tokens.
    targets_B: for text with scores (data.scores), the score of a row, from 0 to 1.
    teacher_BE: the teachers' vectors. The dot product of two of them is the weighted mean of the teachers' cosines.
    momentum_BD: the momentum encoder's vector of the row.
    rows_B: for an objective with `reads_rows`, the index of the row in the data.
    missing_B: whether the row has no text in this view's column; only for text in which some rows have no hard
    negative. The vector of such a row is the vector of an empty text.
    """

    pooled_BD: Tensor
    known: dict[str, Tensor] = field(default_factory=dict)

    def mlm_loss(self) -> Tensor:
        """Return the mean of -log p(original token) over all masked tokens, a scalar; 0 if no token is masked.

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
    """Return missing_B of these views, joined to (N,) bool; None if no view has missing_B."""
    missing = [view.known["missing_B"] for view in views if "missing_B" in view.known]
    return torch.cat(missing) if missing else None


@dataclass(frozen=True)
class Loss:
    """The scalar to minimise (total), and the terms of the loss: scalars by name, which are logged as train/<name>."""

    total: Tensor
    parts: dict[str, Tensor] = field(default_factory=dict)


class Objective(Part, nn.Module, ABC):
    """A paper's loss, with the paper's training head. This base class defines the defaults of optional members.

    The loop gathers the global batch from all processes, with gradients, and calls the objective with this batch. So
    an objective written for one process is exact on several. In an equation of cse.objective each process computes a
    share of the rows, so every process must call the equation with the same rows. Random numbers must be equal on all
    processes: they depend only on the objective's seed and buffers. The constructor takes `dim` (the encoder's width)
    and the keys of the YAML.
    """

    num_views: int = 2
    """The number of views of each row that the objective needs."""
    masking: str = "none"
    """"none"; "first": view 0 is masked for the MLM loss; "copies": one more view has masked copies of all views."""
    min_rows: int = 1
    """The smallest number of rows in a batch: 2 if the loss compares rows, or computes statistics over rows."""
    averages_positives: bool = False
    """Whether view 1 may have several rows for each row of view 0. The mean of these rows is the positive (DeCLUTR)."""
    further_are_negatives: bool = False
    """Whether views 2, 3, ... are hard negatives, one column per view. A row may lack a hard negative (missing_B)."""
    pairs_texts: bool = False
    """Whether each view must have its own column, because a guide or a score compares two texts of a row."""
    reads_scores: bool = False
    """Whether the loss reads a score of each row, targets_B."""
    memory_size: int = 0
    """The number of vectors of earlier batches that the objective keeps as negatives."""
    reads_rows: bool = False
    """Whether the objective reads rows_B, to recognise the rows that it keeps from earlier batches."""
    teachers: Mapping[str, float] = {}
    """{checkpoint of a teacher: weight of this teacher's cosines}. The teachers compute teacher_BE."""
    teacher_pooling: str | None = None
    """The pooling of all teachers; None: the pooling that each teacher records."""
    momentum: float | None = None
    """The momentum of a second encoder, which computes momentum_BD (cse.training.momentum). None: no second encoder."""
    head: nn.Module | None
    """The training head, or None. A second modality may share it (aux_modality.head_mode)."""

    def __new__(cls, *_: object, **__: object) -> Self:
        self = super().__new__(cls)
        nn.Module.__init__(self)
        self.register_module("head", None)  # in a copy, a plain None would hide the module
        return self

    def __init__(self) -> None:
        """Do nothing. So a subclass may omit super().__init__(), or set its modules before this call."""

    def of(self, source: str | None) -> "Objective":
        """Return the objective of a batch: this objective, or in a mixture the objective of the batch's source."""
        return self

    def through_head(self, x_BD: Tensor) -> Tensor:
        """Return the input of the loss for embeddings (B, dim): the head's output, or without a head the embeddings."""
        return x_BD if self.head is None else self.head(x_BD)

    @classmethod
    def views_of(cls, settings: Settings) -> int:
        """Return num_views for the settings in an objective's YAML, before the objective is made."""
        return settings.get("num_views") or cls.num_views

    @abstractmethod
    def forward(self, views: list[Encoded]) -> Loss:
        """Return the loss of one global batch, with its terms."""

    def negatives(self, anchors: int) -> int:
        """Return the number of negatives of each anchor in a batch of `anchors` rows; by default 0, no negatives."""
        return 0

    def test_head(self) -> nn.Module | None:
        """Return the head that also transforms the pooled embedding at test time, or None."""
        return None


class Rows(Protocol):
    """The prepared text that an augmentation reads, by row index and column."""

    @property
    def num_columns(self) -> int:
        """The number of columns; plain text has one."""

    def __len__(self) -> int: ...

    def text(self, i: int, column: int = 0) -> str:
        """Return the text of row i in this column."""

    def measured(self, number_of: Callable[[str], int], key: str) -> np.ndarray:
        """Return number_of(text) for the text in the first column of each row, (N,) int64. The cache keeps the numbers
        under `key`, which names everything else that determines a number."""


class Augmentation(Part):
    """A part that makes the views of a row. For level "text" a subclass has `views`, for level "tokens" `tokens`. Both
    methods get an rng that depends only on (seed, epoch, row, view)."""

    level: Literal["text", "tokens"] = "tokens"
    """"text": `views` gets texts; "tokens": `tokens` gets token ids."""
    model_dropout: float | None = None
    """The dropout probability of the encoder in training; None: the probability of the checkpoint."""
    positives: int = 1
    """The number of rows of view 1 for each row of view 0."""
    max_views: int | None = None
    """The largest number of views of a row; None: no limit."""
    needs_columns: bool = False
    """Whether each view must have its own column, because nothing else makes the views of a row differ."""
    keeps_first: bool = False
    """Whether view 0 is the unchanged row, and only the other views are augmented."""
    longest: int = sys.maxsize
    """The largest number of ids that `tokens` may return for a row; see `limit_length`."""
    keeps_text: bool = False
    """Whether the augmentation leaves texts unchanged. Then only dropout makes two views of one column differ."""

    def inputs(self) -> dict[str, str]:
        """Return {name in messages: digest} of the data that the augmentation reads."""
        return {}

    def bind(self, tokenizer: "PreTrainedTokenizerBase") -> None:
        """Keep the facts of the encoder's tokenizer that the views need. Called once, before any view is made."""

    def limit_length(self, longest: int) -> None:
        """Limit a row to the number of ids that the encoder can read. Called after `bind`, before any view is made."""
        self.longest = min(self.longest, longest)

    def usable_rows(self, text: Rows) -> np.ndarray:
        """Return the indices (int64) of the rows that can have views; by default of all rows."""
        return np.arange(len(text))

    def views(self, text: str, num_views: int, rng: np.random.Generator) -> list[str | list[str]]:
        """Return num_views views of one text, for level "text". A view may be several texts (DeCLUTR's spans)."""
        raise NotImplementedError

    def tokens(self, ids: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return one view of one row, for level "tokens". ids: int, with special tokens at both ends, no padding."""
        raise NotImplementedError


class AuxModality(Part, nn.Module):
    """A second modality, images or sound, for the same transformer. The modality has its own patch embedding and loss.

    weight: omega, the factor of this loss. optimizer: "separate": a second AdamW updates the encoder and this module;
    "joint": one update for the sum of both losses. no_decay: parameters whose names contain one of these texts have no
    weight decay.
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
    """Whether only the encoder's dropout makes the two views of an item differ."""

    @property
    def seconds_waited(self) -> float:
        """The seconds that this process has waited for the modality's data so far."""
        raise NotImplementedError

    def bind(self, text_head: nn.Module | None) -> None:
        """Share the objective's head, if head_mode requires this. Called once, before the optimizers are made."""

    def inputs(self) -> dict[str, str]:
        """Return {name in messages: digest} of the data. A digest does not depend on the data's folder."""
        return {}

    def provenance(self) -> dict[str, object]:
        """Return facts about the data (its source, size and digest) and the loss, as JSON types."""
        return {}

    def batches(self, first: int, rank: int, world: int) -> Iterator[Any]:
        """Yield this process's batches from step `first` on, without end. Each epoch has its own order.

        Each process has batches of its own. The items of a batch depend only on the seed and the batch's number.
        """
        raise NotImplementedError

    def tokens(self, batch: Any) -> tuple[Tensor, Tensor]:
        """Return (x_BTD, labels_B) for B items. x_BTD: the patch embeddings of 2B rows, all views 1 and then all views
        2. labels_B: the labels of the items, on the CPU."""
        raise NotImplementedError

    def loss(self, pooled_BD: Tensor, labels_B: Tensor) -> Loss:
        """Return the loss of 2B pooled rows, not yet multiplied by `weight`."""
        raise NotImplementedError


class Evaluator(Part, ABC):
    """A part that scores an encoder. The evaluator gets only `encode`, never the model. The name of a score includes
    the evaluator's config key: `test/<key>/STS12/spearman`."""

    splits: tuple[str, ...] = ("dev", "test")
    """The splits that the evaluator can score: "dev", "test" or both."""
    primary: str | None = None
    """The name of the main score. `trainer.select=<key>` selects the checkpoint on `dev/<key>/<primary>`."""
    searches: bool = False
    """Whether the evaluator encodes Queries and Documents. This is known after `prepare`."""

    def score_names(self, split: str) -> Collection[str]:
        """Return the names of a split's scores, or no names if they are unknown before `prepare`.

        So a wrong name in `trainer.select` is refused before any work.
        """
        return ()

    @abstractmethod
    def prepare(self) -> None:
        """Find and check the data, once, before any work. Raises MissingResource or UserError."""

    @abstractmethod
    def __call__(self, encode: Encode, split: str) -> list[Score]:
        """Return every score of a split. Called after `prepare`."""

    def texts(self) -> Iterable[str]:
        """Return every text that the evaluator encodes, to find overlap with the training data; by default none."""
        return ()

    @abstractmethod
    def source(self) -> Source:
        """Return the data and the protocol of the scores. Called after `prepare`, before and after scoring."""
