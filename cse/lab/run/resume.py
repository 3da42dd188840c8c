"""`resume=FOLDER` and `rerun=FOLDER`: a run that begins with the settings of another run. Read it in this order.

started_from    which run the arguments name
resumed         the config: that run's settings (settings_of), laid over what conf/ gives for the same choices
                (laid_over), with the arguments applied (override), and no part that only the folder names
                (refuse_foreign_parts)
without_origin  the arguments that start the same run without that run's folder

When everything is built, check_resumed or check_repeated (cse.lab.run.unchanged) compares what is read with what the
folder records. Nothing in the folder is composed, interpolated or given to Hydra as an override: reading a run runs no
code.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from cse.errors import UserError
from cse.lab.folder.contents import RUN, read_run_file
from cse.lab.folder.runs import newest_run, read_run
from cse.lab.settings.arguments import RUN_ALONE, Argument, shell_line, texts_of, values_of
from cse.lab.settings.compose import complete_sources, composed, resolved, without_hydra
from cse.lab.settings.conf_files import text_of
from cse.lab.settings.groups import CONF_DIR, choices, groups, is_group, user_folders
from cse.lab.settings.mistakes import explaining
from cse.lab.settings.references import fill_in_environment
from cse.lab.settings.roles import keys_with
from cse.lab.settings.values import Config, flattened, nodes_in
from cse.ranges import Mark

FUNCTION = "cse.eval.function.Function"
"""The part that a function given in Python becomes: an evaluator."""
HYDRAS_KEY = re.compile(r"_[a-z]+_")
"""`_target_`, `_partial_`, `_args_` and the like, by which Hydra builds a part."""


class Origin(NamedTuple):
    """The run that `resume=FOLDER` continues, that `rerun=FOLDER` repeats in a folder of its own, or that cse-eval
    scores by `checkpoint=FOLDER`."""

    key: Literal["resume", "rerun", "checkpoint"]
    folder: Path

    def __str__(self) -> str:
        """As given."""
        return f"{self.key}={self.folder}"


def started_from(arguments: Sequence[Argument]) -> Origin | None:
    """The run that the arguments name; None for a new run and for resume=auto. Raises UserError if there are two."""
    values = values_of(arguments)
    resume, rerun = (values.get(key, "") for key in ("resume", "rerun"))
    origins = [Origin("resume", Path(resume))] if resume not in ("", "null", "auto") else []
    origins += [Origin("rerun", Path(rerun))] if rerun not in ("", "null") else []
    if len(origins) > 1:
        raise UserError(f"{origins[0]} continues a run, {origins[1]} starts a new one: choose one")
    return origins[0] if origins else None


def resumed(origin: Origin, arguments: Sequence[Argument]) -> DictConfig:
    """The config of the run with the arguments applied to it, and Hydra's node as the arguments give it.

    Raises UserError for a folder that holds no run, for settings that are not plain data, for a part that neither conf/
    nor the arguments name, for a choice from a group, and for a key that the config does not have.
    """
    recorded = settings_of(origin)
    given = [
        argument
        for argument in arguments
        if argument.key not in ("resume", "rerun") and not argument.key.startswith("hydra")
    ]
    for argument in given:
        if is_group(argument.key):
            raise UserError(f"{argument} chooses anew beside {origin}, which takes single keys alone: start a new run")
        if argument.key == "smoke" and argument.parsed is not bool(recorded.get("smoke")):
            anew = shell_line("cse-train", *texts_of(without_origin(origin, arguments)))
            raise UserError(
                f"{argument} comes too late for {origin}, whose data and sizes are set: a new run is {anew}"
            )
    chosen = [*recorded_choices(recorded), *texts_of(arguments_of_place(origin, arguments))]
    with explaining([*chosen, *texts_of(arguments)], "train"):
        fresh = composed("train", chosen)  # what conf/ gives for the run's choices
        config = laid_over(fresh, recorded)
        if origin.key == "rerun":
            config.rerun = str(origin.folder)
        elif origin.key == "resume":
            config.resume = "auto"
        override(config, given)
        complete_sources(config)
        fill_in_environment(config)
    refuse_foreign_parts(str(origin), config, fresh, texts_of(arguments))
    return config


def settings_of(origin: Origin) -> Config:
    """The resolved settings that a run left. Raises UserError if there are none, or if they are not plain data."""
    file = origin.folder / RUN
    if not origin.folder.exists():
        raise UserError(f"{origin}: there is no such folder")
    if not file.is_file():
        raise UserError(f"{origin}: there is no {RUN} in it, so it is not a run{newest_run(origin.folder)}")
    try:
        settings = read_run_file(file)["config"]
        if not all(isinstance(settings.get(key), dict) for key in ("trainer", "data")):
            raise ValueError("no settings of cse-train")
    except (OSError, ValueError) as error:
        raise UserError(f"{file} cannot be read ({error}): restore it from a copy, or start a new run") from error
    for key, value in nodes_in(settings):
        if isinstance(value, str) and "${" in value:
            raise UserError(f"{file}: {key}={value} is a reference, but a run's settings are plain values")
    return settings


def recorded_choices(recorded: Config) -> list[str]:
    """GROUP=CHOICE of each group that the run recorded, if conf/ still has the choice."""
    made = flattened(recorded)
    texts = []
    for group in groups("train"):
        known = [name for name in str(made.get(f"choices.{group}")).split(",") if name in choices(group)]
        if len(known) == 1:
            texts.append(f"{group}={known[0]}")
        elif known:
            texts.append(f"{group}=[{','.join(known)}]")
    return texts


def arguments_of_place(origin: Origin, arguments: Sequence[Argument]) -> list[Argument]:
    """The arguments about Hydra, and about the folder of a new run. A resumed run has its folder already."""
    keys = ("resume", "hydra.run.dir")
    if origin.key == "rerun":
        return [argument for argument in arguments if argument.key in keys or argument.key.startswith("hydra")]
    return [argument for argument in arguments if argument.key not in keys and argument.key.startswith("hydra")]


def laid_over(fresh: DictConfig, recorded: Config) -> DictConfig:
    """The run's own values over conf/'s, but for what a new start forgets and what only another machine has."""
    config = OmegaConf.create({**recorded, "hydra": fresh.hydra})
    config.trainer = {**resolved(fresh.trainer), **recorded["trainer"]}  # with keys that are newer than the run
    restore_references(config, fresh)
    for key in keys_with(Mark.ONCE, resolved(without_hydra(fresh))):
        OmegaConf.update(config, key, OmegaConf.select(fresh, key))
    for name, here in fresh.paths.items():
        place = OmegaConf.select(config, f"paths.{name}")
        if here and place and not Path(place).expanduser().exists():
            config.paths[name] = here
    return config


def restore_references(config: DictConfig, fresh: DictConfig) -> None:
    """Put back each reference of conf/ that gives the run's own value, so that it follows what the user gives.

    A run's settings are resolved: eval.stsb.senteval repeats paths.senteval.
    """
    written = OmegaConf.to_container(without_hydra(fresh))
    for key, reference in flattened(written).items():  # type: ignore[arg-type]
        own = OmegaConf.select(config, key, default=reference)
        if "${" not in str(reference) or own == reference:
            continue
        OmegaConf.update(config, key, reference)
        with suppress(OmegaConfBaseException):  # it refers to what this run, or this machine, does not have
            if OmegaConf.select(config, key) == own:
                continue
        OmegaConf.update(config, key, own, merge=False)


def override(config: DictConfig, arguments: Sequence[Argument]) -> None:
    """Apply the arguments as for a new run: `+` adds a key, `~` deletes one. Raises OmegaConf's errors."""
    OmegaConf.set_struct(config, True)
    for argument in arguments:
        key, value = argument.key, argument.parsed
        parent, _, name = key.rpartition(".")
        here = OmegaConf.select(config, key)
        if not argument.text.startswith("~"):
            OmegaConf.update(config, key, value, force_add=argument.text.startswith("+"))
        elif here is None or value not in (None, here):
            raise UserError(f"{argument}: there is nothing to delete")
        else:
            with open_dict(config):
                del OmegaConf.select(config, parent)[name]


