"""What a sweep will take, before anything starts: a line for each job, by the formulas of cse.run.estimate."""

from collections.abc import Sequence
from pathlib import Path

from cse.config import scale
from cse.config.compose import composed
from cse.run import estimate
from cse.sweep import jobs


def show(title: str, folder: Path, planned: Sequence[jobs.Job], trials: int) -> None:
    """Print a line for each job, and the sum. trials: the jobs that stand behind each line (of a search)."""
    from rich.console import Console
    from rich.table import Table

    laptop = any(jobs.scale_of(job.arguments) == "laptop" for job in planned)
    unit, units_an_hour = ("minutes of one core", 60) if laptop else ("GPU-hours", 1)
    table = Table("job", "steps", unit, "memory", box=None, header_style="bold")
    hours_of: list[float | None] = []
    for job in planned:
        if job.program != "cse-train":
            table.add_row(job.name, "only scored", "", "")
            continue
        config = composed("train", job.arguments)
        scale.fit(config)
        found = estimate.of(config)
        steps, hours, memory = found["steps"], found["hours"], found["memory"]
        hours = None if hours is None else hours * units_an_hour
        hours_of.append(hours)
        steps_shown, hours_shown = f"{steps:,}" if steps else "?", "?" if hours is None else f"{hours:.2f}"
        table.add_row(job.name, steps_shown, hours_shown, f"{memory / 2**30:.1f} GiB")
    Console(width=160, soft_wrap=True).print(table)
    times = f" x {trials} trials" if trials > 1 else ""
    print(f"{title}: {len(planned)} jobs{times}, {summed(hours_of, trials, unit)}, in {folder}")


def summed(hours: Sequence[float | None], trials: int, unit: str = "GPU-hours") -> str:
    """The sum in words, with the number of jobs whose time is not known."""
    known = [value for value in hours if value is not None]
    if not known and hours:
        return f"{unit} not known before the text is read"
    rest = len(hours) - len(known)
    more = f" and {rest} jobs more whose text is counted only when it is read" if rest else ""
    return f"about {sum(known) * trials:.1f} {unit}{more}"
