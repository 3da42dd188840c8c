"""The time and memory that a run will take on this machine, from about half a second of its own steps.

    a step       making its batch + a + b * tokens, a and b from two parts of the first batches
    scores       the texts that the evaluators ask for, by the time of some batches of them, from short to long
    memory       what is held once the optimizer has its moments, plus the largest of: the tensors that a step keeps for
                 its backward pass (c + d * tokens), the gradients, and on a CPU a checkpoint's copies. On a CPU also
                 the allocator's fragmentation, and what is loaded at the end (plots, the best encoder)

Measuring changes the weights: the Training is of no use afterwards.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from statistics import fmean

import numpy as np
import torch
from torch import Tensor

from cse.errors import UserError
from cse.model.encoder import TEXTS
from cse.training import memory
from cse.training.loop import Training
from cse.types import Batch, Tokens

BUDGET = 0.5  # seconds of measured steps, and again of encoding
FRAGMENTATION, LOADED_LATER = 1.4, 0.3 * 2**30  # on a CPU: measured on runs of simcse and barlow with MiniLM
PLACES = (0, 1, 1 / 2, 1 / 4, 3 / 4, 1 / 8, 3 / 8, 5 / 8, 7 / 8)  # of the batches that are timed, from short to long
BATCHES = 3  # whose tokens are counted
SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2)  # of a batch: the smallest that the objective takes is measured first


@dataclass(frozen=True)
class Forecast:
    """step, dev_score, last_scores (the texts that dev has not): seconds; dev_scores: how many. memory: bytes.

    rows, of: what was measured of a batch.
    """

    step: float
    dev_score: float
    last_scores: float
    dev_scores: int
    memory: int
    rows: int
    of: int


def forecast(training: Training) -> Forecast:
    """Measure a Training that has not been started, in one process. It cannot be used afterwards."""
    started = time.perf_counter()
    number = min(BATCHES, training.parts.batches.steps_per_epoch)
    batches = [training.parts.batches[step] for step in range(number)]
    making = (time.perf_counter() - started) / number
    tokens = sum(map(tokens_of, batches)) / number
    probe = Probe(training, batches)
    small = probe.smallest()
    small_share = probe.share(small)
    kept = [(tokens_of(part), probe.kept(part)) for part in (small, probe.part(min(1.0, 2 * small_share)))]
    small_seconds = probe.seconds(small)
    large_share = min(1.0, max(2 * small_share, small_share * BUDGET / small_seconds))
    large = probe.part(large_share)
    repeats = max(1, min(number, int(BUDGET / (small_seconds * large_share / small_share))))
    large_seconds = fmean(probe.seconds(large) for _ in range(repeats))
    timed = [(tokens_of(small), small_seconds), (tokens_of(large), large_seconds)]
    weights, grown = probe.weights(), extrapolated(kept, tokens)
    if training.accelerator.device.type == "cpu":
        grown = FRAGMENTATION * max(grown, 3 * weights) + LOADED_LATER
    waited = 0.0 if training.trainer.workers else making * training.trainer.accumulate
    dev_score, last_scores = scoring_seconds(training)
    return Forecast(
        step=waited + extrapolated(timed, tokens),
        dev_score=dev_score,
        last_scores=last_scores,
        dev_scores=len({*range(0, training.steps, training.trainer.eval_every), training.steps}),
        memory=int(memory.held(training.accelerator.device) + max(grown, weights)),
        rows=large.sizes[0],
        of=batches[0].sizes[0],
    )


class Probe:
    """Makes updates on parts of some batches, and measures them."""

    def __init__(self, training: Training, batches: list[Batch]):
        self.training, self.batches, self.count = training, batches, 0
        self.aux_batches = training.aux_batches()
        training.update.text_encoder = training.parts.encoder  # not compiled: that takes minutes

    def smallest(self) -> Batch:
        """The smallest part that the objective takes, after one step on it: the optimizer then has its moments."""
        for share in SHARES:
            part = self.part(share)
            if part.sizes[0] >= max(2, self.training.parts.objective.min_rows):
                try:
                    self.seconds(part)
                    return part
                except UserError:  # too few rows for a statistic of a batch
                    continue
        self.seconds(self.batches[0])
        return self.batches[0]

    def part(self, share: float) -> Batch:
        """A batch of that share of the next one's rows, the same rows of every view."""
        batch = self.batches[self.count % len(self.batches)]
        self.count += 1
        anchors = max(1, round(share * batch.sizes[0]))
        sizes = tuple(anchors * size // batch.sizes[0] for size in batch.sizes)
        starts = np.cumsum([0, *batch.sizes[:-1]])
        rows_b = torch.cat([torch.arange(start, start + size) for start, size in zip(starts, sizes, strict=True)])
        whole = batch.tokens
        labels = None if whole.labels_BT is None else whole.labels_BT[rows_b]
        return Batch(Tokens(whole.ids_BT[rows_b], whole.mask_BT[rows_b], labels), sizes)

    def share(self, part: Batch) -> float:
        """The share of a batch that a part is."""
        return part.sizes[0] / self.batches[0].sizes[0]

    def seconds(self, part: Batch) -> float:
        """The seconds of one update on a part."""
        started = time.perf_counter()
        metrics, _ = self.training.update(0, repeat(part), self.aux_batches)
        float(metrics["loss"])  # waits for a GPU
        return time.perf_counter() - started

    def kept(self, part: Batch) -> int:
        """The largest number of bytes that one update on a part keeps for its backward pass."""
        with kept_tensors({p.untyped_storage().data_ptr() for p in self.parameters()}) as kept:
            self.seconds(part)
        return kept.peak

    def weights(self) -> int:
        """The size of the trained parameters, in bytes."""
        return sum(p.numel() * p.element_size() for p in self.parameters() if p.requires_grad)

    def parameters(self) -> Iterator[Tensor]:
        """All parameters of the run, each once."""
        seen = {p for module in self.training.modules.values() for p in module.parameters()}
        return iter(seen)


class Kept:
    """Bytes of the storages that autograd keeps, now and at the peak."""

    def __init__(self) -> None:
        self.users: dict[int, int] = {}
        self.now = self.peak = 0

    def count(self, storage: int, size: int, change: int) -> None:
        """One user more (1) or fewer (-1) of a storage."""
        before = self.users.get(storage, 0)
        self.users[storage] = before + change
        if 0 in (before, before + change):
            self.now += change * size
        self.peak = max(self.peak, self.now)


class Held:
    """One tensor that autograd keeps; its storage is counted until it is let go."""

    def __init__(self, tensor: Tensor, kept: Kept):
        self.tensor, self.kept = tensor, kept
        storage = tensor.untyped_storage()
        self.place, self.size = storage.data_ptr(), storage.nbytes()
        kept.count(self.place, self.size, 1)

    def __del__(self) -> None:
        self.kept.count(self.place, self.size, -1)


@contextmanager
def kept_tensors(not_counted: set[int]) -> Iterator[Kept]:
    """Count what is kept inside the block, but for the storages at these addresses (weights)."""
    kept = Kept()

    def pack(tensor: Tensor) -> Tensor | Held:
        return tensor if tensor.untyped_storage().data_ptr() in not_counted else Held(tensor, kept)

    def unpack(packed: Tensor | Held) -> Tensor:
        return packed.tensor if isinstance(packed, Held) else packed

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        yield kept


def extrapolated(points: Sequence[tuple[int, float]], x: float) -> float:
    """The value at x of the line through two points; its slope lies between 0 and that of a line from the origin.

    Where both points have the same x, the line goes through the origin and the second.
    """
    (x1, y1), (x2, y2) = points
    if x2 <= x1:
        return y2 * x / x2
    slope = min(max(y2 - y1, 0.0) / (x2 - x1), y2 / x2)
    return y2 + slope * (x - x2)


def tokens_of(batch: Batch) -> int:
    """Real tokens, without padding."""
    return int(batch.tokens.mask_BT.sum())


def dev_texts(training: Training) -> list[str]:
    """What one dev score asks for; [] where nothing is scored while it trains."""
    asked: dict[str, None] = {}
    rng = np.random.default_rng(0)

    def ask(texts: list[str]) -> np.ndarray:
        asked.update(dict.fromkeys(texts))
        return rng.standard_normal((len(texts), training.parts.encoder.dim), np.float32)

    for name in training.watched:
        training.parts.evaluators[name](ask, "dev")
    return list(asked)


def scoring_seconds(training: Training) -> tuple[float, float]:
    """Seconds to encode what one dev score asks for, and what is scored at the end beside it.

    Texts are encoded by length, so batches of all lengths are timed, the shortest and the longest first, and the others
    lie between them.
    """
    dev = dev_texts(training)
    last = list({text for evaluator in training.parts.evaluators.values() for text in evaluator.texts()} - set(dev))
    batches = batches_by_length([*dev, *last])
    if not batches:
        return 0.0, 0.0

    def seconds(batch: list[str]) -> float:
        started = time.perf_counter()
        training.parts.encoder.encode(batch, head=training.parts.objective.test_head())
        return time.perf_counter() - started

    seconds(batches[0])  # the first one waits for libraries
    timed: dict[int, float] = {}  # by characters
    for place in dict.fromkeys(round(share * (len(batches) - 1)) for share in PLACES):
        if sum(timed.values()) < BUDGET:
            timed[characters(batches[place])] = seconds(batches[place])
    known = sorted(timed)

    def total(texts: list[str]) -> float:
        sizes = [characters(batch) for batch in batches_by_length(texts)]
        return float(np.interp(sizes, known, [timed[size] for size in known]).sum())

    return total(dev), total(last)


def batches_by_length(texts: list[str]) -> list[list[str]]:
    """As `Encoder.encode` makes them, but for characters in place of tokens."""
    texts = sorted(texts, key=len)
    return [texts[start : start + TEXTS] for start in range(0, len(texts), TEXTS)]


def characters(texts: list[str]) -> int:
    """The number of characters in the texts."""
    return sum(map(len, texts))
