"""Progress of a run: a bar on a terminal, one plain line for each logged step elsewhere."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cse.progress import live

log = logging.getLogger(__name__)

SHOWN = {
    "train/loss": "loss {:.4g}",
    "train/aux/loss": "aux loss {:.4g}",
    "train/tokens_per_second": "{:,.0f} tokens/s",
    "train/seconds_per_step": "{:.3g} s/step",
}


@contextmanager
def steps_shown(total: int, first: int) -> Iterator[Callable[[int, dict[str, float]], None]]:
    """Yield show(step, numbers), which shows the run's progress. numbers: the logged numbers of the step; {}: none.

    total: the steps of the run. first: the step at which the run starts. A terminal shows the latest value of each
    number. A log line has only the numbers of its step.
    """
    started, latest = time.monotonic(), dict[str, float]()
    with live(transient=False) as bars:
        task = None if bars.disable else bars.add_task("", total=total, completed=first)

        def show(step: int, numbers: dict[str, float]) -> None:
            if not numbers:
                return
            latest.update(numbers)
            if task is not None:
                bars.update(task, completed=step, description=numbers_in_words(latest))
            else:
                left = ""
                if step > first:
                    left = f"  {(time.monotonic() - started) / (step - first) * (total - step):.0f} s left"
                log.info("step %d/%d  %s%s", step, total, numbers_in_words(numbers), left)

        yield show


def numbers_in_words(numbers: dict[str, float]) -> str:
    """Return one line with the rounded numbers: the training numbers in SHOWN, and dev scores."""
    names = [*(name for name in SHOWN if name in numbers), *(name for name in numbers if not name.startswith("train/"))]
    return "  ".join(SHOWN.get(name, f"{name} {{:.2f}}").format(numbers[name]) for name in names)