def without_origin(origin: Origin, arguments: Sequence[Argument]) -> list[Argument]:
    """The arguments that start the run without the origin's folder: that run's own, then these."""
    given = [argument for argument in arguments if argument.key != origin.key]
    replaced = {"resume", "rerun", *(argument.key for argument in given)}
    own = [argument for argument in read_run(origin.folder).arguments if argument.key not in replaced]
    return [*(argument for argument in own if argument == RUN_ALONE or not argument.key.startswith("hydra")), *given]


# Code


OF_SOURCE = re.compile(r"data\.sources\.[^.]+\.objective")
"""The objective of a mixture's source."""


def refuse_foreign_parts(origin: str, config: DictConfig, fresh: DictConfig, texts: Sequence[str]) -> None:
    """Raise UserError for a part that neither conf/ nor a --config-dir has, and that no argument names.

    origin: resume=FOLDER or rerun=FOLDER. fresh: what conf/ gives for the run's choices, in which a part may have its
    keys from several files.
    """
    known = [part for place in (Path(CONF_DIR), *user_folders()) for part in parts_in_folder(place)]
    known += [part for _, part in parts_in(OmegaConf.to_container(without_hydra(fresh)))]
    named_here = re.findall(r"_target_\s*[:=]\s*['\"]?([\w.]+)", " ".join(texts))
    tree: Any = OmegaConf.to_container(without_hydra(config))
    for key, part in parts_in(tree):
        if OF_SOURCE.fullmatch(key):  # which is made later, for the encoder's width
            part = {name: value for name, value in part.items() if name != "_partial_"}
        if part in known or part.get("_target_") in named_here:
            continue
        if part.get("_target_") == FUNCTION:
            given = call_with(origin, functions_in(tree))
            raise UserError(f"{origin}: {key} was a function, which only Python can give: {given}")
        named = " ".join(f"{key}.{name}={value}" for name, value in part.items())
        raise UserError(
            f"{origin}: {named} is not a part of cse, and a run may not name code: give the --config-dir FOLDER "
            f"that names it, or give {key}._target_=... again"
        )


def parts_in_folder(conf: Path) -> Iterator[Config]:
    """The parts that a folder laid out as conf/ has, see `parts_in`. Raises UserError for a file that is not UTF-8."""
    for file in sorted(conf.rglob("*.yaml")):
        text = text_of(file)
        try:
            content = yaml.load(text, yaml.CSafeLoader) if "_target_" in text else {}
            yield from (part for _, part in parts_in(content))
        except yaml.YAMLError:  # Hydra has refused it already if it was chosen
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
    targets = {name: node.get("_target_") for name, node in evaluators.items() if isinstance(node, dict)}
    return [name for name, target in targets.items() if target == FUNCTION]


def call_with(argument: str, functions: Sequence[str]) -> str:
    """The call of cse.train that gives the functions again. argument: resume=FOLDER or rerun=FOLDER."""
    given = ", ".join(f"{name!r}: {name}" for name in functions)
    return f"cse.train({argument!r}, eval={{{given}}})"
