"""The code that a run's settings name: the parts that Hydra builds, and the evaluators that are Python functions.

refuse_foreign_parts  refuses a part that only the folder of a resumed or repeated run names
functions_in          returns the names of the evaluators that are Python functions
call_with             returns the Python call that passes these functions again
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf

from cse.errors import UserError
from cse.lab.settings.compose import without_hydra
from cse.lab.settings.conf_files import text_of
from cse.lab.settings.groups import CONF_DIR, user_folders
from cse.lab.settings.values import PlainConfig, nodes_in

FUNCTION = "cse.eval.function.Function"
"""The class of the evaluator that calls a Python function of the user."""
HYDRAS_KEY = re.compile(r"_[a-z]+_")
"""The keys from which Hydra builds a part: `_target_`, `_partial_`, `_args_` and similar keys."""
OBJECTIVE_OF_SOURCE = re.compile(r"data\.sources\.[^.]+\.objective")
"""The pattern of the key of a mixture's objective for one text."""


def refuse_foreign_parts(run: str, config: DictConfig, fresh: DictConfig, arguments: Sequence[str]) -> None:
    """Raise UserError for a part of `config` that is neither in conf/, nor in a --config-dir, nor in an argument.

    run: resume=FOLDER or rerun=FOLDER. fresh: the config that conf/ gives for the run's choices. The parts of `fresh`
    are also allowed: no single file has a part that Hydra composes from several files.
    """
    known = [part for place in (Path(CONF_DIR), *user_folders()) for part in parts_in_folder(place)]
    known += [part for _, part in parts_in(OmegaConf.to_container(without_hydra(fresh)))]
    given = re.findall(r"_target_\s*[:=]\s*['\"]?([\w.]+)", " ".join(arguments))
    tree: Any = OmegaConf.to_container(without_hydra(config))
    for key, part in parts_in(tree):
        if OBJECTIVE_OF_SOURCE.fullmatch(key):  # this objective has _partial_: the encoder's width is added later
            part = {name: value for name, value in part.items() if name != "_partial_"}
        if part in known or part.get("_target_") in given:
            continue
        if part.get("_target_") == FUNCTION:
            call = call_with(run, functions_in(tree))
            raise UserError(f"{run}: {key} was a Python function; give it again in Python: {call}")
        named = " ".join(f"{key}.{name}={value}" for name, value in part.items())
        raise UserError(
            f"{run}: {named} is not a part of cse, so the command must name this part too: give the --config-dir "
            f"FOLDER with the part's YAML, or give {key}._target_=... again"
        )


def parts_in_folder(conf: Path) -> Iterator[PlainConfig]:
    """Yield the parts (see `parts_in`) in a folder laid out as conf/. Raises UserError for a file that is not UTF-8."""
    for file in sorted(conf.rglob("*.yaml")):
        text = text_of(file)
        try:
            content = yaml.load(text, yaml.CSafeLoader) if "_target_" in text else {}
            yield from (part for _, part in parts_in(content))
        except yaml.YAMLError:  # if the file was chosen, Hydra has refused it already
            continue


def parts_in(tree: object) -> Iterator[tuple[str, PlainConfig]]:
    """Yield (dotted key, part) of each part in a tree. Only a part's keys for Hydra, such as `_target_`, are kept."""
    for key, node in nodes_in(tree):
        part = {name: node[name] for name in node if HYDRAS_KEY.fullmatch(str(name))} if isinstance(node, dict) else {}
        if part:
            yield key, part


def functions_in(plain: PlainConfig) -> list[str]:
    """Return the names of the evaluators that are Python functions of the user."""
    evaluators = plain.get("eval")
    pairs = evaluators.items() if isinstance(evaluators, dict) else ()  # a damaged file may hold anything
    targets = {name: node.get("_target_") for name, node in pairs if isinstance(node, dict)}
    return [name for name, target in targets.items() if target == FUNCTION]


def call_with(argument: str, functions: Sequence[str]) -> str:
    """Return the call of cse.train that passes these functions again. argument: resume=FOLDER or rerun=FOLDER."""
    given = ", ".join(f"{name!r}: {name}" for name in functions)
    return f"cse.train({argument!r}, eval={{{given}}})"
