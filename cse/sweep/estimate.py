"""What a sweep will take, before anything starts: a line for each job, with its steps and its work."""

from collections.abc import Sequence
from pathlib import Path

from cse.columns import in_columns
from cse.run.estimate import Estimate, estimate
from cse.sweep import budget, jobs
from cse.sweep.needs import needs_of


def show(title: str, folder: Path, planned: Sequence[jobs.Job], trials: int) -> None:
    """Print a line for each job, the sum, and what is missing. trials: the jobs behind each line (of a search)."""
    rows = [("job", "steps", "PFLOP")]
    estimates: list[Estimate] = []
    select: str | None = None
    for job in planned:
        if job.program != "cse-train":
            rows.append((job.name, "only scored", ""))
            continue
        config = job.fitted()
        found, select = estimate(config), config.trainer.select
        estimates.append(found)
        steps = f"{found.steps:,}" if found.steps else "?"
        rows.append((job.name, steps, "?" if found.flop is None else f"{found.flop / 1e15:.3g}"))
    print(in_columns(rows))
    times = f" x {trials} trials" if trials > 1 else ""
    print(f"{title}: {len(planned)} jobs{times}, {summed(estimates, trials)}, in {folder}")
    if trials == 1 and (told := budget.of_plan(planned, select, folder)):
        print(told)
    if missing := [need.name for need in needs_of(planned) if need.place() is None]:
        fetch = f"cse-data fetch sweep={title}, to=FOLDER for carrying over," if "/" in title else "a run"
        print(f"not here: {', '.join(missing)}; {fetch} gets them where the hub can be reached")


def summed(estimates: Sequence[Estimate], trials: int) -> str:
    """The sum in words, with the number of jobs whose work is not known before their text and encoder are here."""
    known = [one.flop for one in estimates if one.flop is not None]
    rest = len(estimates) - len(known)
    more = f", and {rest} jobs whose text or encoder is not here" if rest else ""
    return f"at most {sum(known) * trials / 1e15:.3g} PFLOP{more}"
