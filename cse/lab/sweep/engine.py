"""Many jobs from one line: cse-train sweep=PAPER/TABLE, cse-train -m KEY=A,B and cse-eval -m KEY=A,B.

Each job is a process of its own, in a folder named after what it runs. Jobs run on this machine (start.py) or on a
cluster (hydra/launcher=submitit_slurm, cluster.py). They are a whole grid, or what a search proposes
(hydra/sweeper=smac, smac.py).
"""

import shlex
from collections.abc import Sequence
from functools import partial
from typing import Any

from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from cse.errors import UserError
from cse.files import make_folder
from cse.lab.folder.results import command_line
from cse.lab.folder.runs import read_run
from cse.lab.folder.status import DONE
from cse.lab.run.build import check_selection
from cse.lab.run.job import steps_in_words
from cse.lab.sections import in_columns
from cse.lab.settings.check import validate
from cse.lab.settings.compose import is_group
from cse.lab.settings.keys import key_of
from cse.lab.settings.mistakes import explain
from cse.lab.settings.spelling import overrides_of, typed, value_of
from cse.lab.settings.words import first_values
from cse.lab.sweep.jobs import CONFIGS, PlannedJob, asks_for_smoke
from cse.lab.sweep.line import Line, own_words, read
from cse.lab.sweep.points import in_words, memory_of
from cse.lab.sweep.start import Runner, Start, check_id, idle_gpus, run_here, shares_of
from cse.training.signals import SignalForwarder


def main(words: list[str], program: str = "cse-train") -> int:
    """Run the jobs, or show them (dry_run=true). Returns 0, or 1 if a job failed.

    Raises UserError for a mistake in any job's settings before the first job starts, Interrupted after a signal.
    """
    line = read(words, program)
    if line.launcher == "submitit_slurm":
        from cse.lab.sweep.cluster import Described, executor_of

        executor_of(line, Described)  # refuses what submitit does not take before all jobs are composed
    planned, parallel = line.jobs(), line.options.jobs.parallel
    if line.search:
        check_search(line, planned[0])
    check_settings(planned)
    check_id(planned)
    if line.search:
        for row in line.rows:
            memory_of(line, row).check()
    shares = shares_of(planned, parallel) if line.launcher == "basic" else []
    if line.options.dry_run:
        return show_plan(line, planned)
    run, again = runner_of(line, shares), command_line()
    make_folder(line.folder, "hydra.sweep.dir")
    count = f"jobs: {len(planned)}"
    if line.search:
        count = f"trials: {line.search.n_trials}" + (f" of each of {len(planned)} searches" if len(planned) > 1 else "")
    print(f"{line.title}  {count}  folder: {line.folder}")
    if line.launcher == "basic" and (more := idle_gpus(planned[0], parallel)):
        print(f"{more} of this machine's GPUs are idle: jobs.parallel=N runs N jobs, trainer.devices=N one job on N")
    with SignalForwarder(lambda: f"this goes on: {again}") as signals, signals.waiting(True):
        start = Start(line.folder, signals, fail_fast=line.options.jobs.fail_fast)
        if line.search:
            from cse.lab.sweep.smac import search  # needs the package smac

            for row in line.rows:
                search(line, row, start, run)
        else:
            start.plan(planned)
            run_grid(planned, start, run)
        done = [one for name in start.outcomes if (one := read_run(line.folder / name)).status == DONE]
        names = [] if line.search else [job.name for job in planned]
        if asks_for_smoke(line.words):
            print("smoke tests: made-up data, and a score means nothing")
        start.print_table(line.title, names, line.report(done), searched=line.search is not None)
    return 1 if start.failure else 0


def run_grid(planned: Sequence[PlannedJob], start: Start, run: Runner) -> None:
    """Run the jobs, last those that score runs of the others."""
    made = {(start.folder / job.name).absolute() for job in planned}
    later = [job for job in planned if job.scores and job.scores[0] in made]
    run([job for job in planned if job not in later], start)
    run(later, start)


