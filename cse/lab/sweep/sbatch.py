"""The requests to SLURM for the jobs of a command: hydra.launcher.* as submitit's parameters.

parameters_of, executor_of     the parameters, checked, and submitit's executor with them
submission_in_words            the text for a dry run: a summary, advice, and submitit's script
"""

import copy
import secrets
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from submitit import SlurmExecutor

from cse.errors import UserError
from cse.lab.settings.arguments import values_of
from cse.lab.sweep.checks import most_devices
from cse.lab.sweep.job import PlannedJob
from cse.lab.sweep.sweep_command import SweepCommand

DEFAULTS: dict[str, Any] = {
    "timeout_min": 60,
    "name": "cse",
    "signal_delay_s": 120,
    "max_num_timeout": 0,
    "wckey": None,  # submitit's default is "submitit"
}
LINES = ("setup", "srun_args")
"""The parameters that are lists of text. A user may give a single text without a list."""
LEAST = {"nodes": 1, "tasks_per_node": 1, "array_parallelism": 1, "timeout_min": 1, "max_num_timeout": 0}
"""The least value of each parameter that submitit uses as a number. sbatch also accepts 2-4 or 1:00:00, but with such a
value submitit would fail and leave a job behind."""


def parameters_of(command: SweepCommand) -> dict[str, Any]:
    """Return submitit's parameters: the command's hydra.launcher.*, and DEFAULTS for values that are null or not given.

    submitit and sbatch define the parameters. Raises UserError for a number below LEAST, and for a text of several
    lines, because sbatch's script would run the lines.
    """
    given: dict[str, Any] = {}
    for argument in command.start_arguments:
        if argument.key.startswith("hydra.launcher."):  # partition=gpu,long is no axis, but sbatch's own list
            given[argument.key.split(".", 2)[2]] = argument.spelled if argument.is_axis else argument.parsed
    for key, value in given.items():
        for text in value.values() if isinstance(value, dict) else [value]:
            if isinstance(text, str) and not (text.isprintable() and text.strip()):
                raise UserError(f"hydra.launcher.{key}={value!r}: the value must be one line of text")
        if key in LINES and isinstance(value, str):
            given[key] = [value]
        if key in LEAST and value is not None and not (type(value) is int and value >= LEAST[key]):
            raise UserError(f"hydra.launcher.{key}={value}: give a whole number of at least {LEAST[key]}")
    return DEFAULTS | {key: value for key, value in given.items() if value is not None}


def executor_of(command: SweepCommand, parameters: Mapping[str, Any], kind: type[SlurmExecutor]) -> SlurmExecutor:
    """Return submitit's executor with these parameters. Raises UserError for an unknown parameter, or without SLURM.

    hydra.launcher.python: the interpreter on the nodes, or a command that ends in an interpreter (in a container). The
    default is this process's interpreter. submitit's files include pickles. These files are in a new folder with a
    random name, so nobody can have put a pickle there.
    """
    given = dict(parameters)
    folder, restarts = command.folder / ".submitit" / secrets.token_hex(4) / "%j", given.pop("max_num_timeout")
    python = given.pop("python", None)
    if cores := given.get("cpus_per_task"):  # srun of SLURM 22.05 and 23.02 does not take this from sbatch
        given["srun_args"] = [f"--cpus-per-task={cores}", *given.get("srun_args", [])]
    try:
        interpreter = None if python is None else shlex.join(shlex.split(str(python)))
        executor = kind(folder, max_num_timeout=restarts, python=interpreter)
        executor.update_parameters(**executor._convert_parameters(given))
    except (RuntimeError, TypeError, ValueError) as error:  # submitit's own text
        raise UserError(f"hydra/launcher=submitit_slurm: {' '.join(str(error).split())}") from error
    return executor


class WithoutSlurm(SlurmExecutor):
    """submitit's executor on a machine without SLURM. It writes sbatch's script, and never submits the script."""

    @classmethod
    def affinity(cls) -> int:
        """Return a number above 0, with which submitit accepts a machine without SLURM."""
        return 1


# A dry run


