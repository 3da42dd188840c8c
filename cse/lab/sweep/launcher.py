"""hydra.launcher.*: what a line asks of SLURM, in submitit's words."""

from typing import Any

from submitit import SlurmExecutor

from cse.errors import UserError
from cse.lab.settings.keys import key_of
from cse.lab.settings.spelling import overrides_of, value_of
from cse.lab.settings.suggest import nearest
from cse.lab.sweep.line import Line

DEFAULTS: dict[str, Any] = {
    "timeout_min": 60,
    "name": "cse",
    "signal_delay_s": 120,
    "max_num_timeout": 0,
    "wckey": None,  # submitit's is its own name
}
OURS_BY_THEIRS = {theirs: ours for ours, theirs in SlurmExecutor._equivalence_dict().items() if ours != theirs}
"""timeout_min for SLURM's time, mem_gb for mem, ..."""
PARAMETERS = sorted(
    {"max_num_timeout", "python", *(OURS_BY_THEIRS.get(one, one) for one in SlurmExecutor._valid_parameters())}
)
NUMBERS = dict.fromkeys(
    ("nodes", "tasks_per_node", "cpus_per_task", "array_parallelism", "max_num_timeout"), "a number"
) | {
    "gpus_per_node": "a number, or TYPE:NUMBER,",
    "timeout_min": "a number of minutes",
    "signal_delay_s": "a number of seconds",
    "mem_gb": "a number of gigabytes",
}
"""What to give for each parameter that is a number."""
ELSEWHERE = (
    "modules and conda go into setup and python, a container into python or srun_args (docs/devices.md), and any other "
    "option of sbatch into 'hydra.launcher.additional_parameters={OPTION: VALUE}'"
)
LINES = ("setup", "srun_args")
"""The parameters that are lists of lines or words, of which one may be given alone."""


def parameters_of(line: Line) -> dict[str, Any]:
    """submitit's parameters: DEFAULTS, overridden by the line's own.

    Raises UserError as `check_parameter` does, and where two of them ask for the same.
    """
    launch = [word for word in line.words if key_of(word).startswith("hydra.launcher.")]
    typed = {
        one.key_or_group.split(".", 2)[2]: value_of(str(one.input_line)) if one.is_sweep_override() else one.value()
        for one in overrides_of(launch)
    }  # partition=gpu,long is no axis, but sbatch's own list
    for key, value in typed.items():
        check_parameter(key, value)
        if key in LINES and isinstance(value, str):
            typed[key] = [value]
    typed = {key: value for key, value in typed.items() if value is not None or key in DEFAULTS}
    gpus = [key for key in typed if key == "gpus_per_node" or (key == "gres" and "gpu" in str(typed[key]))]
    for what, asking in (("GPUs", gpus), ("memory", [key for key in typed if key.startswith("mem")])):
        if len(asking) > 1:
            names = " and ".join(f"hydra.launcher.{key}" for key in asking)
            raise UserError(f"{names} both ask for {what}: give one of them")
    return DEFAULTS | typed


def check_parameter(key: str, value: Any) -> None:
    """Raise UserError for SLURM's own word for a parameter, an unknown one, a number that is too low, and for text of
    several lines, which sbatch's script would run. None unsets a parameter that has no default."""
    if key in OURS_BY_THEIRS:
        ours = OURS_BY_THEIRS[key]
        raise UserError(f"hydra.launcher.{key}: write hydra.launcher.{ours}, {NUMBERS.get(ours, 'as for sbatch')}")
    if key not in PARAMETERS:
        alike = " or ".join(one for one in PARAMETERS if one.startswith(key))
        near = f" (did you mean {alike}?)" if alike else nearest(key, PARAMETERS)
        raise UserError(f"there is no hydra.launcher.{key}{near}; there are {', '.join(PARAMETERS)}; {ELSEWHERE}")
    if value is None and key not in DEFAULTS:
        return
    lowest = 0 if key == "max_num_timeout" else 1
    number = gpus_in(value) if key == "gpus_per_node" else value
    if key in NUMBERS and not (isinstance(number, int | float) and number >= lowest):
        raise UserError(f"hydra.launcher.{key}={value}: give {NUMBERS[key]} from {lowest} on")
    if isinstance(value, str) and not (value.isprintable() and value.strip()):
        raise UserError(f"hydra.launcher.{key}={value!r}: give text of one line")
    if key == "additional_parameters":
        if not isinstance(value, dict):
            raise UserError(f"hydra.launcher.{key}={value}: give '{{OPTION: VALUE}}'")
        names = [str(option).replace("-", "_") for option in value]
        if own := [ours for name in names if (ours := OURS_BY_THEIRS.get(name, name)) in PARAMETERS]:
            raise UserError(f"hydra.launcher.{key}={value}: write hydra.launcher.{own[0]}=VALUE")
    if key == "python" and "py" not in str(value).rpartition(" ")[2]:
        raise UserError(f"hydra.launcher.{key}={value}: let it end in an interpreter, as in '{value} python3'")


def gpus_in(value: Any) -> Any:
    """The number of GPUs in sbatch's NUMBER, TYPE:NUMBER or, of gres, gpu:TYPE:NUMBER."""
    _, colon, number = str(value).rpartition(":")
    return int(number) if colon and number.isdecimal() else value
