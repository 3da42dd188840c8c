"""Several jobs by one command: cse-train sweep=PAPER/TABLE, cse-train -m KEY=A,B and cse-eval -m KEY=A,B.

`run_sweep` is all of it. A command has a Plan, which says what to run, and a Place, which says where (in outcomes.py).
Each job is a process of its own, in a folder named after what it runs.
"""

from collections.abc import Mapping, Sequence

from cse.errors import UserError
from cse.files import make_folder
from cse.lab.run.needs import look_for
from cse.lab.sections import to_columns
from cse.lab.settings.command import Command
from cse.lab.settings.groups import config_dirs
from cse.lab.settings.words import shell_line, texts_of
from cse.lab.sweep.checks import needs_of_jobs, refusals_of
from cse.lab.sweep.grid import Grid
from cse.lab.sweep.job import PlannedJob, but_for_seed, one_of_each
from cse.lab.sweep.outcomes import Outcomes, Place
from cse.lab.sweep.process import Machine
from cse.lab.sweep.search import Searches
from cse.lab.sweep.sweep_command import SweepCommand, read_sweep_command
from cse.lab.sweep.sweeps import asks_for_smoke
from cse.training.signals import SignalForwarder

Plan = Grid | Searches
"""What a command runs: all jobs of a grid, or the ones that searches propose."""


def run_sweep(given: Command) -> int:
    """Run the jobs of a command, or show them (dry_run=true). Returns 0, or 1 if a job failed.

    Raises UserError for a mistake in any job's settings before the first job starts, Interrupted after a signal.
    """
    command = read_sweep_command(given)
    plan = make_plan(command)
    plan.check()
    place = place_of(command, plan)
    if command.options.dry_run:
        return show_plan(command, plan, place)
    make_folder(command.folder, "hydra.sweep.dir")
    print(f"{command.sweep.name}  {plan.size}  folder: {command.folder}")
    if place.advice:
        print(place.advice)
    again = shell_line(command.program, *given.arguments, *config_dirs())
    with SignalForwarder(lambda: f"to continue: {again}") as signals, signals.waiting(True):
        outcomes = Outcomes(command.folder, signals, fail_fast=command.options.jobs.fail_fast)
        names = plan.run(place, outcomes)
        if asks_for_smoke(command.given):
            print("smoke tests: synthetic data, and a score means nothing")
        outcomes.print_table(command.sweep.name, names)
        if command.sweeper is not None:
            outcomes.print_best()
        outcomes.print_next(names, report_command(command, outcomes))
    return 1 if outcomes.failure else 0


def make_plan(command: SweepCommand) -> Plan:
    """What a command runs. Raises UserError if it has no job."""
    return Grid(command) if command.sweeper is None else Searches(command, command.sweeper)


def place_of(command: SweepCommand, plan: Plan) -> Place:
    """Where a command's jobs run. Raises UserError for more GPUs than this machine has, and where a cluster would run
    nothing."""
    if command.launcher == "basic":
        return Machine(plan.jobs, command.options.jobs.parallel)
    from cse.lab.sweep.cluster import Cluster  # the package submitit is an extra

    return Cluster(command, plan.jobs)


def report_command(command: SweepCommand, outcomes: Outcomes) -> str:
    """The command that shows the finished runs: beside the published numbers, if the runs have a score of the table."""
    scores = {name for run in outcomes.runs_done() for name in run.metrics}
    if scores.isdisjoint(command.sweep.names_in_report):
        return shell_line("cse-report", f"runs={command.folder}")
    elsewhere = [f"runs={command.folder}"] if command.folder != command.sweep.folder_of_jobs([]) else []
    apart = [f"out=reports/smoke/{command.sweep.name}"] if asks_for_smoke(command.given) else []
    return shell_line("cse-report", command.sweep.word, *elsewhere, *apart, *config_dirs())


# A dry run


def show_plan(command: SweepCommand, plan: Plan, place: Place) -> int:
    """Print each planned job (of each search, one for example) with its steps, and what is missing. Returns what the
    run would: 1 if a job would be refused. Raises the first refusal if all would be."""
    jobs = plan.jobs
    refused = refusals_of(jobs)
    if len(refused) == len(jobs):
        raise next(iter(refused.values()))
    print_jobs(jobs, refused)
    print(plan.summary)
    print_missing(command, jobs)
    if place.submission:
        print(place.submission)
    if refused:
        print(f"{len(refused)} of {len(jobs)} jobs would be refused before their first step")
    return 1 if refused else 0


def print_jobs(jobs: Sequence[PlannedJob], refused: Mapping[str, UserError]) -> None:
    """Print a table of the jobs, each with its steps or its refusal."""
    accepted = [job for job in jobs if job.name not in refused]
    steps = {but_for_seed(job): job.steps for job in one_of_each(accepted, but_for_seed)}
    rows = [("job", "steps")]
    for job in jobs:
        error = refused.get(job.name)
        rows.append((job.name, f"refused: {error}" if error else steps[but_for_seed(job)]))
    print(to_columns(rows))


def print_missing(command: SweepCommand, jobs: Sequence[PlannedJob]) -> None:
    """Print what the jobs read that is not here, and the command that fetches it; then what is wrong with the rest."""
    missing: list[str] = []
    mistakes: list[str] = []
    for need in needs_of_jobs(jobs):
        place, wrong = look_for(need)
        if wrong:
            mistakes.append(wrong)
        elif place is None:
            missing.append(need.name)
    if missing:
        of_program = "cse-eval" if command.program == "cse-eval" else command.sweep.word
        words = filter(None, [of_program, *texts_of(command.given)])
        fetch = shell_line("cse-data", "fetch", *words)
        print(f"not here: {', '.join(missing)}; where the hub can be reached, this gets them:\n  {fetch}")
    for mistake in dict.fromkeys(mistakes):
        print(mistake)
