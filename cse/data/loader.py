"""Make the batch of each step from the views of rows. A step has the same batch in every run with the same settings.

The order of the rows is a permutation keyed by (seed, epoch). So a batch depends neither on the number of workers or
processes, nor on the step at which a run was resumed.
"""

import logging
import math
import os
from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
import torch

from cse.data.duplicates import apart, text_keys
from cse.data.prefetch import prefetch
from cse.data.rows import TextRows, compact
from cse.data.views import View, Views
from cse.errors import UserError
from cse.tensors import seeded
from cse.types import Batch

log = logging.getLogger(__name__)

USUAL = 64  # the default of trainer.batch_size, for an error


class Vectors(Protocol):
    """A function that returns the vectors of the data's texts."""

    def __call__(self, rows_N: np.ndarray, columns_N: np.ndarray) -> np.ndarray:
        """Return the vectors of the texts in these rows and columns, (N, E) float32."""

    def inputs(self) -> dict[str, str]:
        """Return {name in messages: digest} for each input of these vectors."""


def check_even_split(batch_size: int, processes: int) -> None:
    """Raise UserError unless the processes can share a batch evenly."""
    if batch_size % processes:
        raise UserError(
            f"trainer.batch_size={batch_size} cannot be shared evenly among {processes} processes: give a multiple of "
            f"{processes}, or another number of processes (trainer.devices)"
        )


class BatchRows(NamedTuple):
    """The rows of this process's part of a batch. source: the name of the rows' text. epoch: the text's epoch."""

    rows_B: np.ndarray
    epoch: int
    source: str


class Steps:
    """The batches of a run, numbered by step from 0. Batches makes them from one text, MixedBatches from several."""

    steps_per_epoch: int
    seed: int

    @property
    def sources(self) -> dict[str, "Batches"]:
        """Return {name of a text: the batches of this text}."""
        raise NotImplementedError

    def provenance(self) -> dict[str, object]:
        """Return facts about the training data as JSON types; see TextRows.provenance."""
        raise NotImplementedError

    def inputs(self) -> dict[str, str]:
        """Return {name in messages: digest} for each input of the batches."""
        raise NotImplementedError

    def rows_of(self, step: int) -> BatchRows:
        """Return this process's rows of a step's batch."""
        raise NotImplementedError

    def batch_of(self, drawn: BatchRows) -> Batch:
        """Return the batch of these rows."""
        raise NotImplementedError

    def __getitem__(self, step: int) -> Batch:
        return self.batch_of(self.rows_of(step))

    def loader(self, first: int, last: int, workers: int, pin: bool) -> Iterator[Batch]:
        """Yield the batches of the steps first..last-1. `workers` processes (0: this process) make the batches.

        Only this process has the order of all rows. It sends a worker the rows of the worker's next batch.
        """
        if workers:  # the tokenizer's thread pool would not survive a fork
            os.environ["TOKENIZERS_PARALLELISM"] = "false"
        return prefetch(self.batch_of, map(self.rows_of, range(first, last)), workers, pin)


