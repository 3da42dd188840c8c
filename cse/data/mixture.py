"""A mixture of several texts in one run. Each text is a source with its own columns. A batch is from one source.

Source has the settings of one source, which may have an objective of its own. Mixture has the settings of all sources.
MixedBatches decides which source gives the next batch.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from annotated_types import MinLen

from cse.data.loader import Batches, BatchRows, Steps
from cse.data.text import Text, key_of_parts
from cse.errors import UserError
from cse.needs import Part
from cse.ranges import Cache, Mark, Name, Natural, Positive
from cse.sources.catalogue import DATASETS
from cse.tensors import seeded
from cse.types import Batch, Objective

ORDER_STREAM = 3  # cse.training.update and cse.data.stream use 0, 1 and 2: the order of sources has draws of its own


class Source(Text):
    """A text of a mixture. Its name, its cache and its preview come from the mixture.

    objective: makes the source's own objective from the encoder's width; None: the source uses the run's objective.
    settings: the other settings of Text.
    """

    def __init__(self, objective: Callable[[int], Objective] | None = None, **settings):
        super().__init__(name="source", cache_dir="", **settings)
        self.objective = objective


class Mixture(Part):
    """The settings of a mixture. conf/data/mixture.yaml explains the settings. cse.lab.run reads `preview`.

    Raises UserError for a weight without a source, a source without a weight, and a source with the name of a corpus.
    """

    def __init__(
        self,
        name: Name,
        sources: Annotated[dict[str, Text], MinLen(1)],
        weights: dict[str, Positive] | None,
        cache_dir: Cache,
        preview: Annotated[Natural, Mark.LOGGING, Mark.ONCE] = 0,
    ):
        if weights is not None and weights.keys() != sources.keys():
            raise UserError(f"`weights` has {', '.join(weights)}: it needs a number for each of {', '.join(sources)}")
        for source in sources:
            if source in DATASETS:
                raise UserError(f"`sources`.{source}: a published corpus has this name: give the source another name")
        self.name, self.weights = name, weights
        self.sources = {source: text.named(source, Path(cache_dir)) for source, text in sources.items()}


class MixedBatches(Steps):
    """The batches of several sources. Each epoch has its own order of sources, keyed by (seed, epoch).

    Without weights an epoch of the run contains one epoch of each source. Weights do not change the length of the run's
    epoch, but divide the epoch's batches among the sources. A source's next epoch then begins earlier or later than the
    run's next epoch. The order depends neither on the number of workers or processes, nor on the step of a resume.

    The attribute `names` has the names of the sources, `batches` the batches of each source, and `shares` the number of
    batches of each source in an epoch of the run. Raises UserError for a weight that gives a source no batch.
    """

    def __init__(self, sources: dict[str, Batches], weights: Mapping[str, float] | None = None):
        self.names, self.batches = list(sources), list(sources.values())
        self.seed = self.batches[0].seed
        self.shares = np.array([batches.steps_per_epoch for batches in self.batches])
        self.steps_per_epoch = int(self.shares.sum())
        if weights is not None:
            self.shares = shares_by_weight([weights[name] for name in self.names], self.steps_per_epoch)
            for name, share in zip(self.names, self.shares, strict=True):
                if share == 0:
                    none = f"none of {self.steps_per_epoch} batches: raise this weight"
                    raise UserError(f"data.weights.{name}={weights[name]:g} gives this source {none}")
        self._order: tuple[int, np.ndarray] = (-1, np.empty(0, np.int64))

    @property
    def sources(self) -> dict[str, Batches]:
        """See Steps."""
        return dict(zip(self.names, self.batches, strict=True))

    def place_of(self, step: int) -> tuple[int, int]:
        """Return (index of the source that gives this step's batch, index of the batch among the source's batches)."""
        epoch, place = divmod(step, self.steps_per_epoch)
        order = self._order_of(epoch)
        source = int(order[place])
        return source, int(epoch * self.shares[source] + (order[:place] == source).sum())

    def rows_of(self, step: int) -> BatchRows:
        """See Steps."""
        source, number = self.place_of(step)
        return self.batches[source].rows_of(number)._replace(source=self.names[source])

    def batch_of(self, drawn: BatchRows) -> Batch:
        """See Steps."""
        return replace(self.sources[drawn.source].batch_of(drawn), source=drawn.source)

    def provenance(self) -> dict[str, object]:
        """See Steps. The result is about all sources together; its key "sources" has the provenance of each source."""
        texts = [batches.text for batches in self.batches]
        return {
            "name": "mixture",
            "rows": sum(map(len, texts)),
            "left_out": sum(text.left_out for text in texts),
            "digest": key_of_parts(*(text.digest for text in texts)),
            "sha256": {file: digest for text in texts for file, digest in text.checksums.items()},
            "sources": {name: text.provenance() for name, text in zip(self.names, texts, strict=True)},
        }

    def inputs(self) -> dict[str, str]:
        """See Steps."""
        return {name: digest for batches in self.batches for name, digest in batches.inputs().items()}

    def _order_of(self, epoch: int) -> np.ndarray:
        """Return the index of the source that gives each batch of an epoch, (steps_per_epoch,)."""
        if self._order[0] != epoch:
            in_turn = np.repeat(np.arange(len(self.shares)), self.shares)
            shuffled = torch.randperm(len(in_turn), generator=seeded(self.seed, ORDER_STREAM, epoch)).numpy()
            self._order = (epoch, in_turn[shuffled])
        return self._order[1]


def shares_by_weight(weights: Sequence[float], batches: int) -> np.ndarray:
    """Return the number of batches for each weight. The sum of the numbers is exactly `batches`.

    >>> shares_by_weight([1, 3], 8).tolist()
    [2, 6]
    """
    ends = np.cumsum(weights)
    return np.diff(np.rint(ends / ends[-1] * batches).astype(int), prepend=0)
