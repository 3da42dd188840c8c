"""A Plan has the jobs of a command. A Place runs the jobs.

A Plan is a Grid (below) or Searches (search.py). A Place is a Machine (machine.py) or a Cluster (cluster.py). A plan
writes each job into jobs.jsonl in the jobs' folder before the place runs the job.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Protocol

from cse.lab.folder import jobs_file
from cse.lab.settings.arguments import texts_of
from cse.lab.sweep.axes import combinations
from cse.lab.sweep.checks import check_jobs
from cse.lab.sweep.job import PlannedJob
from cse.lab.sweep.outcomes import Outcome, Start
from cse.lab.sweep.sweep_command import SweepCommand


class Plan(Protocol):
    """The jobs of a command: all jobs of a grid, or the jobs that searches propose."""

    @property
    def examples(self) -> list[PlannedJob]:
        """The jobs that are checked and shown before a start: all jobs of a grid, or one job of each search."""

    @property
    def summary(self) -> str:
        """A text with the number of jobs and the folder of the jobs."""

    def check(self) -> None:
        """Raise UserError for a mistake for which the whole command is refused (see cse.lab.sweep.job)."""

    def run(self, place: "Place", start: Start) -> list[str]:
        """Run the jobs. Returns the names of all jobs, also of jobs that did not start."""


class Place(Protocol):
    """The place where jobs run: this machine, or a cluster."""

    @property
    def advice(self) -> str:
        """A line about the devices that a start leaves idle; "" if no device is idle."""

    @property
    def submission(self) -> str:
        """The text that a dry run prints after the jobs; "" for no text."""

    def run(self, jobs: Sequence[PlannedJob], start: Start) -> list[Outcome]:
        """Run jobs and record their outcomes. Returns the outcomes in the order of the jobs."""


class Grid:
    """The plan of a command without a search: every combination of the values of its axes is a job.

    Raises UserError if there is no job.
    """

    def __init__(self, command: SweepCommand):
        self.command = command
        self.rows = combinations(command.job_arguments)
        if not self.rows:
            raise command.no_job()

    @cached_property
    def examples(self) -> list[PlannedJob]:
        """The jobs of the rows. Several rows may give one job, such as a cse-eval that no axis changes."""
        by_name = {job.name: job for job in map(self.command.job, self.rows)}
        return list(by_name.values())

    def check(self) -> None:
        """See Plan."""
        check_jobs(self.examples)

    @property
    def summary(self) -> str:
        """See Plan."""
        count = len(self.examples)
        return f"{self.command.name}: {count} {'job' if count == 1 else 'jobs'}, in {self.command.folder}"

    def run(self, place: Place, start: Start) -> list[str]:
        """Run the jobs. Jobs that score runs of other jobs come last.

        Returns the names of all jobs, also of jobs that did not start.
        """
        write_plan(start.folder, self.examples)
        made = {(start.folder / job.name).absolute() for job in self.examples}
        last = {job.name for job in self.examples if job.scores and job.scores.folder in made}
        place.run([job for job in self.examples if job.name not in last], start)
        place.run([job for job in self.examples if job.name in last], start)
        return [job.name for job in self.examples]


def write_plan(folder: Path, jobs: Sequence[PlannedJob], search: str | None = None) -> None:
    """Write the jobs into their folder's plan. search: the name of the search, if the jobs are trials."""
    trial_of = {} if search is None else {"search": search}
    lines = [{"job": job.name, "program": job.program, "words": texts_of(job.arguments), **trial_of} for job in jobs]
    jobs_file.add_jobs(folder, lines)


def write_trials(folder: Path, search: str, trials: int) -> None:
    """Write the number of a search's trials into the folder's plan."""
    jobs_file.add_jobs(folder, [{"search": search, "trials": trials}])
