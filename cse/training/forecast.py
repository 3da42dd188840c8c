"""Measure the time and memory of a run on this machine: from a few steps, and from encoding a sample of its texts.

Measuring changes the weights, so the Training cannot be used afterwards.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from itertools import islice
from statistics import fmean
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, UntypedStorage, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.flop_counter import FlopCounterMode

from cse.device import is_gpu, peak_memory, total_memory
from cse.errors import UserError
from cse.progress import track
from cse.training.checkpoint import copy_to_host
from cse.training.loop import Training
from cse.training.step import rows_of
from cse.types import Batch, Tokens

STEPS = 3  # timed steps, after a first one that also loads libraries and allocates the optimizer's moments
GROWING, SECONDS = 12, 20  # further timed steps, and the seconds that they may take
LONGEST = 60  # seconds after which no further of these steps starts
COMPILING = 3  # untimed steps with trainer.compile: torch compiles for the first lengths, then for any length
SAMPLE = 256  # texts
FEW = 32  # rows from which the memory of all rows is estimated


class Forecast(NamedTuple):
    """The costs of a run. timed: the number of timed steps. step: the seconds of one step. dev_score: the seconds of an
    evaluation on dev. last_scores: the seconds of the scores at the end. memory: the peak memory in bytes. flop: the
    FLOP of one step; on a CPU, without the matrix products of attention."""

    timed: int
    step: float
    dev_score: float
    last_scores: float
    memory: int
    flop: int


def check_memory(training: Training) -> None:
    """Raise UserError if a step on a CPU needs more memory than the machine has: the kernel would kill the process.

    The estimate is a lower bound: the encoder's activations, from those of a few rows. Call it before Training.start,
    which sets the random states, because dropout draws numbers here.
    """
    encoder, size = training.parts.encoder, training.trainer.batch_size
    if encoder.device.type != "cpu" or training.update.chunks is not None or training.trainer.compile:
        return  # a GPU reports that memory is short; compiled code saves fewer activations
    tokens = training.parts.batches[0].tokens
    few = torch.arange(max(1, min(FEW, len(tokens.ids_BT) // 2)))  # two times these rows are not more than the batch
    once, twice = rows_of(tokens, few), rows_of(tokens, few.repeat(2))
    with training.accelerator.autocast():  # the difference leaves out weights, which do not grow with the rows
        grown = saved_bytes(encoder, twice) - saved_bytes(encoder, once)
    needed, total = grown * int(tokens.mask_BT.sum()) / int(once.mask_BT.sum()), total_memory(encoder.device)
    if needed > total:
        raise UserError(
            f"trainer.batch_size={size}: a step needs at least {needed / 2**30:.1f} GiB of memory, but this machine "
            f"has {total / 2**30:.1f} GiB: trainer.chunk=64 gives the same loss and gradient, "
            "except for dropout's random masks, in the memory of 64 rows"
        )


def saved_bytes(encoder: nn.Module, tokens: Tokens) -> int:
    """Return the bytes that the encoder's forward pass saves for its backward pass."""
    saved: dict[int, UntypedStorage] = {}

    def note(x: Tensor) -> Tensor:
        saved[x.untyped_storage().data_ptr()] = x.untyped_storage()
        return x

    with saved_tensors_hooks(note, lambda x: x):
        encoder(tokens)
    return sum(storage.nbytes() for storage in saved.values())


def forecast(training: Training) -> Forecast:
    """Measure the costs of a Training, see Forecast. The Training must have steps left, and run in one process.

    If the first steps take more than LONGEST seconds, fewer steps are timed; if no step is timed, the last one counts.
    The last timed steps read batches sorted by their number of tokens. On a CPU these steps need more memory than
    unsorted ones, because a tensor longer than all earlier tensors does not fit the memory that the previous step has
    freed. A long run still needs up to 1.6 times as much (docs/planning.md).
    """
    start, end = training.state.step, training.steps
    batches, aux_batches = training.batches(), training.aux_batches()

    def seconds_of(step: int, batches: Iterator[Batch] = batches) -> float:
        started = time.perf_counter()
        metrics, _ = training.update(step, batches, aux_batches)
        float(metrics["loss"])  # waits for a GPU
        return time.perf_counter() - started

    counter, seconds, copied = FlopCounterMode(display=False), list[float](), None
    untimed = 1 + (COMPILING if training.trainer.compile else 0)
    device = training.accelerator.device
    for step in track(range(start, min(start + untimed + STEPS, end)), "step"):
        if sum(seconds[untimed - 1 :]) > LONGEST:
            break
        with nullcontext() if seconds else counter:
            seconds.append(seconds_of(step))
        if not (is_gpu(device) or copied):  # a run holds such a copy while it writes last/
            copied = copy_to_host(training.modules, training.update.plain_optimizers(), [])
    done = start + len(seconds)
    more = range(done, min(done + GROWING, done + int(SECONDS / seconds[-1]), end))
    ahead = islice(batches, len(more) * training.trainer.accumulate)
    growing = iter(sorted(ahead, key=lambda batch: int(batch.tokens.mask_BT.sum())))
    seconds += [seconds_of(step, growing) for step in track(more, "further step")]
    del copied
    dev = dev_texts(training)
    last = {text for evaluator in training.parts.evaluators.values() for text in evaluator.texts()} - dev
    dev_score, last_scores = encoding_seconds(training, dev), encoding_seconds(training, last)
    memory = peak_memory(device)
    timed = seconds[untimed:] or seconds[-1:]
    return Forecast(len(timed), fmean(timed), dev_score, last_scores, memory, counter.get_total_flops())


def dev_texts(training: Training) -> set[str]:
    """Return the texts that one evaluation on dev encodes."""
    asked: set[str] = set()
    rng = np.random.default_rng(0)

    def encode(texts: list[str]) -> np.ndarray:
        asked.update(texts)
        return rng.standard_normal((len(texts), training.parts.encoder.dim), np.float32)

    for name in training.watched:
        training.parts.evaluators[name](encode, "dev")
    return asked


def encoding_seconds(training: Training, texts: Iterable[str]) -> float:
    """Return the seconds to encode the texts, extrapolated from every n-th text in the order of length."""
    ordered = sorted(texts, key=len)
    if not ordered:
        return 0.0
    encode = training.encode().encode  # not memoised: the weights have changed
    encode(ordered[:1])  # the first call loads libraries
    sample = ordered[:: max(1, len(ordered) // SAMPLE)]
    started = time.perf_counter()
    encode(sample)
    return (time.perf_counter() - started) * len(ordered) / len(sample)
