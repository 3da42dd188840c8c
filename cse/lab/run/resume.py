"""`resume=FOLDER` and `rerun=FOLDER`: load a run's settings, apply the KEY=VALUE words of this line, check the result.

Read it in that order: `settings_of` loads run.yaml, `resumed` lays it over what conf/ gives for the same choices and
applies the words, `refuse_foreign_parts` refuses parts that only the folder names. Later, when everything is built and
before a file is written, `check_continues` and `check_repeats` compare what the run reads with what the folder records.

Nothing in the folder is composed, interpolated or given to Hydra as an override: reading a run runs no code.
"""

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import yaml
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from cse.errors import UserError
from cse.files import Json
from cse.lab.folder.facts import Change, as_facts, changed_code, changed_inputs, changes, changes_in_words
from cse.lab.folder.runs import RUN, newest_run, read_run, read_run_file
from cse.lab.settings.compose import composed, explaining, is_group, resolved, without_hydra
from cse.lab.settings.dotted import Config, flattened
from cse.lab.settings.groups import CONF_DIR, choices, groups, own_folders
from cse.lab.settings.keys import FUNCTION, is_science, keys_with
from cse.lab.settings.words import RUN_ALONE, Word, texts_of, values_of
from cse.ranges import Mark

if TYPE_CHECKING:  # importing torch is slow
    from cse.training.loop import Training

log = logging.getLogger("cse")


class Origin(NamedTuple):
    """The run that `resume=FOLDER` continues, or that `rerun=FOLDER` repeats in a folder of its own."""

    word: Literal["resume", "rerun"]
    folder: Path

    def __str__(self) -> str:
        """As typed."""
        return f"{self.word}={self.folder}"


def started_from(words: Sequence[Word]) -> Origin | None:
    """The run that the words name; None for a new run, and for resume=auto. Raises UserError if they name two."""
    values = values_of(words)
    resume, rerun = (values.get(key, "") for key in ("resume", "rerun"))
    found = [Origin("resume", Path(resume))] if resume not in ("", "null", "auto") else []
    found += [Origin("rerun", Path(rerun))] if rerun not in ("", "null") else []
    if len(found) > 1:
        raise UserError(f"{found[0]} continues a run, {found[1]} starts a new one: choose one")
    return found[0] if found else None


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


def resumed(origin: Origin, words: Sequence[Word]) -> DictConfig:
    """The config of the run with the words applied to it, and Hydra's node as the words give it.

    Raises UserError for a folder that holds no run, for settings that are not plain data, for a part that neither conf/
    nor the words name, for a word that chooses from a group, and for a word whose key the config does not have.
    """
    recorded = settings_of(origin)
    given = [word for word in words if word.key not in ("resume", "rerun", "hydra.run.dir")]
    of_hydra = [word for word in given if word.key.startswith("hydra")]
    settings = [word for word in given if word not in of_hydra]
    for word in settings:
        if is_group(word.key):
            raise UserError(f"{word} chooses anew beside {origin}, which takes single keys alone: type a new line")
    line = [*recorded_choices(recorded), *texts_of(of_hydra)]
    if origin.word == "rerun":
        line += [word.text for word in words if word.key in ("resume", "hydra.run.dir")]
    with explaining([*line, *texts_of(words)], "train"):
        fresh = composed("train", line)  # what conf/ gives for the run's choices
        config = laid_over(fresh, recorded)
        if origin.word == "rerun":
            config.rerun = str(origin.folder)
        else:
            config.resume = "auto"
        override(config, settings)
    refuse_foreign_parts(origin, config, fresh, texts_of(words))
    return config


def laid_over(fresh: DictConfig, recorded: Config) -> DictConfig:
    """The run's own values over those of conf/, but for what a new start forgets and what only another machine has."""
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


def recorded_choices(recorded: Config) -> list[str]:
    """GROUP=CHOICE of each group that the run recorded, if conf/ still has the choice."""
    made = flattened(recorded)
    words = []
    for group in groups("train"):
        known = [name for name in str(made.get(f"choices.{group}")).split(",") if name in choices(group)]
        if len(known) == 1:
            words.append(f"{group}={known[0]}")
        elif known:
            words.append(f"{group}=[{','.join(known)}]")
    return words


