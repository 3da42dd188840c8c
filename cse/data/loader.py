"""From rows of text to the batch of views of each step, which is always the same.

The order is a permutation keyed by (seed, epoch), and every draw of an augmentation is keyed by (seed, epoch, row,
view): nothing depends on the number of workers or processes, or on where a run was resumed.
"""

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch.utils.data import Dataset

from cse.data.prefetch import prefetch
from cse.data.streams import streams
from cse.data.text import Text
from cse.errors import UserError
from cse.tensors import seeded
from cse.types import Augmentation, Batch, TextTokenizer


class Sequence(NamedTuple):
    """The ids of one row of a view, the column of text they come from, and the id to predict at each position (-100:
    none), or None if nothing is masked."""

    ids: np.ndarray
    column: int
    labels: np.ndarray | None = None


class Vectors(Protocol):
    """A vector for every text of the data."""

    def __call__(self, rows_N: np.ndarray, columns_N: np.ndarray) -> np.ndarray:
        """(N, E) float32: the vectors of the texts in these rows and columns."""

    def inputs(self) -> dict[str, str]:
        """Digests of what the vectors were made from, each under its name for messages."""


Mask = Callable[[np.ndarray, np.random.Generator], tuple[np.ndarray, np.ndarray]]
"""One row's ids -> (ids with some hidden, labels)."""

View = list[list[np.ndarray]]
"""A view of a batch: for each row its sequences of ids."""

MASKING_STREAM = 2**31  # stands for a view's number, so that masking shares no draws with the augmentation


def check_even_split(batch_size: int, processes: int) -> None:
    """Raise UserError unless the processes can share a batch evenly."""
    if batch_size % processes:
        raise UserError(
            f"trainer.batch_size={batch_size} cannot be shared evenly among {processes} processes: choose one that "
            "their number (trainer.devices) divides"
        )


