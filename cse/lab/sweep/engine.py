"""Several jobs by one command: cse-train sweep=PAPER/TABLE, cse-train -m KEY=A,B and cse-eval -m KEY=A,B.

Start at `run_sweep`. A command has a Plan (the jobs to run) and a Place (this machine or a cluster); see plan.py. Each
job is a separate process, in a folder named after the job's arguments.
"""

from cse.files import make_folder
from cse.lab.folder.jobs_file import LOG, PLAN
from cse.lab.settings.arguments import shell_line
from cse.lab.settings.command import Command
from cse.lab.settings.groups import config_dirs
from cse.lab.sweep.machine import Machine
from cse.lab.sweep.outcomes import Start
from cse.lab.sweep.plan import Grid, Place, Plan
from cse.lab.sweep.search import Searches
from cse.lab.sweep.show import refuse_missing_data, show_outcomes, show_plan
from cse.lab.sweep.sweep_command import SweepCommand, read_sweep_command, refuse_arguments_of_one_job
from cse.lab.text_columns import say
from cse.training.signals import SignalForwarder


def run_sweep(given: Command) -> int:
    """Run the jobs of a command, or show them (dry_run=true). Returns 1 if a job failed or would be refused, else 0.

    Before the first job starts, raises UserError for a mistake (`Plan.check`) and for data that every job lacks. Raises
    Interrupted after a signal.
    """
    refuse_arguments_of_one_job(given)
    command = read_sweep_command(given)
    plan = make_plan(command)
    plan.check()
    place = place_of(command, plan)
    if command.options.dry_run:
        return show_plan(command, plan, place)
    if isinstance(place, Machine) and not (command.folder / PLAN).exists():  # an earlier start may have done jobs
        refuse_missing_data(command, plan.examples)
    make_folder(command.folder, "hydra.sweep.dir")
    say(plan.summary)
    if isinstance(place, Machine):
        say(f"log of each job: {command.folder / 'JOB' / LOG}")  # a job's name may be as wide as a terminal
    if place.advice:
        say(place.advice)
    again = shell_line(command.program, *given.texts, *config_dirs())
    with SignalForwarder(lambda: f"to continue: {again}") as signals, signals.waiting(True):
        start = Start(command.folder, signals, fail_fast=command.options.jobs.fail_fast)
        names = plan.run(place, start)
        show_outcomes(command, start, names)
    return 1 if start.failure else 0


def make_plan(command: SweepCommand) -> Plan:
    """Return the plan of a command. Raises UserError if the plan has no job."""
    return Grid(command) if command.sweeper is None else Searches(command, command.sweeper)


def place_of(command: SweepCommand, plan: Plan) -> Place:
    """Return the place of a command's jobs. Raises UserError if this machine lacks GPUs or SLURM that the jobs need."""
    if command.launcher == "basic":
        return Machine(plan.examples, command.options.jobs.parallel)
    from cse.lab.sweep.cluster import Cluster  # the package submitit is an extra

    return Cluster(command, plan.examples)
