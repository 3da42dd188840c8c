"""The settings of cse-report: conf/reporting.yaml with the command line's values, checked by type."""

import os
from pathlib import Path
from typing import Annotated

import yaml
from annotated_types import Gt, Lt
from omegaconf import OmegaConf
from pydantic import with_config
from typing_extensions import TypedDict

from cse.errors import UserError
from cse.lab.settings.check import validate_settings
from cse.lab.settings.compose import parsed_value
from cse.lab.settings.groups import CONF_DIR
from cse.lab.settings.lookup import folders_beside, nearest
from cse.lab.settings.references import resolved
from cse.lab.settings.values import PlainConfig
from cse.ranges import STRICT, Name, NonNegative, Positive

OF_RUNS = ("metrics", "seed", "where", "baseline", "gate", "within")  # a sweep's report does not read these keys
TEXT = ("sweep", "out", "baseline", "where")  # never parsed as a number or a list; only null is parsed


@with_config(STRICT)
class Reporting(TypedDict):
    """The keys of conf/reporting.yaml."""

    sweep: str | None
    runs: list[Name] | None
    where: str | None
    out: str | None
    metrics: list[Name]
    baseline: str | None
    gate: NonNegative | None
    within: Positive | None
    differ: list[Name] | None
    seed: Name
    confidence: Annotated[float, Gt(0), Lt(1)]
    tolerance: NonNegative


def reporting_settings(arguments: list[str]) -> PlainConfig:
    """Return the settings of cse-report with the values that these arguments give.

    Hydra does not parse the arguments, because Hydra refuses a folder's name with "=". Raises UserError for an unknown
    key, for a value that the key cannot have, and if there is nothing to report.
    """
    defaults = default_settings()
    given: PlainConfig = {}
    known = list(defaults)
    for argument in arguments:
        if is_folder_alone(argument, known):
            argument = f"runs={argument}"
        check_argument(argument, known, given)
        key, _, value = argument.partition("=")
        given[key] = value if is_text(key, value) else parsed_value(argument)
    config = resolved(validate_settings(OmegaConf.create({**defaults, **given}), Reporting))
    check_together(config)
    config["runs"] = config["runs"] or []
    return config


def default_settings() -> PlainConfig:
    """Return the content of conf/reporting.yaml."""
    return yaml.safe_load((Path(CONF_DIR) / "reporting.yaml").read_text(encoding="utf-8"))


def changed_settings(config: PlainConfig) -> PlainConfig:
    """Return the settings that are not the defaults. An empty list of runs counts as the default."""
    defaults = default_settings()
    return {key: value for key, value in config.items() if value not in (defaults[key], [])}


def is_folder_alone(argument: str, known: list[str]) -> bool:
    """Return whether an argument is a folder without `runs=`. The folder's name may contain "=", or be a key's name."""
    key, equals, _ = argument.partition("=")
    is_setting = bool(equals) and key in known
    return not is_setting and os.path.isdir(argument)


def check_argument(argument: str, known: list[str], given: PlainConfig) -> None:
    """Raise UserError for an argument that is not KEY=VALUE, for an unknown key, and for a key that is given twice."""
    key, equals, value = argument.partition("=")
    near = nearest(key, known) or "; cse-report --help lists the keys"
    if not equals and key not in known:
        path = Path(argument)
        near = nearest(path.name, [*known, *folders_beside(path)]) or near
        raise UserError(f"{argument}: there is no such folder, and no such key{near}")
    if key not in known:
        raise UserError(f"{argument}: there is no key {key}{near}")
    if not equals:
        raise UserError(f"{argument}: give {key}=VALUE")
    if key in given:
        raise UserError(
            f"{argument}: {key}= is given twice; several values go into one argument, "
            "runs=[A,B] or where=KEY=VALUE,KEY=VALUE"
        )
    if "${" in value:
        raise UserError(f"{argument}: $ is not expanded: give the value itself")


def is_text(key: str, value: str) -> bool:
    """Return whether a value is text, such as a name or a single folder. Text is not parsed as a number or a list."""
    is_list = value[:1] == "[" and value[-1:] == "]"
    return value != "null" and (key in TEXT or (key == "runs" and not is_list))


def check_together(config: PlainConfig) -> None:
    """Raise UserError for settings that exclude each other, because one of them would be ignored silently."""
    changed = changed_settings(config)
    if config["differ"] is not None:
        if len(config["differ"]) != 2:
            raise UserError("differ=[RUN,RUN] needs two runs")
        for key in changed:
            if key not in ("differ", "out"):
                raise UserError(f"{key}={config[key]} cannot be used with differ=[RUN,RUN]; only out= can")
    elif config["sweep"]:
        for key in OF_RUNS:
            if key in changed:
                raise UserError(f"{key}={config[key]} is for runs=FOLDER, not for sweep=: leave it out")
    elif not config["runs"]:
        raise UserError("nothing to report: give sweep=PAPER/TABLE or runs=FOLDER (cse-report --help)")
    elif "tolerance" in changed:
        raise UserError(f"tolerance={config['tolerance']} is for sweep=PAPER/TABLE: with runs=FOLDER give within=")
