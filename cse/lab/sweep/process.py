"""One job as a process.

`run_job` runs the job from its last checkpoint, unless the job is already done, and reads the job's outcome from the
job's folder. The heartbeat in this folder prevents a second start from running the same job.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from cse.errors import RunError, UserError
from cse.files import make_folder
from cse.lab.folder.changes import Change, changed_code, changed_files, changed_settings, changes_in_words
from cse.lab.folder.heartbeat import read_beat
from cse.lab.folder.jobs_file import LOG
from cse.lab.folder.runs import Run, read_run
from cse.lab.folder.status import State
from cse.lab.run.evaluators import selected_score
from cse.lab.settings.arguments import spell_argument, texts_of
from cse.lab.settings.compose import without_hydra
from cse.lab.settings.references import resolved
from cse.lab.sweep.job import PlannedJob
from cse.lab.sweep.outcomes import Outcome
from cse.lab.sweep.rows import hash_of
from cse.lab.text_columns import say
from cse.score import Score
from cse.training.signals import SIGNALS, SignalForwarder

LOG_END = 2**16  # the last line is looked for in this many bytes at the end of a job's log


def run_job(job: PlannedJob, folder: Path, signals: SignalForwarder, gpus: str | None = None) -> Outcome:
    """Run one job, unless the job is done or already running. Print the job's name when the job starts.

    signals: forwards signals to the job's process. gpus: CUDA_VISIBLE_DEVICES of the process; None for all GPUs.
    """
    try:
        if (known := known_outcome(job, folder)) is not None:
            return known
        command, started = command_of(job, folder), time.monotonic()
        if signals.requested is not None:
            return Outcome(job.name, State.INTERRUPTED)
        process = start_process(command, folder, gpus)
    except (UserError, RunError) as error:
        return Outcome(job.name, State.FAILED, detail=str(error))
    signals.add(process)
    say(f"{time.strftime('%H:%M:%S')}  {'started':11}  {job.name}")
    code = process.wait()
    return final_outcome(job, folder, code, time.monotonic() - started, stopped=signals.requested is not None)


def known_outcome(job: PlannedJob, folder: Path) -> Outcome | None:
    """Return the outcome of a job that is done, is running, or scores an unfinished run; None for any other job."""
    if running := running_outcome(job, folder):
        return running
    before = read_run(folder)
    if before.is_done:
        changed = differences(job, before)
        if not changed:
            return Outcome(job.name, State.DONE_BEFORE, score_of(before), detail=doubts_about(before))
        detail = f"{folder} is done, but with {changes_in_words(changed)}: move it away to run the job again"
        return Outcome(job.name, State.FAILED, detail=detail)
    if job.scores and not read_run(job.scores.folder).is_done:
        detail = f"it scores {job.scores.folder}, which is not done; first run: {job.scores.job.command_in_sweep}"
        return Outcome(job.name, State.FAILED, detail=detail)
    return None


def doubts_about(run: Run) -> str:
    """Return the doubts about a finished run's score: training did not help, or code has changed since the run."""
    doubts = ["no better than before training"] if run.no_better else []
    if changed := changed_code(run.results, run.config):
        doubts.append(f"computed by other code: {', '.join(change.name for change in changed)}")
    return "; ".join(doubts)


def final_outcome(job: PlannedJob, folder: Path, code: int, seconds: float, *, stopped: bool) -> Outcome:
    """Return the outcome of a job whose process ended with `code`. stopped: whether the process got a signal."""
    run = read_run(folder)
    if code == 0 and run.is_done:
        return Outcome(job.name, State.DONE, score_of(run), detail=doubts_about(run), seconds=seconds)
    if code > 128 or (stopped and -code in SIGNALS):  # the process handled the signal, or died of it
        return Outcome(job.name, State.INTERRUPTED, detail="run the same command again to continue")
    if code < 0:
        detail = f"by signal {-code}; run the same command again to continue from the last checkpoint"
        return Outcome(job.name, State.KILLED, detail=detail, seconds=seconds)
    if running := running_outcome(job, folder):  # another start runs the job, so this process was refused
        return running
    last = last_logged_line(folder / LOG).removeprefix(f"{job.program}: ") or "the job logged nothing"
    return Outcome(job.name, State.FAILED, detail=f"{last} ({folder / LOG})", seconds=seconds)


def last_logged_line(file: Path) -> str:
    """Return the last line that is not blank in the last LOG_END bytes of a file; "" if there is no such line."""
    with open(file, "rb") as content:
        content.seek(max(0, file.stat().st_size - LOG_END))
        lines = content.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""


def start_process(command: Sequence[str], folder: Path, gpus: str | None = None) -> "subprocess.Popen[bytes]":
    """Start a job's process, which logs into the job's folder. gpus: see run_job."""
    environment = {"PYTHONUNBUFFERED": "1"} | ({} if gpus is None else {"CUDA_VISIBLE_DEVICES": gpus})
    make_folder(folder, "hydra.sweep.dir")
    with open(folder / LOG, "ab") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=os.environ | environment,
        )


def running_outcome(job: PlannedJob, folder: Path) -> Outcome | None:
    """Return the outcome of a job that a process runs at this moment; None if no process runs the job."""
    beat = read_beat(folder)
    if beat is None or not beat.is_alive(time.time()):
        return None
    return Outcome(job.name, State.RUNNING, detail=f"process {beat.pid} on {beat.host}")


def command_of(job: PlannedJob, folder: Path) -> list[str]:
    """Return the command of a job's process.

    The command sets sys.argv[0] to the program, and gives the run its group and name at W&B.
    """
    command = f"cse.lab.commands.{job.kind}"
    start = f"import sys; sys.argv[0] = {job.program!r}; from {command} import main; main()"
    names = []
    config = job.config
    if "wandb" in config.tracker:
        place = folder.parent.absolute()
        group = config.hydra.runtime.choices.get("sweep") or f"{place.name}-{hash_of([str(place)])}"
        given = [argument.key for argument in job.arguments]
        if "tracker.wandb.name" not in given:
            names.append(spell_argument("tracker.wandb.name", job.name))
        if "tracker.wandb.group" not in given and config.tracker.wandb.group is None:
            names.append(spell_argument("tracker.wandb.group", group))
    python = [sys.executable, "-P"]  # like cse-train, import nothing from the working directory, such as a wandb.py
    return [*python, "-c", start, *texts_of(job.arguments), *names, spell_argument("hydra.run.dir", str(folder))]


def differences(job: PlannedJob, run: Run) -> list[Change]:
    """Return the settings of a finished run that differ from the job, then the changed files that the run read."""
    if run.is_smoke:  # smoke=true has changed its settings
        return changed_files(run)
    config = without_hydra(job.config)
    if job.program == "cse-train":
        config.trainer.select = selected_score(config)
    changed = changed_settings(run.config, resolved(config))
    if job.scores:  # the scored run may have been moved with its sweep
        changed = [change for change in changed if change.name != "checkpoint"]
    return [*changed, *changed_files(run)]


def score_of(run: Run) -> Score | None:
    """Return the score by which a finished run selected its checkpoint; else its first average, else its first score.

    Return None if there is no score, or if the score is NaN (null in results.json).
    """
    names, selected = list(run.results["metrics"]), str(run.get("trainer.select"))
    averages = [name for name in names if name.endswith("average")]
    name = selected if selected in names else next(iter([*averages, *names]), None)
    return run.scored.get(str(name))
