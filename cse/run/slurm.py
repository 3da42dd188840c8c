"""SLURM: the tasks of `srun` become processes of one group, and a job that a signal stopped goes on by itself."""

import os
import re
import signal
import subprocess

HELD = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


def join() -> None:
    """Set RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT where `srun` started several tasks, unless they
    are there already (torchrun, accelerate).

    A batch script without srun is one task, whatever sbatch was told, and so is a job of hydra/launcher=submitit_slurm:
    only srun sets SLURM_STEP_NUM_TASKS.
    """
    tasks = int(os.environ.get("SLURM_STEP_NUM_TASKS", 1))
    if "RANK" in os.environ or tasks == 1:
        return
    from cse.device import count_gpus

    # with --gpus-per-task each task sees one GPU, which is its number 0
    visible = count_gpus() or tasks
    os.environ["RANK"] = os.environ["SLURM_PROCID"]
    os.environ["WORLD_SIZE"] = str(tasks)
    os.environ["LOCAL_RANK"] = str(int(os.environ["SLURM_LOCALID"]) % visible)
    os.environ.setdefault("MASTER_ADDR", first_host(os.environ["SLURM_STEP_NODELIST"]))
    # below the ports that a system gives out by itself, any of which may be another program's (Linux: from 32768)
    os.environ.setdefault("MASTER_PORT", str(20000 + int(os.environ["SLURM_JOB_ID"]) % 12000))


def is_follower() -> bool:
    """Whether this is one of the processes that a launcher started, and not the first."""
    return os.environ.get("RANK", "0") != "0"


def hold() -> None:
    """Let a signal of SLURM's wait while this process starts, until `release`: its job may be preempted at any moment.

    Before a run listens, a signal would end it as if it had failed, and SLURM would not start it again. To be called
    before the process has threads (numpy starts some): those that it starts later hold signals too.
    """
    if "SLURM_JOB_ID" in os.environ:
        signal.pthread_sigmask(signal.SIG_BLOCK, HELD)


def release() -> None:
    """The run listens now: what was held comes."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD)


def first_host(nodes: str) -> str:
    """The first of SLURM's node list: gpu[003-005,9]-ib,cpu1 gives gpu003-ib."""
    return re.sub(r"\[(\w+)[^\]]*\]", r"\1", nodes).partition(",")[0]


def requeue(number: int) -> bool:
    """Put this process's batch job back into SLURM's queue after signal `number`, where `is_wanted_later` says so.

    Returns whether that was done. Then SLURM ends the job's processes: what comes after may be cut short.
    """
    if "SUBMITIT_EXECUTOR" in os.environ or not is_wanted_later(number):  # submitit asks for itself
        return False
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # SLURM's own, while the last sentence is said
    return _told("scontrol", "requeue", os.environ["SLURM_JOB_ID"]) is not None


def is_wanted_later(number: int) -> bool:
    """Whether a job that signal `number` stopped should start again: SLURM itself starts again only what it kills.

    SIGUSR1 and SIGUSR2 say so (sbatch --signal=USR1@60), SIGTERM only where the job is preempted or has had its time:
    scancel sends it too. False outside a batch job, and for one that must not start again (sbatch --no-requeue).
    """
    job = os.environ.get("SLURM_JOB_ID")
    told = _told("scontrol", "show", "job", "--oneliner", job) if job else None
    about = dict(re.findall(r"(\w+)=(\S*)", told or ""))
    if (about.get("BatchFlag"), about.get("Requeue")) != ("1", "1"):
        return False
    if about.get("JobState") == "COMPLETING":
        return number == signal.SIGTERM and about.get("Reason") == "TimeLimit"
    asked = number in (signal.SIGUSR1, signal.SIGUSR2)
    preempted = number == signal.SIGTERM and about.get("PreemptTime", "None") != "None"
    return about.get("JobState") == "RUNNING" and (asked or preempted)


def _told(*command: str) -> str | None:
    """What a command of SLURM's answers; None where it is not there or refuses."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout
    except (OSError, subprocess.SubprocessError):
        return None
