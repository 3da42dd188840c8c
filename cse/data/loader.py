"""From rows of text to each step's batch of views. A step's batch is always the same.

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
from cse.data.text import Text
from cse.errors import UserError
from cse.tensors import seeded
from cse.types import Augmentation, Batch, TextTokenizer


class Sequence(NamedTuple):
    """The ids of one row of a view, the column of the text that they come from, and per position the id to predict
    (-100: none), or None where nothing is masked."""

    ids: np.ndarray
    column: int
    labels: np.ndarray | None = None


class Vectors(Protocol):
    """A vector for every text of the data."""

    def __call__(self, rows_N: np.ndarray, columns_N: np.ndarray) -> np.ndarray:
        """(N, E) float32: those of the texts in these rows and columns."""

    def inputs(self) -> dict[str, str]:
        """Digests of what made them, by the name to say of each."""


Mask = Callable[[np.ndarray, np.random.Generator], tuple[np.ndarray, np.ndarray]]
"""One row's ids -> (ids with some hidden, labels)."""

MASKING_STREAM = 2**31  # in place of a view's number, so that masking shares no draws with the augmentation


def check_even_split(batch_size: int, processes: int) -> None:
    """Raise UserError for a batch that the processes cannot share evenly."""
    if batch_size % processes:
        raise UserError(
            f"trainer.batch_size={batch_size} cannot be shared evenly among {processes} processes: choose one that "
            "their number (trainer.devices) divides"
        )


class Batches(Dataset[Batch]):
    """The batches of a whole run, numbered by step from 0.

    text: prepared, and tokenised if the augmentation is one of tokens. num_views, masking: the objective's. mask: None
    where masking is "none". batch_size: rows of the global batch, of which this process makes part `rank` of `world`.
    before_text: ids at the start of a row that are not its text's (a special token, a prefix). reads: the objective's.
    teacher: gives teacher_BE. Its attribute `rows` has the numbers of the rows to train on.
    """

    def __init__(
        self,
        text: Text,
        tokenizer: TextTokenizer,
        augmentation: Augmentation,
        *,
        num_views: int,
        masking: str,
        mask: Mask | None,
        batch_size: int,
        max_length: int,
        drop_last: bool,
        seed: int,
        rank: int,
        world: int,
        before_text: int = 1,
        reads: tuple[str, ...] = (),
        teacher: Vectors | None = None,
    ):
        self.text, self.tokenizer, self.augmentation = text, tokenizer, augmentation
        self.num_views, self.masking, self.mask = num_views, masking, mask
        self.batch_size, self.max_length, self.seed = batch_size, max_length, seed
        self.rank, self.world, self.reads, self.teacher = rank, world, reads, teacher
        self.prefix_length = max(0, before_text - 1)  # an augmentation itself keeps one token at the start
        self.columns = [0] * num_views if text.num_columns == 1 else list(range(num_views))  # of each view
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
        views: list[list[tuple[int, Sequence]]] = [[] for _ in range(self.num_views + (self.masking == "copies"))]
        for row in rows:
            for view, sequences in zip(views, self._masked(int(row), epoch), strict=True):
                view += [(int(row), one) for one in sequences]
        together = [pair for view in views for pair in view]
        labels = None if self.masking == "none" else [one.labels for _, one in together]
        tokens = self.tokenizer.collate([one.ids for _, one in together], labels)
        return Batch(tokens, tuple(map(len, views)), self._known(together))

    def _known(self, sequences: list[tuple[int, Sequence]]) -> dict[str, torch.Tensor]:
        """What the objective reads of each (row, sequence), by its field in Encoded."""
        rows_B = np.array([row for row, _ in sequences])
        known = {"rows_B": rows_B} if "rows_B" in self.reads else {}
        if "targets_B" in self.reads:
            known["targets_B"] = self.text.targets_N[rows_B]
        if self.teacher is not None:
            known["teacher_BE"] = self.teacher(rows_B, np.array([one.column for _, one in sequences]))
        return {name: torch.from_numpy(value) for name, value in known.items()}

    def views(self, row: int, epoch: int) -> list[list[np.ndarray]]:
        """The views of one row, each a list of id sequences (one sentence, or DeCLUTR's spans)."""
        streams = [np.random.default_rng((self.seed, epoch, row, view)) for view in range(self.num_views)]
        if self.augmentation.level == "tokens":
            whole = [np.asarray(self.text.ids(row, c)) for c in self.columns]
            views = [self._augmented(ids, rng) for ids, rng in zip(whole, streams, strict=True)]
            if self.augmentation.keeps_first:
                views[0] = whole[0]
            return [[ids] for ids in views]
        if self.text.num_columns == 1:
            made = self.augmentation.views(self.text.text(row), self.num_views, streams[0])
        else:
            pairs = zip(self.columns, streams, strict=True)
            made = [self.augmentation.views(self.text.text(row, c), 1, rng)[0] for c, rng in pairs]
        if self.augmentation.keeps_first:
            made[0] = self.text.text(row)
        texts = [[view] if isinstance(view, str) else view for view in made[: self.num_views]]
        return [self.tokenizer(view, self.max_length) for view in texts]

    def _augmented(self, ids: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The row after the augmentation, which leaves a prefix (an instruction) as it is."""
        return np.concatenate([ids[: self.prefix_length], self.augmentation.tokens(ids[self.prefix_length :], rng)])

    def loader(self, first: int, last: int, workers: int, pin: bool) -> Iterator[Batch]:
        """Batches of steps first..last-1, made ahead by `workers` processes (0: in this one)."""
        if workers:  # the tokenizer's thread pool does not survive a fork
            os.environ["TOKENIZERS_PARALLELISM"] = "false"
        return prefetch(self, range(first, last), workers, pin)

    def _masked(self, row: int, epoch: int) -> list[list[Sequence]]:
        """The views of one row, with labels where they are masked."""
        views = self.views(row, epoch)
        plain = [[Sequence(ids, c) for ids in view] for c, view in zip(self.columns, views, strict=True)]
        if self.masking == "none" or self.mask is None:
            return plain
        rng, mask = np.random.default_rng((self.seed, epoch, row, MASKING_STREAM)), self.mask

        def masked(one: Sequence) -> Sequence:
            ids, labels = mask(one.ids, rng)
            return Sequence(ids, one.column, labels)

        if self.masking == "first":
            return [[masked(one) for one in plain[0]], *plain[1:]]
        return [*plain, [masked(one) for view in plain for one in view]]

    def _permutation(self, epoch: int) -> np.ndarray:
        if self._order[0] != epoch:
            order = torch.randperm(len(self.rows), generator=seeded(self.seed, epoch)).numpy()
            self._order = (epoch, self.rows[order])
        return self._order[1]
