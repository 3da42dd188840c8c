"""Run jobs on a cluster through submitit. Each job is a SLURM job that calls sweep.process.run_job on its node.

To read: Cluster, on the login node; OnNode, on a job's; then submitit's parameters and the advice of a dry run.
"""

import copy
import os
import secrets
import shlex
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
from cse.lab.sweep.outcomes import Outcome, Outcomes
from cse.lab.sweep.sweep_command import SweepCommand
from cse.training.signals import SignalForwarder

POLL = 1.0  # seconds between two checks for results

DEFAULTS: dict[str, Any] = {
    "timeout_min": 60,
    "name": "cse",
    "signal_delay_s": 120,
    "max_num_timeout": 0,
    "wckey": None,  # submitit's is its own name
}
LINES = ("setup", "srun_args")
"""The parameters that are lists of text. A single text may be given alone."""
LEAST = {"nodes": 1, "tasks_per_node": 1, "array_parallelism": 1, "timeout_min": 1, "max_num_timeout": 0}
"""The least value of each parameter that submitit reckons with. It would fail on 2-4 or 1:00:00, which sbatch takes,
and leave a job behind."""


class OnNode(Checkpointable):
    """What submitit calls in each task of a job. If the job is preempted, submitit asks SLURM to start it again."""

    def __call__(self, job: PlannedJob, folder: Path) -> Outcome | None:
        """Run a job; its first task returns what became of it. The processes of all tasks are one run.

        If a signal stopped it and it should start again, submitit's handler ends this process.
        """
        signals = SignalForwarder(str, waits=True)
        outcome = None
        with signals:
            if os.environ.get("SLURM_PROCID", "0") == "0":
                outcome = process.run_job(job, folder, signals)
            elif job.program == "cse-train":  # cse-eval is one process
                run_beside_first_task(job, folder, signals)
        if signals.requested is not None and slurm.is_wanted_later(signals.requested):
            # SLURM sends SIGTERM once submitit's scontrol has requeued the job, and it would kill scontrol as well
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.raise_signal(signal.SIGUSR2)
        return outcome


def run_beside_first_task(job: PlannedJob, folder: Path, signals: SignalForwarder) -> None:
    """Run the process of another task, until it ends or the first task has an outcome.

    The first task alone asks whether the job may run: another node may see an older state of the folder.
    """
    outcome_of_first = result_of_first_task()
    training = process.start_process(process.command_of(job, folder), folder)
    signals.add(training)
    while training.poll() is None and not outcome_of_first.exists():
        time.sleep(POLL)
    training.kill()  # it may wait for a process that the first task did not start
    training.wait()


def result_of_first_task() -> Path:
    """The file that submitit writes when the first task of this job ends."""
    return JobPaths(os.environ["SUBMITIT_FOLDER"], JobEnvironment().job_id, task_id=0).result_pickle


