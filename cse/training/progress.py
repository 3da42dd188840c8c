"""Progress of a run: a bar on a terminal, one plain line for each logged step elsewhere."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cse.progress import live

log = logging.getLogger(__name__)


@contextmanager
def steps_shown(total: int, first: int) -> Iterator[Callable[[int, dict[str, float]], None]]:
    """A block whose steps are shown: it gets show(step, numbers), for losses, speed or dev scores of that step.

    total: the run's steps; first: the step it starts at. On a terminal the latest value of each number stays; elsewhere
    a line has only its own step's.
    """
    started, latest = time.monotonic(), dict[str, float]()
    with live(transient=False) as bars:
        task = None if bars.disable else bars.add_task("", total=total, completed=first)

        def show(step: int, numbers: dict[str, float]) -> None:
            latest.update(numbers)
            if task is not None:
                bars.update(task, completed=step, description=in_words(latest))
            else:
                left = (time.monotonic() - started) / (step - first) * (total - step) if step > first else None
                log.info(
                    "step %d/%d  %s%s", step, total, in_words(numbers), "" if left is None else f"  {left:.0f} s left"
                )

        yield show


def in_words(numbers: dict[str, float]) -> str:
    """The numbers in one line, rounded."""
    forms = {"loss": "loss {:.4g}", "aux loss": "aux loss {:.4g}", "tokens/s": "{:,.0f} tokens/s"}
    forms |= {"s/step": "{:.3g} s/step"}
    return "  ".join(forms.get(name, f"{name} {{:.2f}}").format(value) for name, value in numbers.items())