def restore_references(config: DictConfig, fresh: DictConfig) -> None:
    """Put back each reference of conf/ that gives the run's own value, so that it follows what is typed.

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


def override(config: DictConfig, words: Sequence[Word]) -> None:
    """Apply the words to the config as to a new run's: `+` adds a key, `~` deletes one. Raises OmegaConf's errors."""
    OmegaConf.set_struct(config, True)
    for word in words:
        key, value = word.key, word.parsed
        parent, _, name = key.rpartition(".")
        here = OmegaConf.select(config, key)
        if not word.text.startswith("~"):
            OmegaConf.update(config, key, value, force_add=word.text.startswith("+"))
        elif here is None or value not in (None, here):
            raise UserError(f"{word}: there is nothing to delete")
        else:
            with open_dict(config):
                del OmegaConf.select(config, parent)[name]


def whole_line(origin: Origin, words: Sequence[Word]) -> list[Word]:
    """The words that start the run without the origin's folder, as typed: that run's own words, then these."""
    given = [word for word in words if word.key != origin.word]
    typed = {"resume", "rerun", *(word.key for word in given)}
    own = [word for word in read_run(origin.folder).words if word.key not in typed]
    return [*(word for word in own if word == RUN_ALONE or not word.key.startswith("hydra")), *given]


# --- Reading a run runs no code: only parts that conf/, a --config-dir or a word of this line names are built. ---

HYDRAS_KEY = re.compile(r"_[a-z]+_")
"""`_target_`, `_partial_`, `_args_` and the like, by which Hydra builds a part."""


def refuse_foreign_parts(origin: Origin, config: DictConfig, fresh: DictConfig, words: Sequence[str]) -> None:
    """Raise UserError for a part that neither conf/ nor a --config-dir has, and that no word names.

    fresh: what conf/ gives for the run's choices, in which a part may have its keys from several files.
    """
    known = [part for place in (Path(CONF_DIR), *own_folders()) for part in parts_in_folder(place)]
    known += [part for _, part in parts_in(OmegaConf.to_container(without_hydra(fresh)))]
    typed = re.findall(r"_target_\s*[:=]\s*['\"]?([\w.]+)", " ".join(words))
    tree: Any = OmegaConf.to_container(without_hydra(config))
    for key, part in parts_in(tree):
        if part in known or part.get("_target_") in typed:
            continue
        if part.get("_target_") == FUNCTION:
            given = call_with(str(origin), functions_in(tree))
            raise UserError(f"{origin}: {key} was a function, which only Python can give: {given}")
        named = " ".join(f"{key}.{name}={value}" for name, value in part.items())
        raise UserError(
            f"{origin}: {named} is not a part of cse, and a run may not name code: give the --config-dir FOLDER "
            f"that names it, or type {key}._target_=... again"
        )


def parts_in_folder(conf: Path) -> Iterator[Config]:
    """The parts that a folder laid out as conf/ has, see `parts_in`."""
    for file in sorted(conf.rglob("*.yaml")):
        text = file.read_text(encoding="utf-8")
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


def nodes_in(tree: object, key: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted key, content) of a tree of mappings and lists, and of everything in it."""
    yield key, tree
    children: list[tuple[object, object]] = []
    if isinstance(tree, dict):
        children = list(tree.items())
    elif isinstance(tree, list):
        children = list(enumerate(tree))
    for name, child in children:
        yield from nodes_in(child, f"{key}.{name}" if key else str(name))


def functions_in(config: Config) -> list[str]:
    """The names of the evaluators that are functions."""
    evaluators = config.get("eval") or {}
    return [name for name, one in evaluators.items() if isinstance(one, dict) and one.get("_target_") == FUNCTION]


def call_with(word: str, functions: Sequence[str]) -> str:
    """The call of cse.train that gives them again. word: resume=FOLDER or rerun=FOLDER."""
    given = ", ".join(f"{name!r}: {name}" for name in functions)
    return f"cse.train({word!r}, eval={{{given}}})"


