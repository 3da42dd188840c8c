"""Make the views of rows: the token ids that the encoder reads.

The augmentation makes the views from texts or from token ids, according to its `level`. The result of the augmentation
is checked here, because the augmentation may be a user's own. Every draw is keyed by (seed, epoch, row, view).
"""

import logging
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from cse.data.rows import TextRows
from cse.data.usable import fault
from cse.errors import UserError, class_name
from cse.model.tokenizer import Tokenizer
from cse.types import Augmentation

log = logging.getLogger(__name__)


class TokenRow(NamedTuple):
    """One row of a batch, before padding. row, column: the text's indices. ids: the token ids. labels: the id to
    predict at each position (-100: none); None if nothing is masked."""

    row: int
    column: int
    ids: np.ndarray
    labels: np.ndarray | None = None


View = list[TokenRow]
"""One view of the rows of a batch, in order. A row of text may have several token rows (DeCLUTR's spans)."""

Mask = Callable[[np.ndarray, np.random.Generator], tuple[np.ndarray, np.ndarray]]
"""(the token ids of one row, a random generator) -> (the ids, some of them masked; the labels)."""

CHECKED_ROWS = 16  # rows whose views are checked before any work
SAMPLED_ROWS = 10_000  # rows that are tokenised before any work: half a second
TEXTS_PER_CALL = 1000  # texts in one call of the tokenizer
MANY = 2**20  # more tokens than any view has
MASKING_STREAM = 2**31  # instead of the number of a view, so that masking shares no draws with the augmentation


class RowEnds(NamedTuple):
    """The special tokens and the prefix at the ends of a column's rows. An augmentation does not change these tokens.

    An augmentation gets the ids of the text with one token at each end, and keeps these two tokens. before, after: the
    number of further tokens at the start and at the end, which the augmentation does not get. first, last: [0]
    for an end without any token, where the augmentation gets the id 0; empty for an end with tokens.
    """

    before: int
    after: int
    first: np.ndarray
    last: np.ndarray

    @classmethod
    def of_lengths(cls, before: int, after: int) -> "RowEnds":
        """Return the ends of rows that have these numbers of tokens before and after the text."""
        first, last = np.zeros(int(before == 0), np.int32), np.zeros(int(after == 0), np.int32)
        return cls(max(0, before - 1), max(0, after - 1), first, last)

    @property
    def length(self) -> int:
        """Return the length of a row minus the number of ids that the augmentation gets."""
        return self.before + self.after - len(self.first) - len(self.last)

    def given(self, ids: np.ndarray) -> np.ndarray:
        """Return the ids that an augmentation gets for a row with these ids."""
        return np.concatenate([self.first, ids[self.before : len(ids) - self.after], self.last])

    def replaced(self, ids: np.ndarray, made: np.ndarray) -> np.ndarray:
        """Return the row's ids, in which the result `made` replaces the ids that the augmentation got."""
        inside = made[len(self.first) : len(made) - len(self.last)]
        return np.concatenate([ids[: self.before], inside, ids[len(ids) - self.after :]])


