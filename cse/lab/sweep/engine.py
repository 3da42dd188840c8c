"""Many jobs from one line: cse-train sweep=PAPER/TABLE, cse-train -m KEY=A,B and cse-eval -m KEY=A,B.

Each job is a process of its own, in a folder named after what it runs. Jobs run on this machine (start.py) or on a
cluster (hydra/launcher=submitit_slurm, cluster.py). They are a whole grid, or what a search proposes
(hydra/sweeper=smac, search.py).
"""

from collections.abc import Mapping, Sequence
from functools import partial

from cse.errors import UserError
from cse.files import make_folder
from cse.lab.folder.runs import read_run
from cse.lab.sections import to_columns
from cse.lab.settings.groups import config_dirs
from cse.lab.settings.shell import shell_line
from cse.lab.settings.typed_line import TypedLine
from cse.lab.settings.words import texts_of
from cse.lab.sweep.job import PlannedJob, check_jobs, one_of_each, refusals_of
from cse.lab.sweep.line import Line, read_line, words_of_jobs
from cse.lab.sweep.search import check_search, memory_of, search, search_in_words
from cse.lab.sweep.start import Runner, Start, check_id, idle_gpus, run_here, shares_of
from cse.training.signals import SignalForwarder


def run_line(typed: TypedLine) -> int:
    """Run the jobs of a line, or show them (dry_run=true). Returns 0, or 1 if a job failed.

    Raises UserError for a mistake in any job's settings before the first job starts, Interrupted after a signal.
    """
    line = read_line(typed)
    planned, parallel = line.jobs(), line.options.jobs.parallel
    if line.search:
        check_search(line)
    check_jobs(planned)
    check_id(planned)
    shares = shares_of(planned, parallel) if line.launcher == "basic" else []
    if line.options.dry_run:
        return show_plan(line, planned)
    run = runner_of(line, shares)
    make_folder(line.folder, "hydra.sweep.dir")
    print(f"{line.title}  {count_in_words(line, planned)}  folder: {line.folder}")
    if line.launcher == "basic" and (more := idle_gpus(planned[0], parallel)):
        print(f"{more} of this machine's GPUs are idle: jobs.parallel=N runs N jobs, trainer.devices=N one job on N")
    again = shell_line(line.program, *typed.arguments, *config_dirs())
    with SignalForwarder(lambda: f"this goes on: {again}") as signals, signals.waiting(True):
        start = Start(line.folder, signals, fail_fast=line.options.jobs.fail_fast)
        if line.search:
            for row in line.rows:
                search(line, row, start, run)
        else:
            start.plan(planned)
            run_grid(planned, start, run)
        done = [one for name in start.outcomes if (one := read_run(line.folder / name)).is_done]
        names = [] if line.search else [job.name for job in planned]
        if line.caution:
            print(line.caution)
        start.print_table(line.title, names, line.report(done), searched=line.search is not None)
    return 1 if start.failure else 0


def runner_of(line: Line, shares: Sequence[str | None]) -> Runner:
    """What runs the jobs on this machine or a cluster. Raises UserError for an invalid value of hydra.launcher.*."""
    if line.launcher == "basic":
        return partial(run_here, shares=shares)
    from cse.lab.sweep.cluster import executor_of, run_on_cluster

    return partial(run_on_cluster, executor=executor_of(line))


def count_in_words(line: Line, planned: Sequence[PlannedJob]) -> str:
    """How many jobs a line runs, or how many trials each of its searches."""
    if not line.search:
        return f"jobs: {len(planned)}"
    each = f" of each of {len(planned)} searches" if len(planned) > 1 else ""
    return f"trials: {line.search.n_trials}{each}"


def run_grid(planned: Sequence[PlannedJob], start: Start, run: Runner) -> None:
    """Run the jobs, last those that score runs of the others."""
    made = {(start.folder / job.name).absolute() for job in planned}
    later = [job for job in planned if job.scores and job.scores[0] in made]
    run([job for job in planned if job not in later], start)
    run(later, start)


def show_plan(line: Line, planned: Sequence[PlannedJob]) -> int:
    """Print each planned job (of each search, one for example) with its steps, and what is missing. Returns what the
    run would: 1 if a job would be refused. Raises the first refusal if all would be."""
    refused = refusals_of(planned)
    if len(refused) == len(planned):
        raise next(iter(refused.values()))
    print_jobs(line, planned, refused)
    print_missing(line, planned)
    if line.launcher == "submitit_slurm":
        from cse.lab.sweep import cluster

        cluster.print_submission(line, planned)
    if refused:
        print(f"{len(refused)} of {len(planned)} jobs would be refused before their first step")
    return 1 if refused else 0


def print_jobs(line: Line, planned: Sequence[PlannedJob], refused: Mapping[str, UserError]) -> None:
    """Print a table of the jobs, each with its steps or its refusal, and what a search varies."""
    steps = {job.but_for_seed: job.steps for job in one_of_each(planned) if job.name not in refused}
    rows = [("job", "steps")]
    for job in planned:
        error = refused.get(job.name)
        rows.append((job.name, f"refused: {error}" if error else steps[job.but_for_seed]))
    print(to_columns(rows))
    jobs = "1 job" if len(planned) == 1 else f"{len(planned)} jobs"
    if not line.search:
        print(f"{line.title}: {jobs}, in {line.folder}")
        return
    print(f"{line.title}: {jobs} x {line.search.n_trials} trials, in {line.folder}")
    print(f"each trial has values of {search_in_words(memory_of(line, line.rows[0]).ranges)}")


def print_missing(line: Line, planned: Sequence[PlannedJob]) -> None:
    """Print what the jobs read that is not here, and the command that fetches it; then what is wrong with the rest."""
    from cse.lab.run.needs import look_for
    from cse.lab.sweep.reads import needs_of_jobs

    missing: list[str] = []
    mistakes: list[str] = []
    for need in needs_of_jobs(planned):
        place, wrong = look_for(need)
        if wrong:
            mistakes.append(wrong)
        elif place is None:
            missing.append(need.name)
    if missing:
        of_program = "cse-eval" if line.program == "cse-eval" else line.sweep.word
        words = filter(None, [of_program, *texts_of(words_of_jobs(line.words))])
        fetch = shell_line("cse-data", "fetch", *words)
        print(f"not here: {', '.join(missing)}; where the hub can be reached, this gets them:\n  {fetch}")
    for mistake in dict.fromkeys(mistakes):
        print(mistake)
