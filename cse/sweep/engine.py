"""Many jobs from one line: cse-train sweep=PAPER/TABLE, cse-train -m KEY=A,B and cse-eval -m KEY=A,B.

Each job is a process of its own in a folder named by what it runs: on this machine (cse.sweep.pool) or on a cluster
(hydra/launcher=submitit_slurm, cse.sweep.cluster), all of a grid or as a search proposes them (hydra/sweeper=smac,
cse.sweep.search).
"""

from collections.abc import Sequence
from shutil import which

from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from cse.config import compose as composition
from cse.config.keys import key_of
from cse.errors import MissingResource, UserError
from cse.files import make_folder
from cse.record.results import command_line
from cse.sweep.jobs import CONFIGS, Job
from cse.sweep.line import Line, read
from cse.sweep.pool import run_here
from cse.sweep.process import Outcome
from cse.sweep.start import Start
from cse.training.signals import SignalForwarder


def main(arguments: list[str], program: str = "cse-train") -> int:
    """Run the jobs, or show them (dry_run=true). Returns 0, or 1 where a job failed.

    Raises UserError for a mistake in any job's settings before the first one starts, Interrupted after a signal.
    """
    line = read(arguments, program)
    planned = line.jobs()
    check_settings(planned)
    if line.switch("dry_run"):
        from cse.sweep import estimate

        estimate.show(line.title, line.folder, planned, line.trials)
        return 0
    if line.launcher == "submitit_slurm" and which("sbatch") is None:
        raise MissingResource("hydra/launcher=submitit_slurm needs a machine of the cluster: sbatch is not on this one")
    is_grid = line.sweeper == "basic"
    make_folder(line.folder, "hydra.sweep.dir")
    count = f"jobs: {len(planned)}" if is_grid else f"searches: {len(planned)} of {line.trials} trials"
    print(f"{line.title}  {count}  folder: {line.folder}")
    again = command_line()
    with SignalForwarder(lambda: f"this goes on: {again}") as signals, signals.waiting(True):
        start = Start(signals, fail_fast=line.fail_fast)
        if is_grid:
            run_grid(line, planned, start)
        else:
            run_searches(line, start)
        start.print_table(line.title, [job.name for job in planned] if is_grid else [], line.report)
    return 1 if start.failure else 0


def run_grid(line: Line, planned: Sequence[Job], start: Start) -> None:
    """Run the jobs; those that score a run which the line makes come after the others."""
    made = {(line.folder / job.name).absolute() for job in planned}
    later = [job for job in planned if job.scores and job.scores[0] in made]
    launch([job for job in planned if job not in later], line, start)
    launch(later, line, start)


def run_searches(line: Line, start: Start) -> None:
    """Run each search in turn."""
    from cse.sweep.search import search

    for row in line.rows():
        search(line, row, start, lambda jobs: launch(jobs, line, start))


def launch(planned: Sequence[Job], line: Line, start: Start) -> list[Outcome]:
    """Run jobs where the line says. Returns their outcomes in the same order."""
    if line.launcher == "basic":
        return run_here(planned, line.folder, start, line.parallel)
    from cse.sweep.cluster import run_on_cluster

    return run_on_cluster(planned, line, start)


def check_settings(planned: Sequence[Job]) -> None:
    """Check jobs of every kind, and every value in one of them, before a job starts: settings, and what selects.

    Raises UserError for a key or a choice that a job does not have, or where no job has settings that it can have. A
    value that only some jobs cannot have fails in those, and leaves the others running.
    """
    kinds = set()
    refusals: list[UserError] = []
    accepted = 0
    seen: set[str] = set()
    for one in planned:
        keys = {key_of(argument) for argument in one.arguments}
        choices = {argument for argument in one.arguments if composition.is_group(key_of(argument))}
        kind = (one.program, frozenset(keys), frozenset(choices))
        if kind in kinds and seen.issuperset(one.arguments):
            continue
        kinds.add(kind)
        seen |= set(one.arguments)
        try:
            check(one)
            accepted += 1
        except UserError as error:
            refusals.append(error)
        except (HydraException, OmegaConfBaseException) as error:
            why = composition.explain(error, one.arguments, CONFIGS[one.program])
            raise UserError(f"{why} (in the job {one.name})" if len(planned) > 1 else why) from error
    if refusals and not accepted:
        raise refusals[0]


def check(job: Job) -> None:
    """Compose a job and check every setting of it. Raises UserError, or Hydra's error for an unknown key or choice."""
    from cse.config import scale
    from cse.config.check import validate
    from cse.run import build

    name = CONFIGS[job.program]
    config = validate(composition.composed(name, job.arguments), name)
    if job.program == "cse-train" and not scale.is_smoke(config):  # which selects by a score of its own
        scale.fit(config)
        build.check_selection(config)
