"""What a command runs, and where.

A Plan is a Grid (grid.py) or Searches (search.py). A Place is this Machine (process.py) or a Cluster (cluster.py). A
plan writes each job into its folder's jobs.jsonl before the place runs it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from cse.lab.folder import jobs_file
from cse.lab.settings.arguments import texts_of
from cse.lab.sweep.job import PlannedJob
from cse.lab.sweep.outcomes import Outcome, Outcomes


class Plan(Protocol):
    """What a command runs: all jobs of a grid, or the ones that searches propose."""

    @property
    def jobs(self) -> list[PlannedJob]:
        """All jobs of a grid; an example of each search."""

    @property
    def size(self) -> str:
        """How much there is to run, as a start says it."""

    @property
    def summary(self) -> str:
        """How much there is to run, and where, as a dry run says it."""

    def check(self) -> None:
        """Raise UserError for a mistake in any job."""

    def run(self, place: "Place", outcomes: Outcomes) -> list[str]:
        """Run it. Returns the names of its jobs, also of jobs that did not start."""


class Place(Protocol):
    """Where jobs run: on this machine, or on a cluster."""

    @property
    def advice(self) -> str:
        """What a start leaves idle there; "" for nothing."""

    @property
    def submission(self) -> str:
        """What a dry run shows beside the jobs; "" for nothing."""

    def run(self, jobs: Sequence[PlannedJob], outcomes: Outcomes) -> list[Outcome]:
        """Run jobs and record their outcomes. Returns these in the order of the jobs."""


def write_plan(folder: Path, jobs: Sequence[PlannedJob], search: str | None = None) -> None:
    """Write down what is to run. search: the one that asked for these jobs as its trials."""
    trial_of = {} if search is None else {"search": search}
    lines = [{"job": job.name, "program": job.program, "words": texts_of(job.arguments), **trial_of} for job in jobs]
    jobs_file.add_jobs(folder, lines)


def write_trials(folder: Path, search: str, trials: int) -> None:
    """Write down how many trials a search is to make."""
    jobs_file.add_jobs(folder, [{"search": search, "trials": trials}])
