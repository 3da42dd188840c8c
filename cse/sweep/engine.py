"""cse-train sweep=PAPER/TABLE: a paper's table. Each job is a fresh process in a folder named by what it runs.

Hydra expands the axes and launches them: here one after the other, on several GPUs (hydra/launcher=joblib), on a
cluster (hydra/launcher=submitit_slurm), or as a search proposes them (hydra/sweeper=smac or optuna). What it launches
is `job`: nothing if its folder says that it is done, else a process that starts there, or goes on where it was killed.
"""

import fcntl
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hydra.errors import ConfigCompositionException
from omegaconf import DictConfig, OmegaConf

from cse.errors import UserError
from cse.run import composition
from cse.sweep import jobs

INFORM = ("--cfg", "-c", "--info", "-i", "--shell-completion", "-sc", "--hydra-help", "--version")
LEDGER = "jobs.jsonl"  # in the sweep's folder: what became of each job since the last start, a line as each ends
SLOTS = "CSE_SWEEP_SLOTS"  # the GPU of each job that runs at the same time, joined by commas; it crosses processes
QUIET = ["hydra/job_logging=none", "hydra/hydra_logging=none", "hydra.output_subdir=null", "hydra.sweep.subdir=."]


def wanted(arguments: Sequence[str]) -> bool:
    """Whether these are the arguments of a sweep, and not of one of its jobs or of a look at the config."""
    names = [jobs.value_of(argument) for argument in arguments if argument.startswith("sweep=")]
    single = "hydra.mode=RUN" in arguments or any(argument in INFORM for argument in arguments)
    return bool(names) and names[-1] not in ("null", "") and not single


def main(arguments: list[str]) -> int:
    """Run a sweep, or show it (dry_run=true). Returns 0, or 1 where a job failed. Raises UserError, Hydra's errors."""
    arguments = [argument for argument in arguments if argument not in ("-m", "--multirun")]
    given = {jobs.key_of(argument): jobs.value_of(argument) for argument in arguments}
    composition.refuse_additions(arguments, "train")
    sweep = jobs.read(given["sweep"])
    grid = given.get("hydra/sweeper", sweep.sweeper) == "basic"
    searches = [[]] if grid else sweep.searches(arguments)
    planned = sweep.jobs(arguments) if grid else []
    trials = 1 if grid else int(given.get("hydra.sweeper.n_trials", sweep.trials))
    if given.get("dry_run", "false").lower() == "true":
        from cse.sweep import estimate

        estimate.show(sweep, planned or [sweep.job(rest(arguments, search)) for search in searches], trials)
        return 0
    folder = Path(given.get("hydra.sweep.dir", sweep.place(arguments)))
    arguments = of_cases(sweep, arguments)
    more = [*QUIET, *parallel(given), f"hydra.sweep.dir={jobs.quoted(folder)}"]
    if given.get("hydra/sweeper") == "optuna":
        more.append("hydra.sweeper.direction=maximize")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / LEDGER).write_text("")
    count = f"jobs: {len(planned)}" if grid else f"searches: {len(searches)} of {trials} trials"
    print(f"{sweep.name}  {count}  folder: {folder}")  # noqa: T201
    cases = [axis for axis in sweep.axes(arguments) if axis.startswith("case=")]
    for search in searches:
        composition.program("train", job, ["--multirun", *rest([*cases, *arguments], search), *more])()
    return conclude(sweep.name, folder, [one.name for one in planned])


