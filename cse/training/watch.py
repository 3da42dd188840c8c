"""Detect training that goes wrong, and name the step.

A loss or gradient that is not finite ends a run. So does a collapse of the embeddings to one direction. Dev scores that
do not improve give a warning.
"""

import logging
import math
from collections.abc import Mapping

import torch
from torch import Tensor

from cse.errors import RunError
from cse.training.settings import State, Trainer

log = logging.getLogger(__name__)

COLLAPSED_RANK = 1.05  # effective rank of a batch with nearly equal embeddings
CHECKED = {  # in the order in which a NaN spreads
    "aux/loss": "the loss of images or sound",
    "aux/grad_norm": "the gradient of images or sound",
    "loss": "the loss",
    "grad_norm": "the gradient",
}


class Watch:
    """The checks of a run's numbers. All processes check the numbers, with the same result.

    scaled: whether fp16 is on. The scaler of fp16 skips an update with an infinite gradient.
    """

    def __init__(self, trainer: Trainer, *, scaled: bool):
        self.trainer = trainer
        self.checked = [name for name in CHECKED if not (scaled and name.endswith("grad_norm"))]
        self.unread: list[tuple[int, dict[str, Tensor]]] = []

    def add(self, step: int, values: Mapping[str, Tensor | float]) -> None:
        """Keep the values of update number `step` (from 1), without waiting for the device."""
        self.unread.append((step, {name: torch.as_tensor(values[name]) for name in self.checked if name in values}))

    def check(self, metrics: Mapping[str, float], best_step: int) -> None:
        """Check the steps since the last call, after waiting for the device. metrics: the metrics of the last step; {}
        if the last step is not logged.

        Raises RunError if training cannot recover. best/ and the last checkpoint stay unchanged.
        """
        holds = f"best/ holds step {best_step}" if best_step else "nothing was exported yet"
        unread, self.unread = self.unread, []
        found = [(step, name, x.detach().float()) for step, values in unread for name, x in values.items()]
        numbers = torch.stack([x for _, _, x in found]).tolist() if found else []  # one wait for all numbers
        for (step, name, _), value in zip(found, numbers, strict=True):
            if not math.isfinite(value):
                instead = "" if self.trainer.precision == "fp32" else " or use trainer.precision=fp32"
                advice = "Lower trainer.lr" if step > 1 else "No weight has changed yet: look at objective and data"
                raise RunError(f"{CHECKED[name]} is {value} at step {step}; {holds}. {advice}{instead}")
        if not metrics:
            return
        step, rank = int(metrics["train/step"]), metrics["train/effective_rank"]
        if self.trainer.stop_on_collapse and rank < COLLAPSED_RANK:
            what = f"the embeddings collapsed to one direction, effective rank {rank:.3f} at step {step}"
            raise RunError(f"{what}; {holds}. Lower trainer.lr, or set trainer.stop_on_collapse=false")

    def check_scores(self, state: State) -> None:
        """Warn once if the score of trainer.select has not improved for `trainer.patience` evaluations."""
        if self.trainer.select is None or evaluations_since_best(state) != self.trainer.patience:
            return
        step, scores = state.curve[-1]
        best = state.best_score
        than = "is a number" if best is None else f"is better than the {best:.2f} of step {state.best_step}"
        what = f"no {self.trainer.select} of the last {self.trainer.patience} evaluations {than}"
        ends = f"now {scores[self.trainer.select]:.2f}; trainer.stop_early={str(self.trainer.stop_early).lower()}"
        log.warning("step %d: %s (%s)", step, what, ends)

    def is_over(self, state: State) -> bool:
        """Return whether the run should stop early, because the score of trainer.select no longer improves."""
        if self.trainer.select is None or self.trainer.patience is None:
            return False
        return self.trainer.stop_early and evaluations_since_best(state) >= self.trainer.patience


def evaluations_since_best(state: State) -> int:
    """Return the number of evaluations after the best evaluation, or after step 0 if there is no best one yet."""
    return sum(step > state.best_step for step, _ in state.curve)
