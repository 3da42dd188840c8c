"""Many jobs from one line: cse-train sweep=PAPER/TABLE, cse-train -m KEY=A,B and cse-eval -m KEY=A,B.

Each job is a fresh process in a folder named by what it runs. Hydra's launchers start them: one after the other,
several at a time (jobs.parallel=N, hydra/launcher=joblib), on a cluster (hydra/launcher=submitit_slurm), or as a search
proposes them (hydra/sweeper=smac). What they start is cse.sweep.worker.job, with the number of a row of the plan.
"""

import os
import re
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from cse.errors import MissingResource, UserError
from cse.run import composition
from cse.sweep import jobs, multirun, plan, worker

MULTI = ("-m", "--multirun")
INFORM = ("--cfg", "-c", "--info", "-i", "--shell-completion", "-sc", "--hydra-help", "--version")
OWN = re.compile(r"sweep|dry_run|jobs\..*|hydra/(launcher|sweeper)|hydra\.(launcher|sweeper|sweep|mode|run)(\..*)?")
"""The keys that say how jobs are started; all others are the jobs' own."""
PASSED = re.compile(r"hydra/launcher|hydra\.(launcher|sweeper)\.(?!n_trials).*")
"""Those of them that Hydra's launcher and sweeper read as they stand."""
QUIET = ["hydra/job_logging=none", "hydra/hydra_logging=none", "hydra.output_subdir=null", "hydra.sweep.subdir=."]
TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
STOPPED = 130  # as a shell says it of Ctrl-C
PLUGINS = {
    ("hydra/launcher", "joblib"): ("hydra_joblib_launcher", "pip install 'cse-lab[launchers]'"),
    ("hydra/launcher", "submitit"): ("hydra_submitit_launcher", "pip install 'cse-lab[launchers]'"),
    ("hydra/sweeper", "optuna"): (
        "hydra_optuna_sweeper",
        "hydra/sweeper=smac (pip install 'cse-lab[smac]') is the search that this project keeps; "
        "pip install hydra-optuna-sweeper brings optuna 2.10, as it refuses optuna 3 and later",
    ),
}


def wanted(arguments: Sequence[str]) -> bool:
    """Whether these are the arguments of many jobs, and not of one of them or of a look at the config."""
    sweeps = [jobs.value_of(argument) for argument in arguments if argument.startswith("sweep=")]
    single = "hydra.mode=RUN" in arguments or any(argument in INFORM for argument in arguments)
    several = any(argument in MULTI for argument in arguments)
    return not single and (several or is_named(sweeps[-1] if sweeps else None))


def main(arguments: list[str], program: str = "cse-train") -> int:
    """Run the jobs, or show them (dry_run=true). Returns 0, 1 where a job failed, or STOPPED after Ctrl-C.

    Raises UserError for a mistake in any job's settings before the first one starts.
    """
    arguments = [argument for argument in arguments if argument not in MULTI]
    given = {jobs.key_of(argument): jobs.value_of(argument) for argument in arguments}
    check_start(given)
    dry_run, fail_fast = switch(given, "dry_run"), switch(given, "jobs.fail_fast")
    told = [argument for argument in arguments if not OWN.fullmatch(jobs.key_of(argument))]
    table = jobs.read(given["sweep"]) if is_named(given.get("sweep")) else multirun.of_line(program, told)
    sweeper, trials = given.get("hydra/sweeper", table.sweeper), given.get("hydra.sweeper.n_trials", table.trials)
    rows = rows_of(table, told, sweeper)
    planned = [table.job(jobs.sampled(row)) for row in rows]
    check_keys(planned)
    folder, title = Path(given.get("hydra.sweep.dir", table.place(told))), table.name or program
    if dry_run:
        from cse.sweep import estimate

        estimate.show(title, folder, planned, 1 if sweeper == "basic" else int(trials))
        return 0
    path = plan.Plan(program, table.name, list(table.keys), rows, fail_fast).write(folder)
    if sweeper == "basic":
        names, count, starts = [one.name for one in planned], f"jobs: {len(rows)}", [[f"row=range({len(rows)})"]]
    else:
        names, count = [], f"searches: {len(rows)} of {trials} trials"
        starts = [search(number, row, sweeper, trials) for number, row in enumerate(rows)]
    print(f"{title}  {count}  folder: {folder}")  # noqa: T201
    report = f"cse-report sweep={table.name}" if table.name else f"cse-report runs={folder}"
    hydra = [f"plan={jobs.quoted(path)}", f"hydra.sweep.dir={jobs.quoted(folder)}", *launcher(arguments, given)]
    try:
        for start in starts:
            launch([*start, *hydra])
    except KeyboardInterrupt:
        plan.conclude(title, path, names, report)
        print("stopped; the same line again goes on", file=sys.stderr)  # noqa: T201
        return STOPPED
    return plan.conclude(title, path, names, report)


def is_named(sweep: str | None) -> bool:
    """Whether the value of `sweep=`, None where the line has none, names a sweep."""
    return sweep not in (None, "null", "")


def rows_of(table: jobs.Sweep | multirun.Multirun, told: Sequence[str], sweeper: str) -> list[list[str]]:
    """The overrides of each job of a grid, equal jobs (a cse-eval that no axis changes) once; or of each search."""
    line = jobs.merged([*table.axes(told), *told])
    if sweeper == "basic":
        return list({table.job(row).name: row for row in jobs.expanded(line)}.values())
    return [rest(line, fixed) for fixed in table.searches(told)]


