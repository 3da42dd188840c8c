"""What a launcher runs for each job: nothing if the job is done already, else a process in the job's folder.

A process that was killed continues from its last checkpoint. A failed job is a line in the ledger, and stops no other.
"""

import fcntl
import math
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from omegaconf import DictConfig

from cse.config import scale
from cse.config.compose import composed
from cse.dotted import Json
from cse.files import read_json
from cse.record.runs import read_run
from cse.record.status import RUNNING, status_of
from cse.run import slurm
from cse.sweep import jobs, plan
from cse.training.signals import SIGNALS

SLOTS = "CSE_SWEEP_SLOTS"  # the GPU of each job that runs at the same time, joined by commas; it crosses processes
INTERRUPTED = "interrupted", None, "the same line again goes on from where it stopped"
CONFIGS = {"cse-train": "train", "cse-eval": "evaluate"}


def job(cfg: DictConfig) -> float:
    """Hydra's task: one job of the plan. Returns its score for a search, NaN where it has none."""
    from hydra.core.hydra_config import HydraConfig

    path, started = Path(cfg.plan), time.monotonic()
    if is_one_of_several() and plan.stopped(path):  # the line waits for all of them
        return math.nan
    this = plan.read(path)
    proposed = [o for o in HydraConfig.get().overrides.task if jobs.key_of(o) not in ("plan", "row")]
    one = this.table().job(jobs.merged([*this.rows[cfg.row], *proposed]))
    failure = next((end["job"] for end in plan.ends(path).values() if end["state"] in plan.FAILED), None)
    if this.fail_fast and failure:
        plan.record_end(path, one.name, "not run", why=f"jobs.fail_fast=true, and {failure} failed")
        return math.nan
    with forwarded() as told:
        state, score, why = run(one, path.parent.parent / one.name, told)
        plan.record_end(path, one.name, state, score=score, seconds=time.monotonic() - started, why=why)
    return math.nan if score is None else score[1]


def is_one_of_several() -> bool:
    """Whether this is one of the processes that run jobs at the same time (hydra/launcher=joblib)."""
    return multiprocessing.current_process().name != "MainProcess"


@dataclass
class Told:
    """The signals that came while a job was run, and its process, from the moment that it has one."""

    received: list[int] = field(default_factory=list)
    process: subprocess.Popen | None = None

    def hear(self, number: int, _: object) -> None:
        """Python's handler of a signal."""
        self.received.append(number)
        if self.process is not None:
            self.process.send_signal(number)

    def pass_on_to(self, process: subprocess.Popen) -> None:
        """The process hears what comes, and what came while it was started; twice the same is one to it."""
        self.process = process
        for number in self.received:
            process.send_signal(number)


@contextmanager
def forwarded() -> Iterator[Told]:
    """A block in which a signal is sent on to the job's process, to be handled as usual when the block ends.

    By then the job has saved. The usual handler ends the process, or is submitit's, which queues the job again. One of
    several processes that run jobs lives on, as its end would be the others' at once (cse.sweep.stops).
    """
    told = Told()
    listens = threading.current_thread() is threading.main_thread()
    before = {one: signal.signal(one, told.hear) for one in SIGNALS if listens}
    try:
        yield told
    finally:
        for one, handler in before.items():
            signal.signal(one, signal.SIG_IGN if is_one_of_several() else handler)
    if told.received and not is_one_of_several():
        first = signal.Signals(told.received[0])
        if slurm.is_wanted_later(first):
            first = signal.SIGUSR2
            # SLURM's own, as soon as submitit's scontrol has put the job back: scontrol, too, would die of it
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        handler = before[first]
        if callable(handler):
            handler(first, None)
        raise KeyboardInterrupt


