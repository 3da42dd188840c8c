"""Reading a run runs no code: only parts that conf/, a --config-dir or a word of this line names are built.

What Hydra builds is named in a run's settings, so a folder from elsewhere could name any code. `refuse_foreign_parts`
asks for each part of it who else names it. An evaluator that is a function of Python has to be given again.
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
from cse.lab.settings.groups import CONF_DIR, own_folders
from cse.lab.settings.values import Config, nodes_in

FUNCTION = "cse.eval.function.Function"
"""The part that a function given in Python becomes: an evaluator."""
HYDRAS_KEY = re.compile(r"_[a-z]+_")
"""`_target_`, `_partial_`, `_args_` and the like, by which Hydra builds a part."""


def refuse_foreign_parts(origin: str, config: DictConfig, fresh: DictConfig, words: Sequence[str]) -> None:
    """Raise UserError for a part that neither conf/ nor a --config-dir has, and that no word names.

    origin: resume=FOLDER or rerun=FOLDER. fresh: what conf/ gives for the run's choices, in which a part may have its
    keys from several files.
    """
    known = [part for place in (Path(CONF_DIR), *own_folders()) for part in parts_in_folder(place)]
    known += [part for _, part in parts_in(OmegaConf.to_container(without_hydra(fresh)))]
    typed = re.findall(r"_target_\s*[:=]\s*['\"]?([\w.]+)", " ".join(words))
    tree: Any = OmegaConf.to_container(without_hydra(config))
    for key, part in parts_in(tree):
        if part in known or part.get("_target_") in typed:
            continue
        if part.get("_target_") == FUNCTION:
            given = call_with(origin, functions_in(tree))
            raise UserError(f"{origin}: {key} was a function, which only Python can give: {given}")
        named = " ".join(f"{key}.{name}={value}" for name, value in part.items())
        raise UserError(
            f"{origin}: {named} is not a part of cse, and a run may not name code: give the --config-dir FOLDER "
            f"that names it, or type {key}._target_=... again"
        )


def parts_in_folder(conf: Path) -> Iterator[Config]:
    """The parts that a folder laid out as conf/ has, see `parts_in`. Raises UserError for a file that is not UTF-8."""
    for file in sorted(conf.rglob("*.yaml")):
        text = text_of(file)
        try:
            content = yaml.load(text, yaml.CSafeLoader) if "_target_" in text else {}
            yield from (part for _, part in parts_in(content))
        except yaml.YAMLError:  # Hydra has refused it already if this line chose it
            continue


def parts_in(tree: object) -> Iterator[tuple[str, Config]]:
    """(dotted key, part) of every part in a tree: what Hydra builds, its `_target_` and how it is called."""
    for key, node in nodes_in(tree):
        part = {name: node[name] for name in node if HYDRAS_KEY.fullmatch(str(name))} if isinstance(node, dict) else {}
        if part:
            yield key, part


def functions_in(config: Config) -> list[str]:
    """The names of the evaluators that are functions."""
    evaluators = config.get("eval") or {}
    return [name for name, one in evaluators.items() if isinstance(one, dict) and one.get("_target_") == FUNCTION]


def call_with(word: str, functions: Sequence[str]) -> str:
    """The call of cse.train that gives them again. word: resume=FOLDER or rerun=FOLDER."""
    given = ", ".join(f"{name!r}: {name}" for name in functions)
    return f"cse.train({word!r}, eval={{{given}}})"
