"""From rows of text to the batch of views of each step. The batch of a step is always the same.

The order is a permutation keyed by (seed, epoch). Every draw of an augmentation is keyed by (seed, epoch, row, view).
So nothing depends on the number of workers or processes, or on the step at which a run was resumed.
"""

import logging
import math
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import chain
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch.utils.data import Dataset

from cse.data.duplicates import apart, text_keys
from cse.data.prefetch import prefetch
from cse.data.rows import TextRows
from cse.errors import UserError, class_name
from cse.model.tokenizer import Tokenizer
from cse.tensors import seeded
from cse.types import Augmentation, Batch

log = logging.getLogger(__name__)


class Sequence(NamedTuple):
    """One row of a padded batch. row, column: of its text. ids: of its tokens. labels: the id to predict at each
    position (-100: none), or None if nothing is masked."""

    row: int
    column: int
    ids: np.ndarray
    labels: np.ndarray | None = None


class Vectors(Protocol):
    """A vector for every text of the data."""

    def __call__(self, rows_N: np.ndarray, columns_N: np.ndarray) -> np.ndarray:
        """(N, E) float32: the vectors of the texts in these rows and columns."""

    def inputs(self) -> dict[str, str]:
        """Digests of the inputs of these vectors, by their names in messages."""


Mask = Callable[[np.ndarray, np.random.Generator], tuple[np.ndarray, np.ndarray]]
"""The ids of one row -> (ids with some masked, labels)."""

View = list[Sequence]
"""A view of a batch, row after row. A row may have several sequences (DeCLUTR's spans)."""

FIRST = 16  # rows whose views are checked before any work
MANY = 2**20  # tokens; every view is shorter
MASKING_STREAM = 2**31  # replaces the number of a view, so that masking shares no draws with the augmentation


def check_even_split(batch_size: int, processes: int) -> None:
    """Raise UserError unless the processes can share a batch evenly."""
    if batch_size % processes:
        raise UserError(
            f"trainer.batch_size={batch_size} cannot be shared evenly among {processes} processes: take a multiple of "
            "their number (trainer.devices)"
        )


class Steps(Dataset[Batch]):
    """The batches of a whole run, numbered by step from 0. They are of one text (Batches), or of several in turn."""

    steps_per_epoch: int
    seed: int

    @property
    def sources(self) -> dict[str, "Batches"]:
        """The batches of each text, by its name."""
        raise NotImplementedError

    def provenance(self) -> dict[str, object]:
        """What the run learns from, JSON-ready; see TextRows.provenance."""
        raise NotImplementedError

    def inputs(self) -> dict[str, str]:
        """Digests of what the run learns from, by their names in messages."""
        raise NotImplementedError

    def loader(self, first: int, last: int, workers: int, pin: bool) -> Iterator[Batch]:
        """The batches of steps first..last-1, made ahead by `workers` processes (0: by this one)."""
        if workers:  # the tokenizer's thread pool would not survive a fork
            os.environ["TOKENIZERS_PARALLELISM"] = "false"
        return prefetch(self, range(first, last), workers, pin)