def of_cases(sweep: jobs.Sweep, arguments: list[str]) -> list[str]:
    """The arguments, with ++ before keys that only cases have: Hydra composes the sweep itself without its cases.

    Raises Hydra's error, or UserError naming the case, for a key that a chosen case does not have.
    """
    keys = {*composition.valid_keys("train", [f"sweep={sweep.name}"]), "case"}
    own = [a for a in arguments if jobs.key_of(a) not in keys and not re.match(r"hydra[./]", jobs.key_of(a))]
    if not own:
        return arguments
    cases = next((jobs.value_of(a).split(",") for a in arguments if a.startswith("case=")), list(sweep.cases))
    for case in cases or [""]:
        chosen = [a for a in arguments if jobs.key_of(a) != "case"] + ([f"case={case}"] if case else [])
        one = sweep.job(jobs.expanded([*sweep.axes([*chosen, "case="]), *chosen])[0])
        try:
            if one.program == "cse-train":
                composition.composed("train", one.arguments)
        except ConfigCompositionException as error:
            if len(cases) < 2:
                raise
            why = composition.explain(error, one.arguments, "train")
            raise UserError(f"{why} (in case={case}; case=a,b picks the cases that a setting is for)") from error
    return [f"++{argument}" if argument in own else argument for argument in arguments]


def rest(arguments: Sequence[str], search: Sequence[str]) -> list[str]:
    """The arguments with what a search keeps fixed in place of what they said of it."""
    fixed = {jobs.key_of(override) for override in search}
    return [*search, *(argument for argument in arguments if jobs.key_of(argument) not in fixed)]


def parallel(given: dict[str, str]) -> list[str]:
    """Launcher arguments for jobs.parallel=N and hydra/launcher=joblib, and the slots of GPUs in the environment."""
    said = given.get("jobs.parallel", "1")
    if not said.isdecimal() or int(said) < 1:
        raise UserError(f"jobs.parallel={said} must be a whole number of at least 1")
    number = int(said)
    if number == 1 and given.get("hydra/launcher") != "joblib":
        os.environ.pop(SLOTS, None)
        return []
    import torch

    gpus = [str(gpu) for gpu in range(torch.cuda.device_count())]
    if gpus and "CUDA_VISIBLE_DEVICES" in os.environ:
        gpus = os.environ["CUDA_VISIBLE_DEVICES"].split(",")
    number = int(given.get("hydra.launcher.n_jobs", max(number, len(gpus) if number == 1 else 1)))
    os.environ[SLOTS] = ",".join(gpus[i % len(gpus)] for i in range(number)) if gpus else ""
    return ["hydra/launcher=joblib", f"hydra.launcher.n_jobs={number}"]


def job(cfg: DictConfig) -> float:
    """What Hydra launches: one job, whatever becomes of it. Returns its score for a search, NaN where it has none."""
    from hydra.core.hydra_config import HydraConfig

    hydra: Any = HydraConfig.get()
    one = jobs.read(hydra.runtime.choices.sweep).job(hydra.overrides.task)
    sweep_folder = Path(hydra.runtime.cwd, hydra.sweep.dir).resolve()
    started = time.time()
    state, score, why = run(one, sweep_folder / one.name, cfg)
    line = {"job": one.name, "state": state, "score": score, "seconds": round(time.time() - started), "why": why}
    with open(sweep_folder / LEDGER, "a", encoding="utf-8") as ledger:
        ledger.write(json.dumps(line) + "\n")
    shown = "" if score is None else f"{score:.2f}"
    print(f"{time.strftime('%H:%M:%S')}  {state:11}  {shown:>6}  {one.name}  {why}".rstrip(), flush=True)  # noqa: T201
    return math.nan if score is None else score