# --- What a run reads, beside what its folder records. ---

UNSAVED = {"trainer.no_duplicates": False}
"""Settings that a run of an older edition does not record, with the value that they had for it."""


def check_continues(training: "Training") -> None:
    """For resume=: raise UserError, naming what changed, where settings or data are not those of the run's last/."""
    from cse.training.settings import WEIGHTS

    about = read_last(training.folder)
    if not about:
        return  # nothing is saved yet
    # an older edition saved no settings of evaluators, either
    before = {key: value for key, value in training.identity.items() if key.startswith("eval.")}
    before |= UNSAVED | about["identity"]
    then = {key: before.get(key) for key in training.identity}
    changed = changes(as_facts("science", then), as_facts("science", training.identity))
    for change in changed_inputs(about, training.inputs, training.dev_data):
        if change.name != WEIGHTS:  # last/ has the weights
            changed.append(change)
    if changed:
        raise UserError(
            f"{training.folder} was started with other settings or data: {changes_in_words(changed)}; "
            f"resume with those; rerun={training.folder} instead of resume= makes a new run with what you typed"
        )


def check_repeats(folder: Path, config: Config, training: "Training") -> None:
    """For rerun=FOLDER: raise UserError if an input is not that of the run, and no word of this line explains it.

    The same file with other content is refused. A file of another name is what the line asked for; it may be a copy.
    """
    from cse.training.settings import on_other_processes

    about = read_last(folder)
    if not about:
        log.warning(
            "rerun      %s does not record what it learned from (no last/): its inputs are not compared", folder
        )
        return
    then, now = (as_facts("science", science_in(one)) for one in (settings_of(Origin("rerun", folder)), config))
    typed = {change.name.partition(".")[0] for change in changes(then, now)}
    found = changed_inputs(about, training.inputs, training.dev_data)
    if changed := [change for change in found if not is_asked_for(change, typed)]:
        raise UserError(
            f"rerun={folder}: that run had other data: {changes_in_words(changed)}; put back what was there, name a "
            "copy of it (data.path=COPY), or start a new run"
        )
    read = set(training.inputs.values())
    other = [name for name, digest in about["inputs"].items() if digest not in read]
    but = f"; other ones in place of {', '.join(other)}" if other else ""
    log.info("rerun      %s: the same %d inputs, by digest%s", folder, len(about["inputs"]) - len(other), but)
    results, processes = read_run(folder).results, training.accelerator.num_processes
    warn_of_other_code("rerun", results, config)
    if results.get("processes", processes) != processes:
        why = on_other_processes(training.trainer, training.parts)
        log.warning("processes  %d instead of %d: %s: other numbers may come", processes, results["processes"], why)


DIGESTED = {
    "model": "model.name",
    "augmentation": "the configuration of model.name",  # which has its dropout
    "objective": "objective.teacher=",  # with its pooling
}
"""Groups whose settings are part of the digest of an input: {group: what the input's name has}."""


def is_asked_for(change: Change, typed: set[str]) -> bool:
    """Whether an input is another because of what was typed. typed: the groups of other settings."""
    if change.before is None or change.now is None:  # an input of another name
        return bool(typed & {"data", "augmentation", "aux_modality", "model", "objective", "eval"})
    return any(group in typed and part in change.name for group, part in DIGESTED.items())


def science_in(config: Config) -> Config:
    """The settings that decide what is learned and scored, by dotted key."""
    return {key: value for key, value in flattened(config).items() if is_science(key)}


def read_last(folder: Path) -> Json:
    """What last/ records beside its tensors; {} where there is no last/. Raises UserError for a damaged file."""
    from cse.training.checkpoint import explain_damage, read_about, read_state

    if about := read_about(folder):
        with explain_damage(folder):
            read_state(about)
    return about


def warn_of_other_code(word: str, before: Json, config: Config) -> bool:
    """Whether the code is not that of a run's results.json, with a warning that names what has changed."""
    if changed := changed_code(before, config):
        log.warning("%-10s the code has changed: %s; other numbers may come", word, ", ".join(changed))
    return bool(changed)
