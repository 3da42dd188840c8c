"""What a sweep would do: a line for each job, what its seeds can show, and what is missing on this machine."""

from collections.abc import Sequence
from pathlib import Path

from cse.columns import in_columns
from cse.run.steps import steps_of
from cse.sweep import budget, jobs
from cse.sweep.needs import needs_of


def show(title: str, folder: Path, planned: Sequence[jobs.Job], trials: int) -> None:
    """Print each job with its steps, and what is missing. trials: the jobs of each search; 1 in a grid."""
    rows = [("job", "steps")]
    select: str | None = None
    for job in planned:
        if job.program != "cse-train":
            rows.append((job.name, "only scored"))
            continue
        config = job.fitted()
        steps, select = steps_of(config), config.trainer.select
        rows.append((job.name, f"{steps:,}" if steps else "?"))
    print(in_columns(rows))
    times = f" x {trials} trials" if trials > 1 else ""
    print(f"{title}: {len(planned)} jobs{times}, in {folder}")
    if trials == 1 and (told := budget.of_plan(planned, select, folder)):
        print(told)
    if missing := [need.name for need in needs_of(planned) if need.place() is None]:
        fetch = f"cse-data fetch sweep={title}, to=FOLDER for carrying over," if "/" in title else "a run"
        print(f"not here: {', '.join(missing)}; {fetch} gets them where the hub can be reached")