class Cluster:
    """SLURM as a place of jobs (see cse.lab.sweep.plan).

    Raises UserError for an invalid value of hydra.launcher.*, or without SLURM, which a dry run does not need.
    """

    advice = ""  # only a cluster knows what is idle there

    def __init__(self, command: SweepCommand, jobs: Sequence[PlannedJob]):
        self.command, self.jobs = command, jobs
        self.parameters = parameters_of(command)
        kind = WithoutSlurm if command.options.dry_run else SlurmExecutor
        self.executor = executor_of(command, self.parameters, kind)

    @property
    def submission(self) -> str:
        """What would be submitted: how many jobs on how many GPUs, advice, and the script that submitit writes."""
        count = len(self.jobs) if self.command.sweeper is None else 1  # a search submits few at a time
        of_job = requested(self.jobs, self.parameters)
        gpus = of_job.gpus if of_job.gpus_per_node else "none by gpus_per_node or gres"
        asked = ", ".join(f"{key}={value}" for key, value in self.parameters.items() if value is not None)
        summary = f"\nSLURM: jobs {count}, GPUs a job {gpus}, processes of each {of_job.processes}; {asked}"
        advice = [*advice_on_parameters(self.command, self.parameters), *advice_on_gpus(of_job)]
        return "\n".join([summary, *advice, f"\n{script_of(self.executor, count)}"])

    def run(self, jobs: Sequence[PlannedJob], outcomes: Outcomes) -> list[Outcome]:
        """Submit the jobs that are not done, and wait for them. Returns the outcomes in the order of the jobs.

        A signal ends the wait and leaves the jobs to the cluster; later ones are not submitted. So it is after a
        failure with jobs.fail_fast, which also cancels the submitted jobs that have not started.
        """
        waiting = self.submit(jobs, outcomes)
        while waiting and outcomes.signals.requested is None:
            for name in [name for name, handed in waiting.items() if handed.done()]:
                outcomes.record(outcome_of(name, waiting.pop(name)))
            if refusal := outcomes.refusal_after_failure():
                for name in [name for name, handed in waiting.items() if not handed.paths.stdout.exists()]:
                    waiting.pop(name).cancel()
                    outcomes.record(Outcome(name, State.NOT_RUN, detail=refusal))
            time.sleep(POLL)
        for name, handed in waiting.items():
            state = State.RUNNING if read_run(outcomes.folder / name).state == State.RUNNING else State.NOT_RUN
            outcomes.record(Outcome(name, state, detail=f"the cluster has it, as job {handed.job_id}"))
        return [outcomes.by_job[job.name] for job in jobs]

    def submit(self, jobs: Sequence[PlannedJob], outcomes: Outcomes) -> dict[str, Handed]:
        """Submit the jobs that may start and are not done, and record the outcomes of the others."""
        remaining: list[PlannedJob] = []
        for job in jobs:
            try:
                known = outcomes.refused(job) or process.known_outcome(job, outcomes.folder / job.name)
            except (UserError, RunError) as error:
                known = Outcome(job.name, State.FAILED, detail=str(error))
            if known is None:
                remaining.append(job)
            else:
                outcomes.record(known)
        if refusal := outcomes.refusal():  # after a failure among the known outcomes
            for job in remaining:
                outcomes.record(Outcome(job.name, State.NOT_RUN, detail=refusal))
            return {}
        if not remaining:
            return {}
        folders = [outcomes.folder / job.name for job in remaining]
        try:
            handed = self.executor.map_array(OnNode(), remaining, folders)
        except FailedJobError as error:
            raise UserError(f"sbatch refused the jobs: {' '.join(str(error).split())}") from error
        return dict(zip([job.name for job in remaining], handed, strict=True))


def outcome_of(name: str, handed: Handed) -> Outcome:
    """The outcome that the first task of a finished job returned; a job that returned none was killed."""
    try:
        return handed.task(0).result()
    except (FailedJobError, UncompletedJobError):
        what = f"job {handed.job_id} ended without a result ({handed.state}, {handed.paths.stderr})"
        what += "; run the same command again to continue from its last checkpoint"
        return Outcome(name, State.KILLED, detail=what)


def parameters_of(command: SweepCommand) -> dict[str, Any]:
    """submitit's parameters: DEFAULTS, overridden by the command's hydra.launcher.*; null leaves one out. submitit and
    sbatch say which they take. Raises UserError for text of several lines, which sbatch's script would run."""
    given: dict[str, Any] = {}
    for argument in command.start:
        if argument.key.startswith("hydra.launcher."):  # partition=gpu,long is no axis, but sbatch's own list
            given[argument.key.split(".", 2)[2]] = argument.spelled if argument.is_axis else argument.parsed
    for key, value in given.items():
        for text in value.values() if isinstance(value, dict) else [value]:
            if isinstance(text, str) and not (text.isprintable() and text.strip()):
                raise UserError(f"hydra.launcher.{key}={value!r}: give text of one line")
        if key in LINES and isinstance(value, str):
            given[key] = [value]
        if key in LEAST and value is not None and not (type(value) is int and value >= LEAST[key]):
            raise UserError(f"hydra.launcher.{key}={value}: give a whole number of at least {LEAST[key]}")
    return DEFAULTS | {key: value for key, value in given.items() if value is not None or key in DEFAULTS}


def number_at_end(value: object) -> int:
    """The number in sbatch's NUMBER, TYPE:NUMBER or, of gres, gpu:TYPE:NUMBER; 0 where there is none."""
    number = str(value).rpartition(":")[2]
    return int(number) if number.isdecimal() else 0


