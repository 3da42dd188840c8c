"""The settings of cse-report: conf/reporting.yaml with the command line's values, checked by type."""

import os
from pathlib import Path
from typing import Annotated

import yaml
from annotated_types import Gt, Lt
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import with_config
from typing_extensions import TypedDict

from cse.errors import UserError
from cse.lab.settings.check import validate_keys
from cse.lab.settings.compose import resolved
from cse.lab.settings.dotted import Config
from cse.lab.settings.groups import CONF_DIR
from cse.lab.settings.suggest import nearest
from cse.ranges import STRICT, Name, NonNegative, Positive

OF_RUNS = ("metrics", "seed", "where", "baseline", "gate", "within", "differ")  # which a sweep's report does not read
TEXT = ("sweep", "out", "baseline", "where")  # never parsed as a number or a list


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


def reporting_settings(arguments: list[str]) -> Config:
    """The settings of these arguments. They are not read by Hydra, which refuses an = in a folder's name.

    Raises UserError for an unknown key, for a value that the key cannot have, and if there is nothing to report.
    """
    defaults = yaml.safe_load((Path(CONF_DIR) / "reporting.yaml").read_text(encoding="utf-8"))
    typed: Config = {}
    for argument in arguments:
        check_argument(argument, known=list(defaults), given=typed)
        key, _, value = argument.partition("=")
        typed[key] = value if is_text(key, value) else parsed_value(argument)
    config = resolved(validate_keys(OmegaConf.create({**defaults, **typed}), Reporting))
    config["runs"] = config["runs"] or []
    check_together(config, defaults)
    return config


def check_argument(argument: str, known: list[str], given: Config) -> None:
    """Refuse what is not KEY=VALUE of a known key that was not given yet."""
    key, equals, value = argument.partition("=")
    if key not in known:
        hint = f"; a folder of runs is runs={key}" if os.path.isdir(key) else nearest(key, known)
        raise UserError(f"{argument}: there is no key {key}{hint}")
    if not equals:
        raise UserError(f"{argument}: type {key}=VALUE")
    if key in given:
        raise UserError(f"{argument}: {key}= is there twice; give it once (where=KEY=VALUE,KEY=VALUE)")
    if "${" in value:
        raise UserError(f"{argument}: $ is not expanded: type the value itself")


def is_text(key: str, value: str) -> bool:
    """Whether a value stands for itself: a name, or a single folder."""
    is_list = value[:1] == "[" and value[-1:] == "]"
    return key in TEXT or (key == "runs" and value != "null" and not is_list)


def parsed_value(argument: str) -> object:
    """The value of KEY=VALUE, read as in a config. Not by yaml.safe_load, for which 1e-1 is text, as in YAML 1.1."""
    key, _, value = argument.partition("=")
    try:
        return OmegaConf.from_dotlist([argument])[key]
    except (yaml.YAMLError, OmegaConfBaseException) as error:
        raise UserError(f"{argument}: {value!r} cannot be read as a value or a [list]") from error


def check_together(config: Config, defaults: Config) -> None:
    """Refuse settings of which nothing can be reported together."""
    if config["differ"] is not None and len(config["differ"]) != 2:
        raise UserError("differ=[RUN,RUN] names two runs")
    if not config["sweep"] and not config["runs"] and not config["differ"]:
        raise UserError("nothing to report: give sweep=PAPER/TABLE or runs=FOLDER (cse-report --help)")
    of_runs = next((key for key in OF_RUNS if config[key] != defaults[key]), None)
    if config["sweep"] and of_runs:
        raise UserError(f"{of_runs}={config[of_runs]} is for runs=FOLDER; a sweep's rows are compared with its paper's")
