"""Many jobs from one line: cse-train sweep=PAPER/TABLE, cse-train -m KEY=A,B and cse-eval -m KEY=A,B.

Each job is a fresh process in a folder named by what it runs. Hydra's launchers start them: one after the other,
several at a time (jobs.parallel=N, hydra/launcher=joblib), on a cluster (hydra/launcher=submitit_slurm), or as a search
proposes them (hydra/sweeper=smac). What they start is cse.sweep.worker.job, with the number of a row of the plan.
"""

import os
import signal
import sys
from collections.abc import Sequence

from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from cse.config import compose as composition
from cse.errors import UserError
from cse.files import make_folder
from cse.record.results import command_line
from cse.sweep import jobs, line, plan, stops, worker

QUIET = ["hydra/job_logging=none", "hydra/hydra_logging=none", "hydra.output_subdir=null", "hydra.sweep.subdir=."]


def main(arguments: list[str], program: str = "cse-train") -> int:
    """Run the jobs, or show them (dry_run=true). Returns 0, 1 where a job failed, 128 + the number of a signal.

    Raises UserError for a mistake in any job's settings before the first one starts.
    """
    this, again = line.read(arguments, program), command_line()
    dry_run, fail_fast = this.switch("dry_run"), this.switch("jobs.fail_fast")
    rows = this.rows()
    planned = [this.table.job(jobs.sampled(row)) for row in rows]
    check_settings(planned)
    trials = this.trials  # a wrong count is refused before a file is written
    if dry_run:
        from cse.sweep import estimate

        estimate.show(this.title, this.folder, planned, trials)
        return 0
    if not rows:
        axes = [argument for argument in this.jobs_own if jobs.is_axis(argument)]
        raise UserError(f"{' '.join(axes)}: no job is left; is a range empty?")
    plugins = [f"{key}={value}" for key, value in this.given.items() if key.startswith("hydra/")]
    composition.composed(worker.CONFIGS[program], plugins)  # refused here, before a file is written
    make_folder(this.folder, "hydra.sweep.dir")
    path = plan.Plan(program, this.table.name, list(this.table.keys), rows, fail_fast).write(this.folder)
    hydra = [f"plan={jobs.quoted(path)}", f"hydra.sweep.dir={jobs.quoted(this.folder)}", *launcher(this), *this.passed]
    if this.sweeper == "basic":
        names, count, starts = [one.name for one in planned], f"jobs: {len(rows)}", [[f"row=range({len(rows)})"]]
    else:
        names, count = [], f"searches: {len(rows)} of {trials} trials"
        starts = [search(number, row, this) for number, row in enumerate(rows)]
    print(f"{this.title}  {count}  folder: {this.folder}")
    try:
        with stops.listening(path, several="hydra/launcher=joblib" in hydra):
            for start in starts:
                launch([*start, *hydra])
    except KeyboardInterrupt:
        pass  # the plan says that it was stopped
    except Exception:  # joblib's, of a process that was only starting and died of the signal
        if plan.stopped(path) is None:
            raise
    code, number = plan.conclude(this.title, path, names, this.report), plan.stopped(path)
    if number is None:
        return code
    print(f"stopped by {signal.Signals(number).name}; this goes on: {again}", file=sys.stderr)
    return 128 + number


def check_settings(planned: Sequence[jobs.Job]) -> None:
    """Check jobs of every kind, and every value in one of them, before a job starts: settings, and what selects.

    Raises UserError for a key or a choice that a job does not have, or where no job has settings that it can have. A
    value that only some jobs cannot have fails in those, and leaves the others running.
    """
    from cse.config import scale
    from cse.config.check import validate
    from cse.run import build

    kinds = set()
    refusals: list[UserError] = []
    accepted = 0
    seen: set[str] = set()
    for one in planned:
        keys = {jobs.key_of(argument) for argument in one.arguments}
        choices = {argument for argument in one.arguments if composition.is_group(jobs.key_of(argument))}
        kind = (one.program, frozenset(keys), frozenset(choices))
        if kind in kinds and seen.issuperset(one.arguments):
            continue
        kinds.add(kind)
        seen |= set(one.arguments)
        name = worker.CONFIGS[one.program]
        try:
            config = validate(composition.composed(name, one.arguments), name)
            if one.program == "cse-train" and not config.smoke:  # which selects by a score of its own
                scale.fit(config)
                build.check_selection(config)
            accepted += 1
        except UserError as error:
            refusals.append(error)
        except (HydraException, OmegaConfBaseException) as error:
            why = composition.explain(error, one.arguments, name)
            raise UserError(f"{why} (in the job {one.name})" if len(planned) > 1 else why) from error
    if refusals and not accepted:
        raise refusals[0]


def search(number: int, row: Sequence[str], this: line.Line) -> list[str]:
    """Hydra's arguments for the search of one row: its axes, which the sweeper chooses values of."""
    axes = [f"++{override}" for override in row if jobs.is_axis(override)]
    memory = jobs.digest(filter(jobs.decides, row))
    own = {"optuna": ["hydra.sweeper.direction=maximize"], "smac": [f"hydra.sweeper.memory='{memory}'"]}
    sweeper = [f"hydra/sweeper={this.sweeper}", f"hydra.sweeper.n_trials={this.trials}"]
    return [f"row={number}", *axes, *sweeper, *own.get(this.sweeper, [])]


def launcher(this: line.Line) -> list[str]:
    """Hydra's launcher; the GPUs that jobs on this machine share go into the environment."""
    os.environ.pop(worker.SLOTS, None)
    choice = this.given.get("hydra/launcher", "joblib" if this.parallel > 1 else "basic")
    if choice != "joblib":
        return [f"hydra/launcher={choice}"]
    gpus = visible_gpus()
    number = this.count("hydra.launcher.n_jobs", this.parallel if this.parallel > 1 else max(1, len(gpus)))
    if gpus:
        os.environ[worker.SLOTS] = ",".join(gpus[i % len(gpus)] for i in range(number))
    return ["hydra/launcher=joblib", f"hydra.launcher.n_jobs={number}"]


def visible_gpus() -> list[str]:
    """The GPUs of this process, as CUDA_VISIBLE_DEVICES names them."""
    import torch

    numbers = [str(gpu) for gpu in range(torch.cuda.device_count())]
    return (
        os.environ["CUDA_VISIBLE_DEVICES"].split(",") if numbers and "CUDA_VISIBLE_DEVICES" in os.environ else numbers
    )


def launch(arguments: list[str]) -> None:
    """Hand the rows of a plan to Hydra's launcher, under a config that has no other keys."""
    import hydra
    from hydra.core.config_store import ConfigStore

    ConfigStore.instance().store(name="jobs", node={"plan": "", "row": 0})
    os.environ["HYDRA_FULL_ERROR"] = "1"  # or Hydra would print errors and exit
    sys.argv = [sys.argv[0], "--multirun", *QUIET, *arguments]
    hydra.main(version_base="1.3", config_path=None, config_name="jobs")(worker.job)()
