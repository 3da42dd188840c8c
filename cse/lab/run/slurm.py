"""SLURM: make the tasks of `srun` the processes of one run, and requeue a job that a signal stopped."""

import os
import re
import signal
import subprocess

HELD = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


# Processes


def join() -> None:
    """If `srun` started several tasks, set RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT.

    If torchrun or accelerate has set them, change nothing. A batch script without srun is one task, whatever sbatch's
    options say, because only srun sets SLURM_STEP_NUM_TASKS.
    """
    tasks = int(os.environ.get("SLURM_STEP_NUM_TASKS", 1))
    if "RANK" in os.environ or tasks == 1:
        return
    from cse.device import count_gpus

    # with --gpus-per-task, only one GPU is visible to each task, with the number 0
    visible = count_gpus() or tasks
    os.environ["RANK"] = os.environ["SLURM_PROCID"]
    os.environ["WORLD_SIZE"] = str(tasks)
    os.environ["LOCAL_RANK"] = str(int(os.environ["SLURM_LOCALID"]) % visible)
    os.environ.setdefault("MASTER_ADDR", first_host(os.environ["SLURM_STEP_NODELIST"]))
    # a port below the ports that the system gives to any program (on Linux from 32768)
    os.environ.setdefault("MASTER_PORT", str(20000 + int(os.environ["SLURM_JOB_ID"]) % 12000))


def first_host(nodes: str) -> str:
    """Return the first host of SLURM's node list: gpu[003-005,9]-ib,cpu1 gives gpu003-ib."""
    return re.sub(r"\[(\w+)[^\]]*\]", r"\1", nodes).partition(",")[0]


# Signals


def hold() -> None:
    """In a SLURM job, block SLURM's signals until `release`: a preemption may come before the run handles signals.

    A signal that is not handled would end the run like a failure, and SLURM would not start the job again. Call `hold`
    before any library, such as numpy, starts threads: only threads that start after `hold` inherit the blocked signals.
    """
    if "SLURM_JOB_ID" in os.environ:
        signal.pthread_sigmask(signal.SIG_BLOCK, HELD)


def release() -> None:
    """Unblock the signals, when the run can handle them. Signals that were blocked arrive at once."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD)


def requeue(number: int) -> bool:
    """After signal `number`, put this process's batch job back into SLURM's queue if `is_wanted_later` is true.

    Return whether the job was requeued. SLURM then ends the job's processes, so later code may not run to its end.
    """
    if "SUBMITIT_EXECUTOR" in os.environ or not is_wanted_later(number):  # submitit requeues its own jobs
        return False
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # SLURM sends SIGTERM now, before the last message is printed
    return _output_of("scontrol", "requeue", os.environ["SLURM_JOB_ID"]) is not None


def is_wanted_later(number: int) -> bool:
    """Return whether a job should start again after signal `number` has stopped it.

    SLURM itself requeues only a job that it kills. After SIGUSR1 or SIGUSR2 (sbatch --signal=USR1@60), the job should
    start again. After SIGTERM, it should start again only if it was preempted or reached its time limit, because
    scancel also sends SIGTERM. Outside a batch job, and with sbatch --no-requeue, return False.
    """
    job = os.environ.get("SLURM_JOB_ID")
    shown = _output_of("scontrol", "show", "job", "--oneliner", job) if job else None
    # the last job of an array has the array's number, so SLURM also shows the array's other jobs
    mine = [line for line in (shown or "").splitlines() if line.startswith(f"JobId={job} ")]
    about = dict(re.findall(r"(\w+)=(\S*)", "".join(mine)))
    if (about.get("BatchFlag"), about.get("Requeue")) != ("1", "1"):
        return False
    if about.get("JobState") == "COMPLETING":
        return number == signal.SIGTERM and about.get("Reason") == "TimeLimit"
    asked = number in (signal.SIGUSR1, signal.SIGUSR2)
    preempted = number == signal.SIGTERM and about.get("PreemptTime", "None") != "None"
    return about.get("JobState") == "RUNNING" and (asked or preempted)


def _output_of(*command: str) -> str | None:
    """Return the standard output of a SLURM command; None if the command does not exist or fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout
    except (OSError, subprocess.SubprocessError):
        return None