class Batches(Steps):
    """The batches of one text, numbered by step from 0.

    views: makes the views of each row. batch_size: the size of the global batch, which `world` processes share; `rank`
    is the number of this process. no_duplicates: put rows that share a text into different batches. min_rows,
    reads_rows: see Objective. teacher: computes teacher_BE. The attribute `row_numbers` has the usable rows' numbers.
    """

    def __init__(
        self,
        views: Views,
        *,
        batch_size: int,
        drop_last: bool,
        rank: int,
        world: int,
        no_duplicates: bool = False,
        min_rows: int = 2,
        reads_rows: bool = False,
        teacher: Vectors | None = None,
    ):
        self.views, self.seed = views, views.seed
        self.batch_size, self.rank, self.world = batch_size, rank, world
        self.reads_rows, self.teacher = reads_rows, teacher
        self.row_numbers = compact(views.augmentation.usable_rows(self.text))
        number = len(self.row_numbers)
        if batch_size > number:
            wrong = f"trainer.batch_size={batch_size} is larger than the data ({number} rows of data={self.text.name})"
            if number < 2:
                raise UserError(f"{wrong}: give more text")
            usual = min(USUAL, max(2, number // 2))
            raise UserError(
                f"{wrong}: give more text, or a smaller batch, such as trainer.batch_size={usual}; an epoch then has "
                f"{number // usual} batches, and trainer.epochs=N trains for more epochs"
            )
        check_even_split(batch_size, world)
        fewest = math.ceil(max(2 * world, min_rows) / world) * world  # a process with one row has no negatives
        self.fewest = min(fewest, batch_size)
        full, rest = divmod(number, batch_size)
        self.steps_per_epoch = full if drop_last or rest < max(2, min_rows) else full + 1
        if rest and not drop_last and self.steps_per_epoch == full:
            log.info("rows       left out at the end of each epoch: %d; a batch needs %d rows", rest, max(2, min_rows))
        self.keys_NC = text_keys(self.text) if no_duplicates else None
        self._order: tuple[int, np.ndarray] = (-1, np.empty(0, np.int64))

    @property
    def text(self) -> TextRows:
        """Return the rows that the views are made from."""
        return self.views.text

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

    def rows_of(self, step: int) -> BatchRows:
        """See Steps."""
        rows_B = np.array_split(self.row_numbers_of(step), self.world)[self.rank]
        return BatchRows(rows_B, step // self.steps_per_epoch, self.text.name)

    def batch_of(self, drawn: BatchRows) -> Batch:
        """See Steps."""
        views = self.views.of_rows(drawn.rows_B, drawn.epoch)
        together = [made for view in views for made in view]
        labels = None if self.views.masking == "none" else [made.labels for made in together]
        tokens = self.views.tokenizer.collate([made.ids for made in together], labels)
        return Batch(tokens, tuple(map(len, views)), self._known(together))

    def row_numbers_of(self, step: int) -> np.ndarray:
        """Return the row numbers of a step's global batch. The last batch of an epoch may be smaller.

        The processes share the last batch evenly, so its length is a multiple of their number. If this length is too
        small, earlier rows of the epoch are added. Each process needs two rows, and all processes together need
        min_rows, but never more than batch_size rows. So a run has the same number of steps on any number of processes.
        """
        epoch, place = divmod(step, self.steps_per_epoch)
        order = self._permutation(epoch)
        rows = order[place * self.batch_size : (place + 1) * self.batch_size]
        if len(rows) // self.world * self.world < self.fewest:
            rows = order[-self.fewest :]
        return rows[: len(rows) // self.world * self.world].astype(np.int64)

    def _permutation(self, epoch: int) -> np.ndarray:
        """Return the row numbers of an epoch, in order. The order of the last requested epoch stays in memory."""
        if self._order[0] != epoch:
            dtype = torch.from_numpy(self.row_numbers[:0]).dtype
            shuffled = torch.randperm(len(self.row_numbers), generator=seeded(self.seed, epoch), dtype=dtype).numpy()
            order = self.row_numbers[shuffled]
            if self.keys_NC is not None:
                order = order[: self.batch_size * self.steps_per_epoch]
                order = apart(order, self.keys_NC[order], self.batch_size)
            self._order = (epoch, order)
        return self._order[1]

    def _known(self, together: View) -> dict[str, torch.Tensor]:
        """Return further data of the batch's rows, {name: tensor}; see cse.types.Encoded."""
        rows_B = np.array([made.row for made in together])
        columns_B = np.array([made.column for made in together])
        known = {"targets_B": self.text.targets_N[rows_B]} if self.text.scores else {}
        if self.text.missing_NC is not None:
            known["missing_B"] = self.text.missing_NC[rows_B, columns_B]
        if self.reads_rows:
            known["rows_B"] = rows_B
        if self.teacher is not None:
            known["teacher_BE"] = self.teacher(rows_B, columns_B)
        return {name: torch.from_numpy(value) for name, value in known.items()}