def submission_in_words(
    command: SweepCommand, jobs: Sequence[PlannedJob], parameters: Mapping[str, Any], executor: SlurmExecutor
) -> str:
    """Return the submission in words: the numbers of jobs and GPUs, advice, and the script that submitit writes."""
    count = len(jobs) if command.sweeper is None else 1  # a search submits few jobs at a time
    of_job = requested(jobs, parameters)
    gpus = of_job.gpus if of_job.gpus_per_node else "none asked for by gpus_per_node or gres"
    asked = ", ".join(f"{key}={value}" for key, value in parameters.items() if value is not None)
    summary = f"\nSLURM: jobs {count}, GPUs per job {gpus}, processes per job {of_job.processes}; {asked}"
    advice = [*advice_on_parameters(command, parameters), *advice_on_gpus(of_job)]
    return "\n".join([summary, *advice, f"\n{script_of(executor, count)}"])


class Requested(NamedTuple):
    """The request to SLURM for each job of a command, and the processes that a job starts."""

    nodes: int
    gpus_per_node: int
    devices: int
    processes: int

    @property
    def gpus(self) -> int:
        """The number of GPUs on all nodes of a job."""
        return self.nodes * self.gpus_per_node


def requested(jobs: Sequence[PlannedJob], parameters: Mapping[str, Any]) -> Requested:
    """Return the request for each job, from submitit's parameters and the jobs' devices."""
    nodes, tasks = parameters.get("nodes", 1), parameters.get("tasks_per_node", 1)
    gres = str(parameters.get("gres"))
    gpus = number_at_end(parameters.get("gpus_per_node", gres if gres.startswith("gpu:") else 0))
    devices = most_devices(jobs)
    return Requested(nodes, gpus, devices, processes=max(devices, nodes * tasks))


def number_at_end(value: object) -> int:
    """Return the number in sbatch's NUMBER, TYPE:NUMBER or (for gres) gpu:TYPE:NUMBER; 0 without a number."""
    number = str(value).rpartition(":")[2]
    return int(number) if number.isdecimal() else 0


def advice_on_parameters(command: SweepCommand, parameters: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line on each value that a command leaves to a default, with the argument that changes the value."""
    if not any("gpu" in key or key == "gres" for key in [*parameters, *parameters.get("additional_parameters", {})]):
        yield "no GPU is asked for: hydra.launcher.gpus_per_node=1 asks for one"
    if parameters.get("cpus_per_task") is None:
        yield "sbatch gives each process one core: hydra.launcher.cpus_per_task=8 asks for more"
    if "setup" in parameters and "python" not in parameters:
        yield f"jobs run {sys.executable}: hydra.launcher.python=python runs the Python that setup activates"
    if values_of(command.start_arguments).get("hydra.launcher.timeout_min", "null") == "null":
        yield f"a job has {DEFAULTS['timeout_min']} minutes: hydra.launcher.timeout_min=MINUTES asks for more"


def advice_on_gpus(of_job: Requested) -> Iterator[str]:
    """Yield a line on the GPUs that a job lacks or leaves idle, with the argument that changes their number."""
    gpus, devices = of_job.gpus_per_node, of_job.devices
    of_each_node = f"hydra.launcher.tasks_per_node={gpus} without trainer.devices uses all {gpus} of each node"
    if gpus and devices > gpus:
        more = of_each_node if of_job.nodes > 1 else f"hydra.launcher.gpus_per_node={devices}"
        yield f"trainer.devices={devices} needs as many GPUs on one node: {more}"
    if (idle := of_job.gpus - of_job.processes) > 0:
        use = of_each_node if of_job.nodes > 1 else f"trainer.devices={gpus} uses all {gpus} of one node"
        yield f"idle GPUs in each job: {idle}; {use}"


def script_of(executor: SlurmExecutor, count: int) -> str:
    """Return the script with which submitit would submit this number of jobs."""
    described = copy.copy(executor)
    described.parameters = executor.parameters | ({"map_count": count} if count > 1 else {})
    return described._make_submission_file_text(described._submitit_command_str, "")
