"""Many jobs from one line: cse-train sweep=PAPER/TABLE, cse-train -m KEY=A,B and cse-eval -m KEY=A,B.

`run_line` is all of it. A line has a plan, which is what to run, and a place, which is where. Each job is a process of
its own, in a folder named after what it runs.
"""

from collections.abc import Mapping, Sequence

from cse.errors import UserError
from cse.files import make_folder
from cse.lab.sections import to_columns
from cse.lab.settings.grammar import shell_line
from cse.lab.settings.groups import config_dirs
from cse.lab.settings.typed_line import TypedLine
from cse.lab.settings.words import texts_of
from cse.lab.sweep.job import PlannedJob, check_jobs, check_wandb_id, one_of_each, refusals_of
from cse.lab.sweep.line import Line, read_line
from cse.lab.sweep.place import Place, place_of
from cse.lab.sweep.plan import Plan, plan_line
from cse.lab.sweep.start import Start
from cse.training.signals import SignalForwarder


def run_line(typed: TypedLine) -> int:
    """Run the jobs of a line, or show them (dry_run=true). Returns 0, or 1 if a job failed.

    Raises UserError for a mistake in any job's settings before the first job starts, Interrupted after a signal.
    """
    line = read_line(typed)
    plan = plan_line(line)
    jobs = plan.jobs
    plan.check()
    check_jobs(jobs)
    check_wandb_id(jobs)
    place = place_of(line, plan)
    if line.options.dry_run:
        return show_plan(plan, place)
    run = place.runner()
    make_folder(line.folder, "hydra.sweep.dir")
    print(f"{line.title}  {plan.size}  folder: {line.folder}")
    place.print_advice()
    again = shell_line(line.program, *typed.arguments, *config_dirs())
    with SignalForwarder(lambda: f"this goes on: {again}") as signals, signals.waiting(True):
        start = Start(line.folder, signals, fail_fast=line.options.jobs.fail_fast)
        plan.run(start, run)
        if line.caution:
            print(line.caution)
        plan.conclude(start, line.report(start.runs_done()))
    return 1 if start.failure else 0


def show_plan(plan: Plan, place: Place) -> int:
    """Print each planned job (of each search, one for example) with its steps, and what is missing. Returns what the
    run would: 1 if a job would be refused. Raises the first refusal if all would be."""
    jobs = plan.jobs
    refused = refusals_of(jobs)
    if len(refused) == len(jobs):
        raise next(iter(refused.values()))
    print_jobs(jobs, refused)
    print(plan.summary)
    print_missing(plan.line, jobs)
    place.print_submission()
    if refused:
        print(f"{len(refused)} of {len(jobs)} jobs would be refused before their first step")
    return 1 if refused else 0


def print_jobs(jobs: Sequence[PlannedJob], refused: Mapping[str, UserError]) -> None:
    """Print a table of the jobs, each with its steps or its refusal."""
    steps = {job.but_for_seed: job.steps for job in one_of_each(jobs) if job.name not in refused}
    rows = [("job", "steps")]
    for job in jobs:
        error = refused.get(job.name)
        rows.append((job.name, f"refused: {error}" if error else steps[job.but_for_seed]))
    print(to_columns(rows))


def print_missing(line: Line, jobs: Sequence[PlannedJob]) -> None:
    """Print what the jobs read that is not here, and the command that fetches it; then what is wrong with the rest."""
    from cse.lab.run.needs import look_for
    from cse.lab.sweep.reads import needs_of_jobs

    missing: list[str] = []
    mistakes: list[str] = []
    for need in needs_of_jobs(jobs):
        place, wrong = look_for(need)
        if wrong:
            mistakes.append(wrong)
        elif place is None:
            missing.append(need.name)
    if missing:
        of_program = "cse-eval" if line.program == "cse-eval" else line.sweep.word
        words = filter(None, [of_program, *texts_of(line.typed_for_jobs)])
        fetch = shell_line("cse-data", "fetch", *words)
        print(f"not here: {', '.join(missing)}; where the hub can be reached, this gets them:\n  {fetch}")
    for mistake in dict.fromkeys(mistakes):
        print(mistake)
