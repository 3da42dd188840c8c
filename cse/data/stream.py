"""Endless batches of images or sound. A batch depends only on the seed and the number of the batch."""

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Generic

import numpy as np
import torch
from torch.utils.data import Dataset

from cse.data.prefetch import B, prefetch
from cse.device import count_gpus, usable_cores
from cse.errors import UserError
from cse.needs import Part
from cse.tensors import seeded

MAX_WORKERS = 8


class Stream(Part, Dataset[B], Generic[B]):
    """A dataset of whole batches. A subclass makes the batch stream[number] from items_of(number).

    labels: the class of each item. where: the folder or dataset of the items, for messages. workers: the number of
    processes that make batches while a training step runs; None: one per core, at most MAX_WORKERS. inputs: digests of
    the items, see by_class. unreadable: how many items cannot be read. shuffle_labels: shuffle the classes among the
    items, with the seed. This is a control: the classes then carry no information. Raises UserError if there are fewer
    items than one batch has.
    """

    kind = "items"
    """The word for the items, in the plural."""

    def __init__(
        self,
        labels: np.ndarray,
        where: str,
        batch_size: int,
        workers: int | None,
        seed: int,
        *,
        inputs: dict[str, str],
        unreadable: int = 0,
        shuffle_labels: bool = False,
    ):
        self.check_size(labels, where, batch_size)
        if shuffle_labels:
            labels = labels[torch.randperm(len(labels), generator=seeded(seed, 2)).numpy()]
        self.labels, self.where, self.batch_size, self.seed = labels, where, batch_size, seed
        self.workers = min(MAX_WORKERS, usable_cores()) if workers is None else workers
        self.inputs, self.unreadable, self.shuffled = inputs, unreadable, shuffle_labels
        self.seconds_waited = 0.0  # how long `batches` has waited for a batch so far

    @classmethod
    def check_size(cls, labels: np.ndarray, where: str, batch_size: int) -> None:
        """Raise UserError if there are fewer items than one batch has."""
        if len(labels) < batch_size:
            one_class = (
                f". All its {cls.kind} have the same class: sort them into a folder for each class, or also give "
                "aux_modality.loss=simclr, which needs no classes"
            )
            raise UserError(
                f"{where} has {len(labels)} {cls.kind}, fewer than `batch_size`={batch_size}: add data, or lower "
                f"`batch_size` to {len(labels)} at most"
                + (one_class if len(np.unique(labels)) == 1 else "")  # the modality would refuse this next
            )

    def provenance(self) -> dict[str, object]:
        """Return facts about the items as JSON types. source: the name of the folder, or of the dataset on the hub."""
        return {
            "source": Path(self.where).absolute().name if Path(self.where).is_dir() else self.where,
            "kind": self.kind,
            "items": len(self) - self.unreadable,
            "classes": self.num_classes,
            "labels": "shuffled" if self.shuffled else "true",
            "digest": hashlib.sha256(json.dumps(self.inputs, sort_keys=True).encode()).hexdigest()[:16],
        }

    @property
    def num_classes(self) -> int:
        """Return the number of classes."""
        return len(np.unique(self.labels))

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.labels)

    def items_of(self, number: int) -> list[int]:
        """Return the item numbers of a batch. As in the authors' code, each epoch has a new order and full batches."""
        epoch, place = divmod(number, len(self) // self.batch_size)
        order = torch.randperm(len(self), generator=seeded(self.seed, 0, epoch))
        return order[place * self.batch_size :][: self.batch_size].tolist()

    @contextmanager
    def randomness(self, number: int) -> Iterator[None]:
        """Seed torch's CPU generator with (seed, number) in the block. torchvision and torchaudio use the generator."""
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.set_state(seeded(self.seed, 1, number).get_state())
            yield

    def batches(self, first: int, rank: int = 0, world: int = 1) -> Iterator[B]:
        """Yield the batches with the numbers (first + i) * world + rank for i = 0, 1, ... without end."""
        made = prefetch(self.__getitem__, count(first * world + rank, world), self.workers, count_gpus() > 0)
        while True:
            started = time.perf_counter()
            batch = next(made)
            self.seconds_waited += time.perf_counter() - started
            yield batch


def by_class(kind: str, files: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    """Return {"the KIND of CLASS": files' digest}, for resumed runs. files: (class, name, digest). kind: see Stream."""
    listed: dict[str, list[str]] = defaultdict(list)
    for name, *file in files:
        listed[f"the {kind} of {name}"].append(repr(file))
    return {name: hashlib.sha256("".join(lines).encode()).hexdigest()[:16] for name, lines in listed.items()}
