"""Run jobs on a cluster through submitit. Each job is a SLURM job that calls sweep.process.run_job on its node.

On the login node, Cluster submits the jobs and waits for them. On a job's node, submitit calls OnNode. sbatch.py has
the requests to SLURM.
"""

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from submitit import Job as Handed
from submitit import JobEnvironment, SlurmExecutor
from submitit.core.utils import FailedJobError, JobPaths, UncompletedJobError
from submitit.helpers import Checkpointable

from cse.errors import RunError, UserError
from cse.lab.folder.runs import read_run
from cse.lab.folder.status import State
from cse.lab.run import slurm
from cse.lab.sweep import process
from cse.lab.sweep.job import PlannedJob
from cse.lab.sweep.outcomes import Outcome, Start
from cse.lab.sweep.sbatch import WithoutSlurm, executor_of, parameters_of, submission_in_words
from cse.lab.sweep.sweep_command import SweepCommand
from cse.training.signals import SignalForwarder

POLL = 1.0  # seconds between two checks for results


class Cluster:
    """SLURM as a place of jobs (see cse.lab.sweep.plan).

    Raises UserError for an invalid value of hydra.launcher.*, or without SLURM. A dry run does not need SLURM.
    """

    advice = ""  # only a cluster knows which of its GPUs are idle

    def __init__(self, command: SweepCommand, jobs: Sequence[PlannedJob]):
        self.command, self.jobs = command, jobs
        self.parameters = parameters_of(command)
        kind = WithoutSlurm if command.options.dry_run else SlurmExecutor
        self.executor = executor_of(command, self.parameters, kind)

    @property
    def submission(self) -> str:
        """See Place."""
        return submission_in_words(self.command, self.jobs, self.parameters, self.executor)

    def run(self, jobs: Sequence[PlannedJob], start: Start) -> list[Outcome]:
        """Submit the jobs that are not done, and wait for them. Returns the outcomes in the order of the jobs.

        A signal ends the wait and leaves submitted jobs to the cluster. With jobs.fail_fast, a failure cancels the
        submitted jobs that have not started. In both cases no further job is submitted.
        """
        waiting = self.submit(jobs, start)
        while waiting and start.signals.requested is None:
            for name in [name for name, handed in waiting.items() if handed.done()]:
                start.record(outcome_of(name, waiting.pop(name)))
            if why := start.why_stopped_by_failure():
                for name in [name for name, handed in waiting.items() if not handed.paths.stdout.exists()]:
                    waiting.pop(name).cancel()
                    start.record(Outcome(name, State.NOT_RUN, detail=why))
            time.sleep(POLL)
        for name, handed in waiting.items():
            state = State.RUNNING if read_run(start.folder / name).state == State.RUNNING else State.NOT_RUN
            start.record(Outcome(name, state, detail=f"still on the cluster, as job {handed.job_id}"))
        return [start.outcomes[job.name] for job in jobs]

    def submit(self, jobs: Sequence[PlannedJob], start: Start) -> dict[str, Handed]:
        """Submit the jobs that may start and are not done, and record the outcomes of the other jobs."""
        remaining: list[PlannedJob] = []
        for job in jobs:
            try:
                known = start.not_started(job) or process.known_outcome(job, start.folder / job.name)
            except (UserError, RunError) as error:
                known = Outcome(job.name, State.FAILED, detail=str(error))
            if known is None:
                remaining.append(job)
            else:
                start.record(known)
        if why := start.why_not_started():  # after a failure among the known outcomes
            for job in remaining:
                start.record(Outcome(job.name, State.NOT_RUN, detail=why))
            return {}
        if not remaining:
            return {}
        folders = [start.folder / job.name for job in remaining]
        try:
            handed = self.executor.map_array(OnNode(), remaining, folders)
        except FailedJobError as error:
            raise UserError(f"sbatch refused the jobs: {' '.join(str(error).split())}") from error
        return dict(zip([job.name for job in remaining], handed, strict=True))


def outcome_of(name: str, handed: Handed) -> Outcome:
    """Return the outcome that the first task of an ended job returned. A job that returned no outcome was killed."""
    try:
        return handed.task(0).result()
    except (FailedJobError, UncompletedJobError):
        what = f"job {handed.job_id} ended without a result ({handed.state}, {handed.paths.stderr})"
        what += "; run the same command again to continue from the last checkpoint"
        return Outcome(name, State.KILLED, detail=what)


class OnNode(Checkpointable):
    """The object that submitit calls in each task of a job. If the job is preempted, submitit requeues the job."""

    def __call__(self, job: PlannedJob, folder: Path) -> Outcome | None:
        """Run a job. The processes of all its tasks are one run. Only the first task returns the outcome.

        If a signal stopped a job that should start again, submitit's handler ends this process.
        """
        signals = SignalForwarder(str, waits=True)
        outcome = None
        with signals:
            if os.environ.get("SLURM_PROCID", "0") == "0":
                outcome = process.run_job(job, folder, signals)
            elif job.program == "cse-train":  # cse-eval is one process
                run_beside_first_task(job, folder, signals)
        if signals.requested is not None and slurm.is_wanted_later(signals.requested):
            # after the requeue SLURM sends SIGTERM, which would also kill submitit's scontrol
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.raise_signal(signal.SIGUSR2)
        return outcome


def run_beside_first_task(job: PlannedJob, folder: Path, signals: SignalForwarder) -> None:
    """Run the training process of a task other than the first, until it ends or the first task has an outcome.

    Only the first task checks whether the job may run: another node may see an older state of the folder.
    """
    outcome_of_first = result_of_first_task()
    training = process.start_process(process.command_of(job, folder), folder)
    signals.add(training)
    while training.poll() is None and not outcome_of_first.exists():
        time.sleep(POLL)
    training.kill()  # it may wait for a process that the first task did not start
    training.wait()


def result_of_first_task() -> Path:
    """Return the file that submitit writes when the first task of this job ends."""
    return JobPaths(os.environ["SUBMITIT_FOLDER"], JobEnvironment().job_id, task_id=0).result_pickle
