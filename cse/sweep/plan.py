"""What a sweep would do: a line for each job, what is missing on this machine, and what SLURM would be asked."""

from collections.abc import Sequence

from cse.columns import in_columns
from cse.run.steps import steps_of
from cse.sweep.jobs import Job
from cse.sweep.line import Line
from cse.sweep.needs import needs_of


def show(line: Line, planned: Sequence[Job]) -> None:
    """Print each planned job (of each search, one for example) with its steps, and what is missing."""
    rows = [("job", "steps")]
    for job in planned:
        if job.program != "cse-train":
            rows.append((job.name, "only scored"))
            continue
        steps = steps_of(job.composed())
        rows.append((job.name, f"{steps:,}" if steps else "?"))
    print(in_columns(rows))
    times = f" x {line.search.n_trials} trials" if line.search else ""
    print(f"{line.title}: {len(planned)} jobs{times}, in {line.folder}")
    if missing := [need.name for need in needs_of(planned) if need.place() is None]:
        fetch = f"cse-data fetch sweep={line.title}" if line.sweep else "a run"
        print(f"not here: {', '.join(missing)}; {fetch} gets them where the hub can be reached")
    if line.launcher == "submitit_slurm":
        from cse.sweep import cluster

        cluster.show(line, planned)
