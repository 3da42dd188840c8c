"""Jobs on a cluster, handed over by submitit: each is one of SLURM's, which runs cse.sweep.process.run on its node."""

import signal
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from submitit import AutoExecutor, SlurmExecutor
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

NUMBERS = ("timeout_min", "nodes", "tasks_per_node", "cpus_per_task", "array_parallelism")


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
    cluster, parameters = parameters_of(line)
    with explaining_submitit(line), tempfile.TemporaryDirectory() as elsewhere:
        executor(Path(elsewhere), cluster, parameters)  # it makes its folder before it checks the values
        return executor(line.folder / ".submitit" / "%j", cluster, parameters)


def parameters_of(line: Line) -> tuple[str, dict[str, object]]:
    """The cluster's name and submitit's parameters of a line: ours, and over them those that were typed.

    Raises UserError for a number that is none, and for text of several lines, which sbatch's script would run.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser

    cluster = line.launcher.removeprefix("submitit_")
    parsed = OverridesParser.create().parse_overrides(line.launch)
    typed = {one.key_or_group.split(".", 2)[2]: one.value() for one in parsed}
    for key, value in typed.items():
        is_number = isinstance(value, int | float) and value > 0
        if (key in NUMBERS and not is_number) or (isinstance(value, str) and not value.isprintable()):
            raise UserError(
                f"hydra.launcher.{key}={value}: give {'a number above 0' if key in NUMBERS else 'one line'}"
            )
    return cluster, DEFAULTS[cluster] | typed


def executor(folder: Path, cluster: str, parameters: Mapping[str, object], here: str = "") -> AutoExecutor:
    """submitit's of a cluster, with parameters of one. here: the cluster to hand jobs to, where it is another one."""
    named = {key if key in ANY_CLUSTER else f"{cluster}_{key}": value for key, value in parameters.items()}
    first = {key: named.pop(key) for key in ("slurm_max_num_timeout",) if key in named}
    made = AutoExecutor(folder=folder, cluster=here or cluster, **first)
    made.update_parameters(**named)
    return made


@contextmanager
def explaining_submitit(line: Line) -> Iterator[None]:
    """A block in which submitit's refusals are UserErrors."""
    try:
        yield
    except (RuntimeError, NameError, AssertionError) as error:
        raise UserError(f"hydra/launcher={line.launcher}: {' '.join(str(error).split())}") from error


class Described(SlurmExecutor):
    """Writes sbatch's script on any machine, and hands nothing over."""

    @classmethod
    def affinity(cls) -> int:
        """As where srun is."""
        return 1


def show(line: Line, planned: Sequence[Job]) -> None:
    """Print what would be handed to SLURM: how many jobs on how many GPUs, and the script as submitit writes it.

    Raises UserError for a value of hydra.launcher.* that is none.
    """
    cluster, parameters = parameters_of(line)
    parameters.pop("max_num_timeout")  # submitit's own: how often a job starts again
    with explaining_submitit(line), tempfile.TemporaryDirectory() as elsewhere:
        executor(Path(elsewhere), cluster, parameters, here="debug")  # which checks those of SLURM too
        slurms = Described(line.folder / ".submitit" / "%j")
        slurms.update_parameters(**slurms._convert_parameters(parameters))
    count = len(planned) if line.is_grid else 1
    if count > 1:
        slurms.parameters["map_count"] = count
    configs = [job.composed() for job in planned if job.program == "cse-train"]
    devices = max((int(config.trainer.devices) for config in configs), default=1)
    print("\n".join(["", in_words(parameters, count, devices), ""]))
    print(slurms._make_submission_file_text(slurms._submitit_command_str, ""))


def in_words(parameters: Mapping[str, object], jobs: int, devices: int) -> str:
    """What SLURM is asked for, and what does not fit together in it. devices: processes of a job, one a GPU."""
    nodes, gpus = int(str(parameters.get("nodes", 1))), int(str(parameters.get("gpus_per_node") or 0))
    otherwise = [f"{key}={parameters[key]}" for key in ("gres", "gpus_per_task", "num_gpus") if key in parameters]
    count = "one job" if jobs == 1 else f"{jobs} jobs"
    on = " ".join(otherwise) or ("no GPU" if gpus == 0 else "one GPU" if gpus == 1 else f"{gpus} GPUs")
    asked = [f"partition {parameters.get('partition') or 'of the cluster by default'}", f"nodes a job: {nodes}"]
    asked += [f"GPUs a node: {gpus or on}", f"trainer.devices={devices}", f"{parameters['timeout_min']} min"]
    if "array_parallelism" in parameters:
        asked.append(f"at most {parameters['array_parallelism']} at a time")
    lines = [
        f"SLURM: {count} on {on}{' each' if jobs > 1 else ''}; {', '.join(asked)}; jobs that are done are left out"
    ]
    if gpus > devices:
        lines.append(
            f"{gpus - devices} of {gpus} GPUs would be idle: trainer.devices={gpus} runs one job on all of them"
        )
    elif not otherwise and (gpus or 1) < devices:
        lines.append(f"trainer.devices={devices} wants hydra.launcher.gpus_per_node={devices}")
    elif not otherwise and gpus == 0:
        lines.append("no GPU is asked for: hydra.launcher.gpus_per_node=1 asks for one")
    if nodes > 1:
        lines.append(f"a job of many runs on one node, and {nodes - 1} would be idle: srun runs one over several")
    return "\n".join(lines)
