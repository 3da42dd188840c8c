"""A grid: every combination of the values of a command's axes is a job."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from itertools import product

from cse.errors import UserError
from cse.lab.settings.arguments import Argument, merged, parse_argument
from cse.lab.sweep.checks import check_jobs
from cse.lab.sweep.job import PlannedJob
from cse.lab.sweep.outcomes import Outcomes
from cse.lab.sweep.plan import Place, write_plan
from cse.lab.sweep.sweep_command import SweepCommand


class Grid:
    """The plan of a command without a search. Raises UserError if it has no job."""

    def __init__(self, command: SweepCommand):
        self.command = command
        self.rows = combinations(command.job_arguments)
        if not self.rows:
            raise command.no_job()

    @cached_property
    def jobs(self) -> list[PlannedJob]:
        """A job for each row, equal ones (a cse-eval that no axis changes) once."""
        by_name = {job.name: job for job in map(self.command.job, self.rows)}
        return list(by_name.values())

    def check(self) -> None:
        """Raise UserError for a mistake in any job."""
        check_jobs(self.jobs)

    @property
    def size(self) -> str:
        """How many jobs it has, as a start says it."""
        return f"jobs: {len(self.jobs)}"

    @property
    def summary(self) -> str:
        """How many jobs it has, and where, as a dry run says it."""
        count = len(self.jobs)
        return f"{self.command.sweep.name}: {count} {'job' if count == 1 else 'jobs'}, in {self.command.folder}"

    def run(self, place: Place, outcomes: Outcomes) -> list[str]:
        """Run the jobs, last the jobs that score runs of the others. Returns the names of all, also of jobs that did
        not start."""
        write_plan(outcomes.folder, self.jobs)
        made = {(outcomes.folder / job.name).absolute() for job in self.jobs}
        last = [job for job in self.jobs if job.scores and job.scores.folder in made]
        place.run([job for job in self.jobs if job not in last], outcomes)
        place.run(last, outcomes)
        return [job.name for job in self.jobs]


def combinations(arguments: Iterable[Argument]) -> list[list[Argument]]:
    """The arguments of every combination of `key=a,b` and `key=range(...)`. The last value of a key counts.

    Raises UserError for key=interval(...), whose values no grid lists.
    """
    return [list(row) for row in product(*(one_by_one(argument) for argument in merged(arguments)))]


def one_by_one(argument: Argument) -> list[Argument]:
    """An argument for each value, as Hydra writes it: 1e-05 for 1e-5."""
    override = parse_argument(argument.text)
    if override.is_interval_sweep():
        raise UserError(f"{argument}: a range needs a search: hydra/sweeper=smac")
    texts = override.sweep_string_iterator() if argument.is_axis else [override.get_value_element_as_str()]
    return [replace(argument, text=f"{override.get_key_element()}={text}") for text in texts]
