"""Detect training that goes wrong, and name the step.

A loss or gradient that is not finite, and embeddings that collapse to one direction, end a run. A constant loss and dev
scores that get no better are logged as warnings.
"""

import logging
import math
from collections.abc import Mapping, Sequence
from operator import itemgetter

import torch
from torch import Tensor

from cse.errors import RunError
from cse.training.settings import Trainer

log = logging.getLogger(__name__)

COLLAPSED_RANK = 1.05  # effective rank of a batch whose embeddings are nearly one vector
CHECKED = {  # in the order in which a NaN spreads
    "aux/loss": "the loss of images or sound",
    "aux/grad_norm": "the gradient of images or sound",
    "loss": "the loss",
    "grad_norm": "the gradient",
}
CONSTANT = 10  # equal logged losses in a row
TOLERANCE = 1e-6  # relative: while anything is learnt, the losses of ten batches are never this close

Curve = Sequence[tuple[int, Mapping[str, float]]]
"""(step, dev scores) of every evaluation."""


class Watch:
    """Checks a run's numbers. All processes check, with the same result.

    warmup: steps at the start, in which a constant loss is no surprise. scaled: fp16, whose scaler skips an update with
    an infinite gradient.
    """

    def __init__(self, trainer: Trainer, *, warmup: int, scaled: bool):
        self.trainer, self.warmup = trainer, warmup
        self.checked = [name for name in CHECKED if not (scaled and name.endswith("grad_norm"))]
        self.unread: list[tuple[int, dict[str, Tensor]]] = []
        self.losses: list[float] = []  # the last logged ones, which last/ keeps

    def add(self, step: int, values: Mapping[str, Tensor | float]) -> None:
        """Keep the values of update number `step` (from 1), without waiting for the device."""
        self.unread.append((step, {name: torch.as_tensor(values[name]) for name in self.checked if name in values}))

    def check(self, metrics: Mapping[str, float], best_step: int) -> None:
        """Check the steps since the last call; waits for the device. metrics: of the last step, {} if not logged.

        Raises RunError where training cannot recover; best/ and the last checkpoint stay as they are.
        """
        holds = f"best/ holds step {best_step}" if best_step else "nothing was exported yet"
        unread, self.unread = self.unread, []
        found = [(step, name, x.detach().float()) for step, values in unread for name, x in values.items()]
        numbers = torch.stack([x for _, _, x in found]).tolist() if found else []  # one wait for all of them
        for (step, name, _), value in zip(found, numbers, strict=True):
            if not math.isfinite(value):
                advice = "Lower trainer.lr or use trainer.precision=fp32"
                raise RunError(f"{CHECKED[name]} is {value} at step {step}; {holds}. {advice}")
        if not metrics:
            return
        step, rank, loss = int(metrics["train/step"]), metrics["train/effective_rank"], metrics["train/loss"]
        if self.trainer.stop_on_collapse and rank < COLLAPSED_RANK:
            what = f"the embeddings collapsed to one direction, effective rank {rank:.3f} at step {step}"
            raise RunError(f"{what}; {holds}. Lower trainer.lr, or trainer.stop_on_collapse=false")
        if step <= self.warmup:
            return
        self.losses = [*self.losses, loss][-CONSTANT - 1 :]
        if is_constant(self.losses[-CONSTANT:]) and not is_constant(self.losses[:-1]):  # for the first time
            what = f"the loss has been {loss:.6g} for {CONSTANT} logged steps"
            log.warning("step %d: %s; is trainer.lr too low?", step, what)

    def check_scores(self, curve: Curve, lower_is_better: bool) -> None:
        """Warn, once, when the selecting score has not got better for `trainer.patience` evaluations."""
        select, patience = self.trainer.select, self.trainer.patience
        if select is None or patience is None or evaluations_since_best(curve, select, lower_is_better) != patience:
            return
        step, scores = curve[-1]
        best = best_of(curve, select, lower_is_better)
        than = f"is better than the {best[0]:.2f} of step {best[1]}" if best else "is a number"
        what = f"no {select} of the last {patience} evaluations {than}"
        ends = f"now {scores[select]:.2f}; trainer.stop_early={str(self.trainer.stop_early).lower()}"
        log.warning("step %d: %s (%s)", step, what, ends)

    def is_over(self, curve: Curve, lower_is_better: bool) -> bool:
        """Whether the run should stop early, because its score no longer gets better."""
        select, patience = self.trainer.select, self.trainer.patience
        if not self.trainer.stop_early or select is None or patience is None:
            return False
        return evaluations_since_best(curve, select, lower_is_better) >= patience


def best_of(curve: Curve, select: str, lower_is_better: bool) -> tuple[float, int] | None:
    """(score, step) of the first best evaluation, step 0 (the untrained encoder) left out; None if all are NaN."""
    known = [(scores[select], step) for step, scores in curve if step > 0 and not math.isnan(scores[select])]
    best = min if lower_is_better else max
    return best(known, key=itemgetter(0), default=None)  # the first of equals


def evaluations_since_best(curve: Curve, select: str, lower_is_better: bool) -> int:
    """The number of evaluations after the best one, or after step 0 if there is none."""
    best = best_of(curve, select, lower_is_better)
    return sum(step > (best[1] if best else 0) for step, _ in curve)


def is_constant(losses: Sequence[float]) -> bool:
    """Whether these are CONSTANT losses, and equal."""
    return len(losses) == CONSTANT and max(losses) - min(losses) <= TOLERANCE * max(map(abs, losses))