def search(number: int, row: Sequence[str], sweeper: str, trials: int | str) -> list[str]:
    """Hydra's arguments for the search of one row: its axes, which the sweeper chooses values of."""
    axes = [f"++{override}" for override in row if jobs.is_axis(override)]
    memory = jobs.digest(filter(jobs.decides, row))
    own = {"optuna": ["hydra.sweeper.direction=maximize"], "smac": [f"hydra.sweeper.memory='{memory}'"]}
    return [
        f"row={number}",
        *axes,
        f"hydra/sweeper={sweeper}",
        f"hydra.sweeper.n_trials={trials}",
        *own.get(sweeper, []),
    ]


def check_start(given: dict[str, str]) -> None:
    """Raise UserError for a line that cannot start jobs, MissingResource for a launcher that is not installed."""
    if "RANK" in os.environ:
        raise UserError("-m and sweep= start processes of their own: run them without torchrun, accelerate or srun")
    if given.get("resume", "null") not in ("auto", "null", ""):
        raise UserError(f"resume={given['resume']} goes on with one run; many go on when the same line is given again")
    if number_of(given) > 1 and given.get("hydra/launcher", "joblib") != "joblib":
        raise UserError(
            f"jobs.parallel={given['jobs.parallel']} is for jobs on this machine, and hydra/launcher="
            f"{given['hydra/launcher']} is not: hydra.launcher.array_parallelism=N bounds a cluster's"
        )
    chosen = given | ({"hydra/launcher": "joblib"} if number_of(given) > 1 else {})
    for (key, start), (module, advice) in PLUGINS.items():
        if chosen.get(key, "").startswith(start) and find_spec(f"hydra_plugins.{module}") is None:
            raise MissingResource(f"{key}={chosen[key]} is not installed: {advice}")


def check_keys(planned: Sequence[jobs.Job]) -> None:
    """Compose the config of each kind of job. Raises UserError for a key or a choice that it does not have."""
    kinds = set()
    for one in planned:
        keys = {jobs.key_of(argument) for argument in one.arguments}
        choices = {argument for argument in one.arguments if composition.is_group(jobs.key_of(argument))}
        kind = (one.program, frozenset(keys), frozenset(choices))
        if kind in kinds:
            continue
        kinds.add(kind)
        name = worker.CONFIGS[one.program]
        try:
            composition.composed(name, one.arguments)
        except (HydraException, OmegaConfBaseException) as error:
            why = composition.explain(error, one.arguments, name)
            raise UserError(f"{why} (in the job {one.name})" if len(planned) > 1 else why) from error


def rest(arguments: Sequence[str], search: Sequence[str]) -> list[str]:
    """The arguments with what a search keeps fixed in place of what they said of it."""
    fixed = {jobs.key_of(override) for override in search}
    return [*search, *(argument for argument in arguments if jobs.key_of(argument) not in fixed)]


def launch(arguments: list[str]) -> None:
    """Hand the rows of a plan to Hydra's launcher, under a config that has no other keys."""
    import hydra
    from hydra.core.config_store import ConfigStore

    ConfigStore.instance().store(name="jobs", node={"plan": "", "row": 0})
    os.environ["HYDRA_FULL_ERROR"] = "1"  # or Hydra would print errors and exit
    sys.argv = [sys.argv[0], "--multirun", *QUIET, *arguments]
    hydra.main(version_base="1.3", config_path=None, config_name="jobs")(worker.job)()


def launcher(arguments: list[str], given: dict[str, str]) -> list[str]:
    """Those of the arguments that are for Hydra's launcher; the GPUs that jobs share go into the environment."""
    passed = [argument for argument in arguments if PASSED.fullmatch(jobs.key_of(argument))]
    os.environ.pop(worker.SLOTS, None)
    number = number_of(given)
    if number == 1 and given.get("hydra/launcher") != "joblib":
        return passed
    import torch

    gpus = [str(gpu) for gpu in range(torch.cuda.device_count())]
    if gpus and "CUDA_VISIBLE_DEVICES" in os.environ:
        gpus = os.environ["CUDA_VISIBLE_DEVICES"].split(",")
    number = int(given.get("hydra.launcher.n_jobs", max(number, len(gpus) if number == 1 else 1)))
    os.environ[worker.SLOTS] = ",".join(gpus[i % len(gpus)] for i in range(number)) if gpus else ""
    others = [argument for argument in passed if jobs.key_of(argument) != "hydra/launcher"]
    return ["hydra/launcher=joblib", *others, f"hydra.launcher.n_jobs={number}"]


def number_of(given: dict[str, str]) -> int:
    """Jobs at the same time. Raises UserError unless jobs.parallel is a whole number of at least 1."""
    value = given.get("jobs.parallel", "1")
    if not value.isdecimal() or int(value) < 1:
        raise UserError(f"jobs.parallel={value} must be a whole number of at least 1")
    return int(value)


def switch(given: dict[str, str], key: str) -> bool:
    """What the line says of a switch, False where nothing. Raises UserError for anything but a word for truth."""
    value = given.get(key, "false").lower()
    if value not in TRUTH:
        raise UserError(f"{key}={given[key]} must be true or false")
    return TRUTH[value]