class Batches(Dataset[Batch]):
    """The batches of a whole run, numbered by step from 0.

    text: prepared, and tokenised if the augmentation works on tokens. num_views, masking, reads: the objective's. mask:
    not called if masking is "none". batch_size: rows of the global batch, of which this process makes part `rank` of
    `world`. before_text, after_text: how many ids at each end of a row are not its text's (a special token, a prefix, a
    template). retemplate: applied last, to the ids of all views but the first. teacher: gives teacher_BE. The attribute
    `rows` has the numbers of the rows to train on.
    """

    def __init__(
        self,
        text: Text,
        tokenizer: TextTokenizer,
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
        before_text: int = 1,
        after_text: int = 1,
        retemplate: Callable[[np.ndarray], np.ndarray] | None = None,
        reads: tuple[str, ...] = (),
        teacher: Vectors | None = None,
    ):
        self.text, self.tokenizer, self.augmentation = text, tokenizer, augmentation
        self.num_views, self.masking, self.mask = num_views, masking, mask
        self.batch_size, self.max_length, self.seed = batch_size, max_length, seed
        self.rank, self.world, self.reads, self.teacher = rank, world, reads, teacher
        self.prefix_length = max(0, before_text - 1)  # an augmentation itself keeps one token at each end
        self.suffix_length, self.retemplate = max(0, after_text - 1), retemplate
        self.columns = [0] * num_views if text.num_columns == 1 else list(range(num_views))  # the column of each view
        self.rows = augmentation.usable_rows(text)
        if batch_size > len(self.rows):
            raise UserError(
                f"trainer.batch_size={batch_size} is larger than the data ({len(self.rows)} rows of data={text.name}): "
                f"give more text, or trainer.batch_size={len(self.rows)} at most"
            )
        check_even_split(batch_size, world)
        full, rest = divmod(len(self.rows), batch_size)
        self.steps_per_epoch = full if drop_last or rest < 2 * world else full + 1  # one row has no negatives
        self._order: tuple[int, np.ndarray] = (-1, np.empty(0, np.int64))

    def rows_of(self, step: int) -> np.ndarray:
        """The rows of a global batch."""
        epoch, place = divmod(step, self.steps_per_epoch)
        rows = self._permutation(epoch)[place * self.batch_size : (place + 1) * self.batch_size]
        return rows[: len(rows) // self.world * self.world]

    def __getitem__(self, step: int) -> Batch:
        epoch = step // self.steps_per_epoch
        rows = np.array_split(self.rows_of(step), self.world)[self.rank]
        views, numbers = self._masked(rows, epoch), rows.tolist()
        together = [(row, one) for view in views for row, ones in zip(numbers, view, strict=True) for one in ones]
        labels = None if self.masking == "none" else [one.labels for _, one in together]
        tokens = self.tokenizer.collate([one.ids for _, one in together], labels)
        return Batch(tokens, tuple(sum(map(len, view)) for view in views), self._known(together))

    def _known(self, sequences: list[tuple[int, Sequence]]) -> dict[str, torch.Tensor]:
        """What the objective reads of each (row, sequence), by its field in Encoded."""
        rows_B = np.array([row for row, _ in sequences])
        known = {"rows_B": rows_B} if "rows_B" in self.reads else {}
        if "targets_B" in self.reads:
            known["targets_B"] = self.text.targets_N[rows_B]
        if self.teacher is not None:
            known["teacher_BE"] = self.teacher(rows_B, np.array([one.column for _, one in sequences]))
        return {name: torch.from_numpy(value) for name, value in known.items()}

    def views(self, rows_B: np.ndarray, epoch: int) -> list[View]:
        """The views of these rows; a view has a list of sequences for each row (a sentence, or DeCLUTR's spans)."""
        make = self._of_tokens if self.augmentation.level == "tokens" else self._of_texts
        first, *others = make(rows_B, epoch)
        if self.retemplate is not None:
            others = [[[self.retemplate(ids) for ids in row] for row in view] for view in others]
        return [first, *others]

    def _of_tokens(self, rows_B: np.ndarray, epoch: int) -> list[View]:
        column = {c: self.text.ids_of(rows_B, c) for c in set(self.columns)}
        plain = [column[c] for c in self.columns]
        if self.augmentation.keeps_text:  # nothing is drawn
            return [[[ids] for ids in view] for view in plain]
        kept = int(self.augmentation.keeps_first)
        drawn = streams(self.seed, epoch, rows_B, range(kept, self.num_views))
        views = zip(plain[kept:], drawn, strict=True)
        changed = [[[self._augmented(*one)] for one in zip(*view, strict=True)] for view in views]
        return [[[ids] for ids in view] for view in plain[:kept]] + changed

    def _of_texts(self, rows_B: np.ndarray, epoch: int) -> list[View]:
        """The views of texts; all texts of the batch are tokenised in one call."""
        texts = [self.text.texts_of(rows_B, c) for c in range(self.text.num_columns)]
        if self.text.num_columns == 1:
            [rngs] = streams(self.seed, epoch, rows_B, [0])
            rows = [self.augmentation.views(t, self.num_views, rng) for t, rng in zip(texts[0], rngs, strict=True)]
            views = [list(view) for view in zip(*rows, strict=True)][: self.num_views]
        else:
            drawn = streams(self.seed, epoch, rows_B, self.columns)
            pairs = (zip(texts[c], rngs, strict=True) for c, rngs in zip(self.columns, drawn, strict=True))
            views = [[self.augmentation.views(text, 1, rng)[0] for text, rng in column] for column in pairs]
        if self.augmentation.keeps_first:
            views[0] = [*texts[0]]
        spelled = [[[view] if isinstance(view, str) else view for view in rows] for rows in views]
        ids = iter(self.tokenizer.by_words([text for view in spelled for row in view for text in row], self.max_length))
        return [[[next(ids) for _ in row] for row in view] for view in spelled]

    def _augmented(self, ids: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The augmented row; a prefix (an instruction) and a template stay as they are."""
        if not self.prefix_length and not self.suffix_length:
            return self.augmentation.tokens(ids, rng)
        start, end = self.prefix_length, len(ids) - self.suffix_length
        return np.concatenate([ids[:start], self.augmentation.tokens(ids[start:end], rng), ids[end:]])

    def loader(self, first: int, last: int, workers: int, pin: bool) -> Iterator[Batch]:
        """The batches of steps first..last-1, made ahead by `workers` processes (0: by this one)."""
        if workers:  # the tokenizer's thread pool would not survive a fork
            os.environ["TOKENIZERS_PARALLELISM"] = "false"
        return prefetch(self, range(first, last), workers, pin)

    def _masked(self, rows_B: np.ndarray, epoch: int) -> list[list[list[Sequence]]]:
        """The views of these rows, with labels for the masked ones."""
        views = zip(self.columns, self.views(rows_B, epoch), strict=True)
        plain = [[[Sequence(ids, c) for ids in sequences] for sequences in view] for c, view in views]
        if self.masking == "none":
            return plain
        [rngs] = streams(self.seed, epoch, rows_B, [MASKING_STREAM])

        def masked(one: Sequence, rng: np.random.Generator) -> Sequence:
            ids, labels = self.mask(one.ids, rng)
            return Sequence(ids, one.column, labels)

        if self.masking == "first":
            first = [[masked(one, rng) for one in row] for row, rng in zip(plain[0], rngs, strict=True)]
            return [first, *plain[1:]]
        rows = zip(*plain, rngs, strict=True)
        return [*plain, [[masked(one, rng) for view in row for one in view] for *row, rng in rows]]

    def _permutation(self, epoch: int) -> np.ndarray:
        if self._order[0] != epoch:
            order = torch.randperm(len(self.rows), generator=seeded(self.seed, epoch)).numpy()
            self._order = (epoch, self.rows[order])
        return self._order[1]