def run(one: jobs.Job, folder: Path, cfg: DictConfig) -> tuple[str, float | None, str]:
    """(state, score, why it failed) of one job, after it has been run where that was needed."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as lock:  # its child holds it too, so an orphan is not joined by a second
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return "elsewhere", None, "another process is at it"
        results = results_of(folder)
        if results.get("status") == "done":
            other = differences(one, results) if not cfg.smoke else []
            if other:
                return (
                    "failed",
                    None,
                    f"{folder} is done, with {', '.join(other[:3])}: move it away to run the job anew",
                )
            return "done before", score_of(results), ""
        if one.scores and results_of(one.scores[0]).get("status") != "done":
            made_by = " ".join(a for a in one.scores[1].arguments if a.startswith(("sweep=", "case=")))
            return "failed", None, f"it scores {one.scores[0]}, which is not done: cse-train {made_by}"
        with gpu() as environment, open(folder / "job.log", "ab") as log:
            code = subprocess.run(
                command_of(one, folder, cfg), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                env=environment, pass_fds=[lock.fileno()],
            ).returncode  # fmt: skip
    results = results_of(folder)
    if code == 0 and results.get("status") == "done":
        return "done", score_of(results), ""
    if code < 0:
        return "killed", None, f"by signal {-code}; the same line again goes on from its last checkpoint"
    said = (folder / "job.log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return "failed", None, f"{said[-1] if said else 'without a word'} ({folder / 'job.log'})"


def command_of(one: jobs.Job, folder: Path, cfg: DictConfig) -> list[str]:
    """The process: its own name stands in its results and its model card."""
    module = {"cse-train": "cse.cli.train", "cse-eval": "cse.cli.evaluate"}[one.program]
    start = f"import sys; sys.argv[0] = {one.program!r}; from {module} import main; main()"
    names = []
    if (
        one.program == "cse-train" and "wandb" in cfg.tracker
    ):  # the sweep is the group, so a dashboard compares its jobs
        group = jobs.value_of(one.arguments[0])
        names = [f"tracker.wandb.group={jobs.quoted(group)}", f"tracker.wandb.name={jobs.quoted(one.name)}"]
    return [sys.executable, "-c", start, *one.arguments, *names, f"hydra.run.dir={jobs.quoted(folder)}"]


@contextmanager
def gpu() -> Iterator[dict[str, str]]:
    """An environment with one of the GPUs that jobs share, for as long as the job runs; waits until one is free."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    slots = os.environ.get(SLOTS)
    if not slots:
        yield environment
        return
    while True:
        for slot, device in enumerate(slots.split(",")):
            with open(Path(tempfile.gettempdir(), f"cse-{os.getuid()}-slot-{slot}-gpu-{device}"), "w") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                yield environment | {"CUDA_VISIBLE_DEVICES": device}
                return
        time.sleep(1)


def differences(one: jobs.Job, results: dict[str, Any]) -> list[str]:
    """`key=before (now after)` of the settings that the finished run does not share with the job as it stands now."""
    if one.program != "cse-train":
        return []
    now = jobs.settings(composition.composed("train", one.arguments))
    before = jobs.settings(OmegaConf.create(results["config"]))
    return [f"{key}={before[key]} (now {now[key]})" for key in now if key in before and before[key] != now[key]]


def results_of(folder: Path) -> dict[str, Any]:
    try:
        return json.loads((folder / "results.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def score_of(results: dict[str, Any]) -> float | None:
    """The selection score; where nothing selects, the first average."""
    metrics = results["metrics"]
    chosen = (results["config"].get("trainer") or {}).get("select")
    return metrics.get(chosen, next((value for key, value in metrics.items() if key.endswith("average")), None))


def conclude(name: str, folder: Path, planned: list[str]) -> int:
    """The table of all jobs. Returns 1 if one failed, else 0."""
    from rich.console import Console
    from rich.table import Table

    told = [json.loads(line) for line in (folder / LEDGER).read_text(encoding="utf-8").splitlines()]
    ends = {line["job"]: line for line in told}
    table = Table("job", "state", "score", "time", "", box=None, header_style="bold")
    for job_name in dict.fromkeys([*planned, *ends]):
        end = ends.get(job_name, {"state": "not run", "score": None, "seconds": None, "why": ""})
        score = "" if end["score"] is None else f"{end['score']:.2f}"
        table.add_row(
            job_name, end["state"], score, "" if end["seconds"] is None else f"{end['seconds']} s", end["why"]
        )
    Console(width=None if sys.stdout.isatty() else 200, soft_wrap=True).print(table)
    bad = sum(end["state"] in ("failed", "killed") for end in ends.values())
    done = sum(end["state"] in ("done", "done before") for end in ends.values())
    rest = f", {bad} failed" if bad else ""
    print(f"{name}: {done} of {max(len(planned), len(ends))} done{rest}, in {folder}; cse-report sweep={name}")  # noqa: T201
    return 1 if bad else 0