def executor_of(command: SweepCommand, parameters: Mapping[str, Any], kind: type[SlurmExecutor]) -> SlurmExecutor:
    """submitit's executor with these parameters. Raises UserError for an unknown one, or without SLURM.

    hydra.launcher.python: the interpreter on the nodes, or a command that ends in one (a container's); this one's by
    default. submitit's files, among them pickles, are in a new folder with a random name, so nobody can have put a
    pickle there.
    """
    given = dict(parameters)
    folder, restarts = command.folder / ".submitit" / secrets.token_hex(4) / "%j", given.pop("max_num_timeout")
    python = given.pop("python", None)
    if cores := given.get("cpus_per_task"):  # which srun of SLURM 22.05 and 23.02 does not take from sbatch
        given["srun_args"] = [f"--cpus-per-task={cores}", *given.get("srun_args", [])]
    try:
        words = None if python is None else shlex.join(shlex.split(str(python)))
        executor = kind(folder, max_num_timeout=restarts, python=words)
        executor.update_parameters(**executor._convert_parameters(given))
    except (RuntimeError, TypeError, ValueError) as error:  # submitit's own text
        raise UserError(f"hydra/launcher=submitit_slurm: {' '.join(str(error).split())}") from error
    return executor


def script_of(executor: SlurmExecutor, count: int) -> str:
    """The script with which submitit would submit so many jobs."""
    described = copy.copy(executor)
    described.parameters = executor.parameters | ({"map_count": count} if count > 1 else {})
    return described._make_submission_file_text(described._submitit_command_str, "")


class WithoutSlurm(SlurmExecutor):
    """submitit's executor on a machine without SLURM: it can write sbatch's script, and is never asked to submit it."""

    @classmethod
    def affinity(cls) -> int:
        """What a machine with SLURM returns."""
        return 1


class Requested(NamedTuple):
    """What a command asks of SLURM for each of its jobs, and the processes that a job starts."""

    nodes: int
    gpus_per_node: int
    devices: int
    processes: int

    @property
    def gpus(self) -> int:
        """The GPUs of all its nodes."""
        return self.nodes * self.gpus_per_node


def requested(jobs: Sequence[PlannedJob], parameters: Mapping[str, Any]) -> Requested:
    """What submitit's parameters ask for each of these jobs."""
    nodes, tasks = parameters.get("nodes", 1), parameters.get("tasks_per_node", 1)
    gres = str(parameters.get("gres"))
    gpus = number_at_end(parameters.get("gpus_per_node", gres if gres.startswith("gpu:") else 0))
    devices = max(job.count_devices() for job in jobs)
    return Requested(nodes, gpus, devices, processes=max(devices, nodes * tasks))


def advice_on_parameters(command: SweepCommand, parameters: Mapping[str, Any]) -> Iterator[str]:
    """What a command leaves to the cluster's defaults, and the argument that asks for something else."""
    if not any("gpu" in key or key == "gres" for key in [*parameters, *parameters.get("additional_parameters", {})]):
        yield "no GPU is asked for: hydra.launcher.gpus_per_node=1 asks for one"
    if parameters.get("cpus_per_task") is None:
        yield "sbatch gives each process one core: hydra.launcher.cpus_per_task=8 asks for more"
    if "setup" in parameters and "python" not in parameters:
        yield f"jobs run {sys.executable}: hydra.launcher.python=python runs the one of setup's environment"
    if "hydra.launcher.timeout_min" not in [argument.key for argument in command.start]:
        yield f"a job has {DEFAULTS['timeout_min']} minutes: hydra.launcher.timeout_min=MINUTES asks for more"


def advice_on_gpus(of_job: Requested) -> Iterator[str]:
    """How many GPUs a job lacks, or leaves idle, and the argument that changes it."""
    gpus, devices = of_job.gpus_per_node, of_job.devices
    of_each_node = f"hydra.launcher.tasks_per_node={gpus} without trainer.devices uses all {gpus} of each node"
    if gpus and devices > gpus:
        more = of_each_node if of_job.nodes > 1 else f"hydra.launcher.gpus_per_node={devices}"
        yield f"trainer.devices={devices} needs as many GPUs on one node: {more}"
    if (idle := of_job.gpus - of_job.processes) > 0:
        use = of_each_node if of_job.nodes > 1 else f"trainer.devices={gpus} uses all {gpus} of one node"
        yield f"{idle} GPUs of each job would be idle: {use}"