class Views:
    """The maker of the views of one text's rows.

    num_views, masking: see Objective. mask: not called if masking is "none". The attribute `column_of_view` has the
    column of each view, `lengths_nV` the number of tokens of each view, for a sample of n rows (see `sample_ids`).
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
        max_length: int,
        seed: int,
    ):
        self.text, self.tokenizer, self.augmentation = text, tokenizer, augmentation
        self.num_views, self.masking, self.mask = num_views, masking, mask
        self.max_length, self.seed = max_length, seed
        self.column_of_view = [0] * num_views if text.num_columns == 1 else list(range(num_views))
        before, after = [tokenizer.before_text(column) for column in range(text.num_columns)], tokenizer.after_text()
        self.ends_of_column = [RowEnds.of_lengths(length, after) for length in before]
        room = sys.maxsize if tokenizer.room is None else tokenizer.room
        augmentation.limit_length(room - max(ends.length for ends in self.ends_of_column))
        self.lengths_nV = np.zeros((0, num_views), np.int64)

    def of_rows(self, rows_B: np.ndarray, epoch: int) -> list[View]:
        """Return the views of these rows as the encoder reads them, including masked views."""
        views = self.unmasked(rows_B, epoch)
        if self.masking == "first":
            views[0] = self._masked(views[:1], epoch)
        elif self.masking == "copies":
            views.append(self._masked(views, epoch))
        return views

    def unmasked(self, rows_B: np.ndarray, epoch: int) -> list[View]:
        """Return the views of these rows before masking."""
        make = self._from_ids if self.augmentation.level == "tokens" else self._from_texts
        views = make(rows_B, epoch)
        if self.tokenizer.templates:
            put = self.tokenizer.in_second_template
            views[1:] = [[made._replace(ids=put(made.ids)) for made in view] for view in views[1:]]
        return views

    def check_texts(self, row_numbers: np.ndarray) -> None:
        """Raise UserError if a view lacks text in all of the first rows. (A single row without text may be chance.)
        Log a warning for truncated views. Called only for an augmentation of texts."""
        rows = row_numbers[:CHECKED_ROWS]
        views_of_row = [views for _, views in self._texts(rows, 0)]
        for number, column in enumerate(self.column_of_view):
            is_empty = not any(text.strip() for views in views_of_row for text in views[number])
            if is_empty and not all(self.text.lacks(row, column) for row in rows):
                why = f"left no text in any of {len(rows)} rows"
                raise UserError(f"{class_name(type(self.augmentation))}.views {why}")
        texts: list[str] = []
        for views in views_of_row:
            for view, column in zip(views, self.column_of_view, strict=True):
                texts += self.tokenizer.of_column(view, column)
        truncated = sum(len(ids) > self.max_length for ids in self.tokenizer(texts, MANY))
        if truncated:
            longest = self.max_length - self.tokenizer.template_length
            said = "views      of the first %d views, %d are truncated to trainer.max_length=%d tokens"
            log.warning(said, len(texts), truncated, longest)

    def sample_ids(self, row_numbers: np.ndarray) -> None:
        """Set `lengths_nV` from an evenly spaced sample of these rows. Log a warning for texts without any token of the
        vocabulary, such as emojis with an English vocabulary. Called only for an augmentation of ids."""
        rows_n = row_numbers[np.arange(count := min(len(row_numbers), SAMPLED_ROWS)) * len(row_numbers) // count]
        is_special = np.zeros(self.tokenizer.id_bound, bool)
        is_special[self.tokenizer.hf.all_special_ids] = True  # also the unknown token
        after = self.tokenizer.after_text()
        lengths: dict[int, list[int]] = {column: [] for column in self.column_of_view}
        unknown: set[int] = set()
        for column, lengths_n in lengths.items():
            before = self.tokenizer.before_text(column)
            for rows_b in np.array_split(rows_n, math.ceil(count / TEXTS_PER_CALL)):
                for row, ids in zip(rows_b.tolist(), self.ids_of(rows_b, column), strict=True):
                    lengths_n.append(len(ids))
                    if is_special[ids[before : len(ids) - after]].all() and not fault(self.text.text(row, column)):
                        unknown.add(row)  # texts with a fault are noted when they are read
        self.lengths_nV = np.array([lengths[column] for column in self.column_of_view]).T
        if unknown:
            counted = counted_in_words(len(unknown), count, len(row_numbers))
            said = f"data={self.text.name}: {counted} have a text without any token of the vocabulary"
            log.warning("%s, the first: row %d", said, self.text.number(min(unknown)))

    def ids_of(self, rows_B: np.ndarray, column: int) -> list[np.ndarray]:
        """Return an int32 array for each row: the token ids of its text in this column, truncated to max_length.

        The ids include special tokens. The arrays are read-only, because several views may share them.
        """
        texts = self.tokenizer.of_column(self.text.texts_of(rows_B, column), column)
        rows = self.tokenizer.by_words(texts, self.max_length)
        for ids in rows:
            ids.setflags(write=False)
        return rows

    def _from_ids(self, rows_B: np.ndarray, epoch: int) -> list[View]:
        """Return the views that are made from the rows' token ids. Each view has one token row for each row."""
        ids_of_column = {column: self.ids_of(rows_B, column) for column in set(self.column_of_view)}
        views: list[View] = [[] for _ in self.column_of_view]
        for number, (view, column) in enumerate(zip(views, self.column_of_view, strict=True)):
            unchanged = self.augmentation.keeps_text or (number == 0 and self.augmentation.keeps_first)
            for row, ids in zip(rows_B.tolist(), ids_of_column[column], strict=True):
                if unchanged or self.text.lacks(row, column):
                    view.append(TokenRow(row, column, ids))
                else:
                    view.append(TokenRow(row, column, self._augmented(ids, column, self._rng(epoch, row, number))))
        return views

    def _augmented(self, ids: np.ndarray, column: int, rng: np.random.Generator) -> np.ndarray:
        """Return the augmented ids of a row. A prefix (an instruction) and a template stay unchanged."""
        ends = self.ends_of_column[column]
        given = ends.given(ids)
        made = self.augmentation.tokens(given, rng)
        says, returned = f"{class_name(type(self.augmentation))}.tokens must", f"{made!r:.80}"
        if not isinstance(made, np.ndarray) or made.ndim != 1 or made.dtype.kind not in "iu" or len(made) < 2:
            raise UserError(
                f"{says} return a one-dimensional NumPy array of two or more integer ids, not "
                f"{type(made).__name__} {returned}"
            )
        if (made[[0, -1]] != given[[0, -1]]).any():
            raise UserError(f"{says} keep the first and the last id, {given[0]} and {given[-1]}, not return {returned}")
        if made.min() < 0 or made.max() >= self.tokenizer.id_bound:
            raise UserError(f"{says} return ids of the tokenizer, 0 to {self.tokenizer.id_bound - 1:,}, not {returned}")
        row = ends.replaced(ids, made)
        if self.tokenizer.room is not None and len(row) > self.tokenizer.room:
            raise UserError(f"{says} return a row that the encoder can read: {self.tokenizer.room} tokens at most")
        return row

    def _from_texts(self, rows_B: np.ndarray, epoch: int) -> list[View]:
        """Return the views that are made from texts. All texts of the batch are tokenised in one call."""
        views: list[list[tuple[int, str]]] = [[] for _ in self.column_of_view]
        for row, texts_of_view in self._texts(rows_B, epoch):
            for view, texts in zip(views, texts_of_view, strict=True):
                view += [(row, text) for text in texts]
        with_prefix: list[str] = []
        for view, column in zip(views, self.column_of_view, strict=True):
            with_prefix += self.tokenizer.of_column([text for _, text in view], column)
        ids = iter(self.tokenizer.by_words(with_prefix, self.max_length))
        return [
            [TokenRow(row, column, next(ids)) for row, _ in view]
            for view, column in zip(views, self.column_of_view, strict=True)
        ]

    def _texts(self, rows_B: np.ndarray, epoch: int) -> Iterator[tuple[int, list[list[str]]]]:
        """Yield (row number, views) for each row. A view is a list of texts."""
        cells = zip(*(self.text.texts_of(rows_B, column) for column in range(self.text.num_columns)), strict=True)
        for row, cells_of_row in zip(rows_B.tolist(), cells, strict=True):
            if len(cells_of_row) == 1:
                views = self._augmented_texts(cells_of_row[0], self.num_views, self._rng(epoch, row, 0))
            else:
                views = [self._of_cell(row, column, cells_of_row[column], epoch) for column in self.column_of_view]
            if self.augmentation.keeps_first:
                views[0] = [cells_of_row[0]]
            yield row, views

    def _of_cell(self, row: int, column: int, cell: str, epoch: int) -> list[str]:
        """Return the view of one cell."""
        if self.text.lacks(row, column):
            return [cell]
        return self._augmented_texts(cell, 1, self._rng(epoch, row, column))[0]

    def _augmented_texts(self, text: str, count: int, rng: np.random.Generator) -> list[list[str]]:
        """Return the first `count` views that the augmentation makes from a text. A view is a list of texts."""
        made = self.augmentation.views(text, count, rng)
        views: list[list[str]] = []
        if isinstance(made, list):
            views = [[view] if isinstance(view, str) else view for view in made[:count]]
        if len(views) < count or not all(map(are_texts, views)):
            asked = f"must return {count} views, each a text or a list of texts, not {made!r}"
            raise UserError(f"{class_name(type(self.augmentation))}.views {asked}")
        first, *others = map(len, views)
        positives = self.augmentation.positives
        if any(size != first * positives for size in others):
            sizes = ", ".join(map(str, (first, *others)))
            said = f"returned views of {sizes} texts, which do not fit the attribute positives={positives}"
            raise UserError(f"{class_name(type(self.augmentation))}.views {said}")
        return views

    def _masked(self, views: list[View], epoch: int) -> View:
        """Return masked copies of all token rows of these views, row after row. Each row has a generator of its own."""
        of_row: dict[int, View] = defaultdict(list)
        for view in views:
            for made in view:
                of_row[made.row].append(made)
        masked = []
        for row, token_rows in of_row.items():
            rng = self._rng(epoch, row, MASKING_STREAM)
            for made in token_rows:
                ids, labels = self.mask(made.ids, rng)
                masked.append(made._replace(ids=ids, labels=labels))
        return masked

    def _rng(self, epoch: int, row: int, view: int) -> np.random.Generator:
        return np.random.default_rng((self.seed, epoch, row, view))


def counted_in_words(found: int, count: int, of: int) -> str:
    """Return, as text, how many of `count` rows were found. If `of` is larger, they are a sample of `of` rows.

    >>> counted_in_words(2, 10_000, 1_000_000)
    '2 of 10,000 rows, a sample of 1,000,000,'
    """
    return f"{found:,} of {count:,} rows" + (f", a sample of {of:,}," if count < of else "")


def are_texts(made: object) -> bool:
    """Return whether an augmentation's view is a list of one or more texts."""
    return isinstance(made, list) and made != [] and all(isinstance(text, str) for text in made)
