"""The checks of a part of the GPU benchmark. A check gives numbers, or the reason why it has none."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.gpu.world import World

PASSED, FAILED, SKIPPED, MEASURED = "passed", "failed", "skipped", "measured"


@dataclass(frozen=True)
class Result:
    """status: PASSED or FAILED for numbers with bounds, MEASURED for numbers without bounds, or SKIPPED.

    figures: the numbers, as JSON can hold them. why: the reason for FAILED or SKIPPED.
    """

    status: str
    figures: dict[str, Any] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True)
class Check:
    """run: the function of the check; if it raises, only this check fails. needs_gpu: why a CPU cannot do it, or ""."""

    name: str
    run: Callable[[World], Result]
    needs_gpu: str = ""


def within(figures: dict[str, float], bounds: dict[str, float]) -> Result:
    """PASSED if no figure exceeds its bound, FAILED otherwise (NaN too)."""
    over = [f"{name} is {figures[name]:.3g}, at most {most:g} is allowed" for name, most in bounds.items()
            if not figures[name] <= most]  # fmt: skip
    return Result(FAILED if over else PASSED, {**figures, "bounds": bounds}, "; ".join(over))


def perform(check: Check, world: World) -> Result:
    """Run a check; an exception is a FAILED result."""
    if check.needs_gpu and world.device != "cuda":
        return Result(SKIPPED, why=f"needs a GPU: {check.needs_gpu}")
    try:
        return check.run(world)
    except Exception as error:  # a part must go on after any failure of one of its checks
        return Result(FAILED, why=f"{type(error).__name__}: {error}")
