"""What a run takes on this machine, measured: a few of its own steps, and the encoding of a sample of its texts.

Measuring changes the weights: the Training is of no use afterwards.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from torch.utils.flop_counter import FlopCounterMode

from cse.device import peak_memory
from cse.training.loop import Training

STEPS = 3  # that are timed, after a first one that waits for libraries and for the optimizer's moments
ENOUGH = 30.0  # seconds of steps, after which no other is begun
SAMPLE = 256  # texts


@dataclass(frozen=True)
class Forecast:
    """Seconds of a step, of one dev score and of what else is scored at the end; the peak's bytes; a step's FLOP.

    steps: how many were timed. Attention's own products are not counted on a CPU.
    """

    step: float
    dev_score: float
    last_scores: float
    memory: int
    flop: int
    steps: int


def forecast(training: Training) -> Forecast:
    """Measure a Training that has not been started, in one process. It cannot be used afterwards."""
    batches, aux_batches = training.batches(), training.aux_batches()
    training.update.text_encoder = training.parts.encoder  # not compiled: that takes minutes

    def seconds_of(step: int) -> float:
        started = time.perf_counter()
        metrics, _ = training.update(step, batches, aux_batches)
        float(metrics["loss"])  # waits for a GPU
        return time.perf_counter() - started

    with FlopCounterMode(display=False) as counter:
        seconds = [seconds_of(0)]
    for step in range(1, min(1 + STEPS, training.steps)):
        if sum(seconds) < ENOUGH:
            seconds.append(seconds_of(step))
    timed = seconds[1:] or seconds
    dev_score, last_scores = scoring_seconds(training)
    memory, flop = peak_memory(training.accelerator.device), counter.get_total_flops()
    return Forecast(fmean(timed), dev_score, last_scores, memory, flop, len(timed))


def scoring_seconds(training: Training) -> tuple[float, float]:
    """Seconds to encode what one dev score asks for, and what is scored at the end beside it."""
    dev: set[str] = set()
    rng, evaluators = np.random.default_rng(0), training.parts.evaluators

    def ask(texts: list[str]) -> np.ndarray:
        dev.update(texts)
        return rng.standard_normal((len(texts), training.parts.encoder.dim), np.float32)

    for name in training.watched:
        evaluators[name](ask, "dev")
    last = {text for evaluator in evaluators.values() for text in evaluator.texts()} - dev
    return encoding_seconds(training, dev), encoding_seconds(training, last)


def encoding_seconds(training: Training, texts: Iterable[str]) -> float:
    """Seconds to encode the texts, by those of every n-th in order of length."""
    ordered = sorted(texts, key=len)
    if not ordered:
        return 0.0
    encode = training.encode().encode  # not remembered: the weights are no longer the run's
    encode(ordered[:1])  # the first waits for libraries
    sample = ordered[:: max(1, len(ordered) // SAMPLE)]
    started = time.perf_counter()
    encode(sample)
    return (time.perf_counter() - started) * len(ordered) / len(sample)
