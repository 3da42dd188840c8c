"""Jobs on a cluster, handed over by submitit: each is one of SLURM's, which runs cse.sweep.process.run on its node."""

import signal
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from submitit import AutoExecutor
from submitit import Job as Handed
from submitit.core.utils import FailedJobError, UncompletedJobError
from submitit.helpers import Checkpointable

from cse.errors import UserError
from cse.record.runs import read_run
from cse.record.status import RUNNING, status_of
from cse.run import slurm
from cse.sweep import process
from cse.sweep.jobs import Job
from cse.sweep.line import Line
from cse.sweep.process import KILLED, NOT_RUN, Outcome
from cse.sweep.start import Start
from cse.training.signals import SignalForwarder

POLL = 1.0  # seconds between two looks at the jobs' results
DEFAULTS: dict[str, dict[str, object]] = {
    "local": {"timeout_min": 60, "name": "cse"},
    "slurm": {"timeout_min": 60, "name": "cse", "signal_delay_s": 120, "max_num_timeout": 0},
}
ANY_CLUSTER = {"timeout_min", "cpus_per_task", "gpus_per_node", "tasks_per_node", "mem_gb", "nodes", "name",
               "stderr_to_stdout"}  # fmt: skip
"""submitit's parameters of any cluster; before the others stands the cluster's name."""


class OnNode(Checkpointable):
    """What submitit calls on a node; for one that is preempted it asks SLURM to call it again."""

    def __call__(self, job: Job, folder: Path) -> Outcome:
        """Run a job. Where a signal stopped it and it should start again, submitit's handler ends this process."""
        signals = SignalForwarder(str)
        signals.waits = True
        with signals:
            outcome = process.run(job, folder, signals)
        if signals.requested is not None and slurm.is_wanted_later(signals.requested):
            # SLURM's own, as soon as submitit's scontrol has put the job back: scontrol, too, would die of it
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.raise_signal(signal.SIGUSR2)
        return outcome


def run_on_cluster(planned: Sequence[Job], start: Start, executor: AutoExecutor) -> list[Outcome]:
    """Hand over the jobs that are not done, and wait for them. A signal ends the waiting: the cluster keeps the jobs.

    With jobs.fail_fast those that have not started are cancelled once one has failed.
    """
    folders = {job.name: start.folder / job.name for job in planned}
    known = {job.name: process.known_outcome(job, folders[job.name]) for job in planned}
    for outcome in filter(None, known.values()):
        start.end(outcome)
    left = [job for job in planned if known[job.name] is None]
    handed = executor.map_array(OnNode(), left, [folders[job.name] for job in left]) if left else []
    waiting = dict(zip([job.name for job in left], handed, strict=True))
    while waiting and start.signals.requested is None:
        for name in [name for name, one in waiting.items() if one.done()]:
            start.end(outcome_of(name, waiting.pop(name)))
        if start.fail_fast and start.failure:
            for name in [name for name, one in waiting.items() if not one.paths.stdout.exists()]:
                waiting.pop(name).cancel()
                start.end(Outcome(name, NOT_RUN, detail=f"jobs.fail_fast=true, and {start.failure.job} failed"))
        time.sleep(POLL)
    for name, one in waiting.items():
        state = RUNNING if status_of(read_run(folders[name])).state == RUNNING else NOT_RUN
        start.end(Outcome(name, state, detail=f"the cluster has it, as job {one.job_id}"))
    return [start.ended[job.name] for job in planned]


def outcome_of(name: str, handed: Handed) -> Outcome:
    """What a job that has ended says of itself; one that cannot say anything was killed."""
    try:
        return handed.result()
    except (FailedJobError, UncompletedJobError):
        where = f"{handed.paths.stderr}; the same line again goes on from its last checkpoint"
        return Outcome(name, KILLED, detail=f"job {handed.job_id} ended without a word ({handed.state}): {where}")


def executor_of(line: Line) -> AutoExecutor:
    """submitit's, with the line's hydra.launcher.*. Raises UserError for one that it lacks, or where SLURM is not."""
    from hydra.core.override_parser.overrides_parser import OverridesParser

    cluster = line.launcher.removeprefix("submitit_")
    words = [f"{key}={value}" for key, value in line.given.items() if key.startswith("hydra.launcher.")]
    typed = {o.key_or_group.split(".", 2)[2]: o.value() for o in OverridesParser.create().parse_overrides(words)}
    values = (DEFAULTS[cluster] | typed).items()
    parameters = {key if key in ANY_CLUSTER else f"{cluster}_{key}": value for key, value in values}
    first = {key: parameters.pop(key) for key in ("slurm_max_num_timeout",) if key in parameters}

    def made(folder: Path) -> AutoExecutor:
        executor = AutoExecutor(folder=folder / ".submitit" / "%j", cluster=cluster, **first)
        executor.update_parameters(**parameters)
        return executor

    try:
        with tempfile.TemporaryDirectory() as elsewhere:  # submitit makes its folder before it checks the values
            made(Path(elsewhere))
        return made(line.folder)
    except (RuntimeError, NameError, AssertionError) as error:
        raise UserError(f"hydra/launcher={line.launcher}: {' '.join(str(error).split())}") from error