def run(one: jobs.Job, folder: Path, told: Told) -> tuple[str, plan.Score | None, str]:
    """Run one job, unless it is done or a signal has come. Returns (state, score, why it failed)."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as lock:  # its child holds it too, so an orphan is not joined by a second
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            life = status_of(read_run(folder))
            return RUNNING, None, life.detail if life.state == RUNNING else "another process is starting it"
        before = read_json(folder / "results.json")
        if before.get("status") == "done":
            changes = differences(one, before)
            if not changes:
                return "done before", score_of(before), ""
            return "failed", None, f"{folder} is done, with {', '.join(changes[:3])}: move it away to run the job again"
        if one.scores and read_json(one.scores[0] / "results.json").get("status") != "done":
            maker = " ".join(a for a in one.scores[1].arguments if a.startswith(("sweep=", "case=")))
            return "failed", None, f"it scores {one.scores[0]}, which is not done: cse-train {maker}"
        command = command_of(one, folder)
        with gpu(told) as environment, open(folder / "job.log", "ab") as log:
            if told.received:
                return INTERRUPTED
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                pass_fds=[lock.fileno()],
            )
            told.pass_on_to(process)
            code = process.wait()
    results = read_json(folder / "results.json")
    if code == 0 and results.get("status") == "done":
        return "done", score_of(results), ""
    if code > 128 or -code in told.received:  # it heard the signal, or died of it as it did not listen yet
        return INTERRUPTED
    if code < 0:
        return "killed", None, f"by signal {-code}; the same line again goes on from its last checkpoint"
    lines = (folder / "job.log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    last = lines[-1].removeprefix(f"{one.program}: ") if lines else "it printed nothing"
    return "failed", None, f"{last} ({folder / 'job.log'})"


def command_of(one: jobs.Job, folder: Path) -> list[str]:
    """The process's command: its results and its model card show the program's name, W&B the job's group and name."""
    module = {"cse-train": "cse.cli.train", "cse-eval": "cse.cli.evaluate"}[one.program]
    start = f"import sys; sys.argv[0] = {one.program!r}; from {module} import main; main()"
    names = []
    config = composed(CONFIGS[one.program], one.arguments)
    if "wandb" in config.tracker:
        group = config.hydra.runtime.choices.get("sweep") or folder.parent.name
        names = [f"tracker.wandb.group={jobs.quoted(group)}", f"tracker.wandb.name={jobs.quoted(one.name)}"]
        names = [name for name in names if jobs.key_of(name) not in map(jobs.key_of, one.arguments)]
    return [sys.executable, "-c", start, *one.arguments, *names, f"hydra.run.dir={jobs.quoted(folder)}"]


@contextmanager
def gpu(told: Told) -> Iterator[dict[str, str]]:
    """Wait until one of the shared GPUs is free, or a signal comes; yield an environment with the one that the block
    then holds."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    slots = os.environ.get(SLOTS)
    if not slots:
        yield environment
        return
    while not told.received:
        for slot, device in enumerate(slots.split(",")):
            with open(Path(tempfile.gettempdir(), f"cse-{os.getuid()}-slot-{slot}-gpu-{device}"), "w") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                yield environment | {"CUDA_VISIBLE_DEVICES": device}
                return
        time.sleep(1)
    yield environment  # without a GPU, to a job that is not started any more


def differences(one: jobs.Job, results: Json) -> list[str]:
    """`key=before (now after)` of each setting in which the finished run differs from the job as it is now."""
    if one.program != "cse-train":
        return []
    config = composed("train", one.arguments)
    scale.fit(config)
    if config.smoke:  # its settings were shrunk
        return []
    now = jobs.settings(config)
    before = jobs.settings(DictConfig(results["config"]))
    return [f"{key}={before[key]} (now {now[key]})" for key in now if key in before and before[key] != now[key]]


def score_of(results: Json) -> plan.Score | None:
    """The score that selects; where nothing selects, the first average, else the first score.

    None where there is none, or it is no number (results.json has null for NaN).
    """
    metrics = results["metrics"]
    selected = (results["config"].get("trainer") or {}).get("select")
    averages = [name for name in metrics if name.endswith("average")]
    name = selected if selected in metrics else next(iter([*averages, *metrics]), None)
    return None if name is None or metrics[name] is None else (name, metrics[name])