class Batches(Steps):
    """The batches of one text, numbered by step from 0.

    text: prepared, and tokenised if the augmentation works on tokens. num_views, masking, reads_rows, min_rows: the
    objective's. mask: not called if masking is "none". batch_size: rows of the global batch; this process makes part
    `rank` of `world` parts. teacher: computes teacher_BE. no_duplicates: keep rows that share a text in different
    batches. The attribute `rows` has the numbers of the rows to train on.
    """

    def __init__(
        self,
        text: TextRows,
        tokenizer: Tokenizer,
        augmentation: Augmentation,
        *,
        num_views: int,
        masking: str,
        mask: Mask,
        batch_size: int,
        max_length: int,
        drop_last: bool,
        seed: int,
        rank: int,
        world: int,
        teacher: Vectors | None = None,
        no_duplicates: bool = False,
        reads_rows: bool = False,
        min_rows: int = 2,
    ):
        self.text, self.tokenizer, self.augmentation = text, tokenizer, augmentation
        self.num_views, self.masking, self.mask = num_views, masking, mask
        self.batch_size, self.max_length, self.seed = batch_size, max_length, seed
        self.rank, self.world, self.teacher, self.reads_rows = rank, world, teacher, reads_rows
        # An augmentation keeps one token at each end: a special token, a token of the prefix, or a 0 if there is none.
        before = [tokenizer.before_text(column) for column in range(text.num_columns)]
        after = tokenizer.after_text()
        self.prefix_lengths, self.suffix_length = [max(0, length - 1) for length in before], max(0, after - 1)
        self.first = [np.zeros(int(length == 0), np.int32) for length in before]
        self.last = np.zeros(int(after == 0), np.int32)
        self.columns = [0] * num_views if text.num_columns == 1 else list(range(num_views))  # the column of each view
        self.rows = augmentation.usable_rows(text)
        if batch_size > len(self.rows):
            raise UserError(
                f"trainer.batch_size={batch_size} is larger than the data ({len(self.rows)} rows of data={text.name}): "
                f"give more text, or trainer.batch_size={len(self.rows)} at most"
            )
        check_even_split(batch_size, world)
        full, rest = divmod(len(self.rows), batch_size)
        fewest = math.ceil(max(2 * world, min_rows) / world) * world  # a process with one row has no negatives
        self.fewest = min(fewest, batch_size)
        self.steps_per_epoch = full if drop_last or rest < max(2, min_rows) else full + 1
        if rest and not drop_last and self.steps_per_epoch == full:
            log.info("rows       the last %d of each epoch are left out: a batch needs %d", rest, max(2, min_rows))
        room = sys.maxsize if tokenizer.room is None else tokenizer.room
        kept = [length - len(first) for length, first in zip(self.prefix_lengths, self.first, strict=True)]
        room -= max(kept) + self.suffix_length - len(self.last)
        augmentation.longest = min(augmentation.longest, room)
        self.keys_NC = text_keys(text) if no_duplicates else None
        self._order: tuple[int, np.ndarray] = (-1, np.empty(0, np.int64))

    @property
    def sources(self) -> dict[str, "Batches"]:
        """See Steps."""
        return {self.text.name: self}

    def provenance(self) -> dict[str, object]:
        """See Steps."""
        return self.text.provenance()

    def inputs(self) -> dict[str, str]:
        """See Steps."""
        return self.text.inputs() | ({} if self.teacher is None else self.teacher.inputs())

    def rows_of(self, step: int) -> np.ndarray:
        """The rows of a global batch. The last batch of an epoch may be smaller.

        Several processes share the last batch evenly. Each has at least two rows, if a full batch has as many, and
        together they have at least min_rows: the last rows of the epoch. So a run has the same number of steps on any
        number of processes."""
        epoch, place = divmod(step, self.steps_per_epoch)
        order = self._permutation(epoch)
        rows = order[place * self.batch_size : (place + 1) * self.batch_size]
        if len(rows) // self.world * self.world < self.fewest:
            rows = order[-self.fewest :]
        return rows[: len(rows) // self.world * self.world]

    def __getitem__(self, step: int) -> Batch:
        epoch = step // self.steps_per_epoch
        views = self.read_views(np.array_split(self.rows_of(step), self.world)[self.rank], epoch)
        together = [one for view in views for one in view]
        labels = None if self.masking == "none" else [one.labels for one in together]
        tokens = self.tokenizer.collate([one.ids for one in together], labels)
        return Batch(tokens, tuple(map(len, views)), self._known(together))

    def read_views(self, rows_B: np.ndarray, epoch: int) -> list[View]:
        """The views of these rows as the encoder reads them, including masked views."""
        views = self.views(rows_B, epoch)
        if self.masking == "first":
            views[0] = self._masked(views[:1], epoch)
        elif self.masking == "copies":
            views.append(self._masked(views, epoch))
        return views

    def _known(self, sequences: View) -> dict[str, torch.Tensor]:
        """Further data of each sequence; see cse.types.Encoded."""
        rows_B = np.array([one.row for one in sequences])
        columns_B = np.array([one.column for one in sequences])
        known = {"targets_B": self.text.targets_N[rows_B]} if self.text.scores else {}
        if self.text.missing_NC is not None:
            known["missing_B"] = self.text.missing_NC[rows_B, columns_B]
        if self.reads_rows:
            known["rows_B"] = rows_B
        if self.teacher is not None:
            known["teacher_BE"] = self.teacher(rows_B, columns_B)
        return {name: torch.from_numpy(value) for name, value in known.items()}

    def views(self, rows_B: np.ndarray, epoch: int) -> list[View]:
        """The views of these rows."""
        views = (self._of_ids if self.augmentation.level == "tokens" else self._of_texts)(rows_B, epoch)
        if self.tokenizer.templates:
            put = self.tokenizer.in_second_template
            views[1:] = [[one._replace(ids=put(one.ids)) for one in view] for view in views[1:]]
        return views

    def _of_ids(self, rows_B: np.ndarray, epoch: int) -> list[View]:
        """Views made from rows of ids. A row has one sequence."""
        cells = [self.text.ids_of(rows_B, column) for column in range(self.text.num_columns)]
        kept = self.num_views if self.augmentation.keeps_text else int(self.augmentation.keeps_first)
        views: list[View] = [[] for _ in self.columns]
        for number, (view, column) in enumerate(zip(views, self.columns, strict=True)):
            for row, ids in zip(rows_B.tolist(), cells[column], strict=True):
                as_it_is = number < kept or self.text.lacks(row, column)
                made = ids if as_it_is else self._augmented(ids, self._rng(epoch, row, number), column)
                view.append(Sequence(row, column, made))
        return views

    def _of_texts(self, rows_B: np.ndarray, epoch: int) -> list[View]:
        """Views made from texts. All texts of the batch are tokenised in one call."""
        views: list[list[tuple[int, str]]] = [[] for _ in self.columns]
        for row, made_of_row in self._texts(rows_B, epoch):
            for view, made in zip(views, made_of_row, strict=True):
                view += [(row, text) for text in made]
        texts = [self.tokenizer.of_column([text for _, text in views[v]], c) for v, c in enumerate(self.columns)]
        ids = iter(self.tokenizer.by_words(chain.from_iterable(texts), self.max_length))
        return [
            [Sequence(row, column, next(ids)) for row, _ in view]
            for view, column in zip(views, self.columns, strict=True)
        ]

    def check_texts(self) -> None:
        """Raise UserError if a view is empty in all of the first rows: one empty text may be chance, all are a mistake.
        Log a warning for truncated views."""
        rows = self.rows[:FIRST]
        made = [views for _, views in self._texts(rows, 0)]
        empty = [not "".join(chain.from_iterable(view)).strip() for view in zip(*made, strict=True)]
        missing = [all(self.text.lacks(row, column) for row in rows) for column in self.columns]
        if any(is_empty and not is_missing for is_empty, is_missing in zip(empty, missing, strict=True)):
            raise UserError(f"{class_name(type(self.augmentation))}.views left no text in any of {len(made)} rows")
        texts = [
            text
            for views in made
            for view, column in zip(views, self.columns, strict=True)
            for text in self.tokenizer.of_column(view, column)
        ]
        cut = sum(len(ids) > self.max_length for ids in self.tokenizer(texts, MANY))
        if cut:
            longest = self.max_length - self.tokenizer.template_length
            log.warning(
                "views      %d of the first %d are truncated to trainer.max_length=%d tokens", cut, len(texts), longest
            )

    def _texts(self, rows_B: np.ndarray, epoch: int) -> Iterator[tuple[int, list[list[str]]]]:
        """Each row with its views. A view is a list of texts."""
        cells = zip(*(self.text.texts_of(rows_B, column) for column in range(self.text.num_columns)), strict=True)
        for row, texts in zip(rows_B.tolist(), cells, strict=True):
            yield row, self._texts_of(row, texts, epoch)

    def _texts_of(self, row: int, cells: tuple[str, ...], epoch: int) -> list[list[str]]:
        """The views of one row. A view is a list of texts. cells: the row's text in each column."""
        augmentation = self.augmentation
        if len(cells) == 1:
            views = self._made(cells[0], self.num_views, self._rng(epoch, row, 0))
        else:
            views = [
                [cells[c]] if self.text.lacks(row, c) else self._made(cells[c], 1, self._rng(epoch, row, c))[0]
                for c in self.columns
            ]
        return [[cells[0]], *views[1:]] if augmentation.keeps_first else views

    def _made(self, text: str, count: int, rng: np.random.Generator) -> list[list[str]]:
        """The first `count` views that the augmentation makes from a text. A view is a list of texts."""
        made = self.augmentation.views(text, count, rng)
        views = [[view] if isinstance(view, str) else view for view in made[:count]] if isinstance(made, list) else []
        if len(views) < count or not all(map(are_texts, views)):
            asked = f"must return {count} views, each a text or a list of texts, not {made!r}"
            raise UserError(f"{class_name(type(self.augmentation))}.views {asked}")
        first, *others = map(len, views)
        positives = self.augmentation.positives
        if any(size != first * positives for size in others):
            sizes = ", ".join(map(str, (first, *others)))
            said = f"returned views of {sizes} texts, but its attribute positives is {positives}"
            raise UserError(f"{class_name(type(self.augmentation))}.views {said}")
        return views

    def _rng(self, epoch: int, row: int, view: int) -> np.random.Generator:
        return np.random.default_rng((self.seed, epoch, row, view))

    def _augmented(self, ids: np.ndarray, rng: np.random.Generator, column: int = 0) -> np.ndarray:
        """The augmented row of a column. A prefix (an instruction) and a template stay unchanged."""
        start, end = self.prefix_lengths[column], len(ids) - self.suffix_length
        given = np.concatenate([self.first[column], ids[start:end], self.last])
        made = self.augmentation.tokens(given, rng)
        says = f"{class_name(type(self.augmentation))}.tokens must"
        if not isinstance(made, np.ndarray) or made.ndim != 1 or made.dtype.kind not in "iu" or len(made) < 2:
            raise UserError(f"{says} return an array of ids (two or more), not {made!r:.80}")
        if (made[[0, -1]] != given[[0, -1]]).any():
            raise UserError(f"{says} keep the first and the last id, {given[0]} and {given[-1]}: {made!r:.80}")
        if made.min() < 0 or made.max() >= self.tokenizer.id_bound:
            raise UserError(f"{says} return ids below {self.tokenizer.id_bound:,}, the tokenizer's: {made!r:.80}")
        row = np.concatenate([ids[:start], made[len(self.first[column]) : len(made) - len(self.last)], ids[end:]])
        if self.tokenizer.room is not None and len(row) > self.tokenizer.room:
            raise UserError(f"{says} return a row that the encoder can read: {self.tokenizer.room} tokens at most")
        return row

    def _masked(self, views: list[View], epoch: int) -> View:
        """Masked copies of all sequences of these views, row after row. The draws of a row are one stream."""
        of_row: dict[int, View] = defaultdict(list)
        for one in (one for view in views for one in view):
            of_row[one.row].append(one)
        masked = []
        for row, sequences in of_row.items():
            rng = self._rng(epoch, row, MASKING_STREAM)
            for one in sequences:
                ids, labels = self.mask(one.ids, rng)
                masked.append(one._replace(ids=ids, labels=labels))
        return masked

    def _permutation(self, epoch: int) -> np.ndarray:
        if self._order[0] != epoch:
            order = self.rows[torch.randperm(len(self.rows), generator=seeded(self.seed, epoch)).numpy()]
            if self.keys_NC is not None:
                order = order[: self.batch_size * self.steps_per_epoch]
                order = apart(order, self.keys_NC[order], self.batch_size)
            self._order = (epoch, order)
        return self._order[1]


def are_texts(made: object) -> bool:
    """Whether an augmentation's view is a list of texts, one or more."""
    return isinstance(made, list) and made != [] and all(isinstance(one, str) for one in made)
