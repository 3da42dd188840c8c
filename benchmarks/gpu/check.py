"""The checks that a part of the GPU benchmark consists of: each gives figures, or says why it cannot."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.gpu.world import World

PASSED, FAILED, SKIPPED, MEASURED = "passed", "failed", "skipped", "measured"


@dataclass(frozen=True)
class Result:
    """status: PASSED or FAILED against a bound, MEASURED without one, SKIPPED with a reason. figures: JSON-ready."""

    status: str
    figures: dict[str, Any] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True)
class Check:
    """run: an exception fails this check alone. needs_gpu: why it is meaningless on a CPU, or empty."""

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