def show_plan(line: Line, planned: Sequence[PlannedJob]) -> int:
    """Print each planned job (of each search, one for example) with its steps, and what is missing. Returns what the
    run would: 1 if a job would be refused. Raises the first refusal if all would be."""
    from cse.lab.run.needs import look
    from cse.lab.sweep.reads import configs_of, needs_of_jobs, refusals_of

    refused = refusals_of(planned)
    if len(refused) == len(planned):
        raise next(iter(refused.values()))
    rows, configs = [("job", "steps")], configs_of(planned)
    for job, config in configs:
        if error := refused.get(job.name):
            rows.append((job.name, f"refused: {error}"))
            continue
        if job.program != "cse-train":
            rows.append((job.name, "only scored"))
            continue
        rows.append((job.name, "a smoke test" if config.smoke else steps_in_words(config)))
    print(in_columns(rows))
    times = f" x {line.search.n_trials} trials" if line.search else ""
    print(f"{line.title}: {len(planned)} job{'s' * (len(planned) != 1)}{times}, in {line.folder}")
    if line.search:
        print(f"each trial has values of {in_words(memory_of(line, line.rows[0]).ranges)}")
    looked = [(need.name, *look(need)) for need in needs_of_jobs(configs)]
    if missing := [name for name, place, wrong in looked if place is None and not wrong]:
        words = [f"sweep={line.title}"] if line.sweep else ["cse-eval"] if line.program == "cse-eval" else []
        fetch = shlex.join(["cse-data", "fetch", *words, *map(typed, own_words(line.words))])
        print(f"not here: {', '.join(missing)}; where the hub can be reached, this gets them:\n  {fetch}")
    print(*dict.fromkeys(f"{wrong}\n" for *_, wrong in looked if wrong), sep="", end="")
    if line.launcher == "submitit_slurm":
        from cse.lab.sweep import cluster

        cluster.show(line, planned)
    if refused:
        print(f"{len(refused)} of {len(planned)} jobs would be refused before their first step")
    return 1 if refused else 0


def runner_of(line: Line, shares: Sequence[str | None]) -> Runner:
    """What runs the jobs on this machine or a cluster. Raises UserError for an invalid value of hydra.launcher.*."""
    if line.launcher == "basic":
        return partial(run_here, shares=shares)
    from cse.lab.sweep.cluster import executor_of, run_on_cluster

    return partial(run_on_cluster, executor=executor_of(line))


def check_settings(planned: Sequence[PlannedJob]) -> None:
    """Check the settings and the selection of the jobs before any starts.

    A job whose words and combination of choices were all seen in earlier jobs is not checked again. Raises UserError
    for a key or a choice that does not exist in some job, or if no job has valid settings. A value that is invalid only
    in some jobs makes those fail and lets the others run.
    """
    seen: set[object] = set()
    refusals: list[UserError] = []
    accepted = 0
    for job in planned:
        new = {frozenset(word for word in job.words if is_group(key_of(word))), *job.words}
        if new <= seen:
            continue
        seen |= new
        try:
            check(job)
            accepted += 1
        except UserError as error:
            refusals.append(error)
        except (HydraException, OmegaConfBaseException) as error:
            why = explain(error, job.words, CONFIGS[job.program])
            raise UserError(f"{why} (in the job {job.name})" if len(planned) > 1 else why) from error
    if refusals and accepted == 0:
        raise refusals[0]


def check_search(line: Line, job: PlannedJob) -> None:
    """Raise UserError for a search whose jobs select by no score of dev, which it would improve, for a seed among what
    it searches, for a range without values, and for one with values that its key cannot have. job: one of its jobs."""
    for one in (one for row in line.rows for one in overrides_of(row) if one.is_sweep_override()):
        value: Any = one.value()
        if one.key_or_group.rpartition(".")[2] == "seed":
            raise UserError(
                f"{one.input_line}: a search of seeds finds the luckiest one. Give one seed; the report of the search "
                "has the line that trains more seeds of its best"
            )
        if one.is_interval_sweep() and (not value.start < value.end or ("log" in value.tags and value.start <= 0)):
            raise UserError(
                f"{one.input_line}: the lower bound comes first, and above 0 where the range is logarithmic"
            )
    if job.program != "cse-train" or job.composed().trainer.select is None:
        raise UserError(
            "hydra/sweeper=smac improves the score that selects a step: cse-train with trainer.select=dev/..."
        )
    for row in line.rows[:1]:
        check_ranges(line, row)


def check_ranges(line: Line, row: Sequence[str]) -> None:
    """Raise UserError if a key cannot have each of its choices, the upper end of its interval, or a fraction in it."""
    first = dict(zip(map(key_of, row), first_values(row), strict=True))
    for one in overrides_of(row):
        if not one.is_sweep_override():
            continue
        value: Any = one.value()
        texts = [] if one.is_interval_sweep() else list(one.sweep_string_iterator())
        if one.is_interval_sweep():
            texts = [str(value.start), str(value.end)]
            texts += [str(value.start + (value.end - value.start) / 3.1)] * isinstance(value.start, float)
        for text in texts:
            try:
                check(line.job([*(first | {one.key_or_group: f"{one.key_or_group}={text}"}).values()]))
            except UserError as error:
                whole = f"{one.key_or_group}=int({value_of(str(one.input_line))})"
                hint = f"; {whole} has whole numbers" * (one.is_interval_sweep() and "integer" in str(error))
                raise UserError(f"{one.input_line}: {error}{hint}") from error


def check(job: PlannedJob) -> None:
    """Compose a job and check all its settings. Raises UserError, or Hydra's error for an unknown key or choice."""
    config = validate(job.composed(), CONFIGS[job.program])
    if job.program == "cse-train" and not config.smoke:  # a smoke test selects by a score of its own
        check_selection(config)
