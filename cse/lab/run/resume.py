"""`resume=FOLDER` and `rerun=FOLDER`: the settings of a run as data, overridden by what is typed now; and whether a run
that is run again reads what it read then.

Nothing in the folder is composed, interpolated or given to Hydra as an override, and only parts that conf/ or a
--config-dir of this command line names are built: reading a run runs no code.
"""

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from cse.errors import UserError
from cse.files import Json
from cse.lab.folder.facts import changed_code
from cse.lab.folder.runs import RUN, newest_run, read_run, read_run_file
from cse.lab.run.foreign import nodes_in, refuse_foreign_parts
from cse.lab.settings.compose import composed, explaining, is_group, resolved, without_hydra
from cse.lab.settings.dotted import Config, flattened
from cse.lab.settings.groups import choices, groups
from cse.lab.settings.groups import chosen as groups_chosen
from cse.lab.settings.keys import KEYS, changes_a_table, entry, is_science, key_of
from cse.lab.settings.spelling import NOT_PATHS, ONE_OF_MANY, overrides_of, spell, spell_value, values_of
from cse.lab.settings.spelling import typed as as_typed

if TYPE_CHECKING:  # importing torch is slow
    from cse.training.loop import Training

log = logging.getLogger("cse")

LISTS = ("eval", "tracker", "experiment", "variant")
"""The groups of which several choices may be chosen at once."""

MODE = "tracker.wandb.mode"

READ_BY = ("data", "augmentation", "aux_modality", "model", "objective")
"""The groups whose settings decide what a run reads: if one was changed, the inputs may be others."""

READ_WITH = {
    "model.": "model.name",
    "augmentation.": "the configuration of model.name",
    "objective.teacher_pooling": "objective.teacher=",
}
"""Settings that change the digest of an input even if its files are the same: {key: the input's name}."""


class Origin(NamedTuple):
    """The run that `resume=FOLDER` continues, or that `rerun=FOLDER` repeats in a folder of its own."""

    word: Literal["resume", "rerun"]
    folder: Path

    def __str__(self) -> str:
        """As typed."""
        return f"{self.word}={self.folder}"


def started_from(words: Sequence[str]) -> Origin | None:
    """The run that the words name; None for a new run, and for resume=auto. Raises UserError if they name two."""
    values = values_of(words)
    resume, rerun = (values.get(key, "") for key in ("resume", "rerun"))
    found = [Origin("resume", Path(resume))] if resume not in ("", *NOT_PATHS["resume"]) else []
    found += [Origin("rerun", Path(rerun))] if rerun not in ("", "null") else []
    if len(found) > 1:
        raise UserError(f"{found[0]} continues a run, {found[1]} starts a new one: choose one")
    return found[0] if found else None


def resumed(origin: Origin, words: Sequence[str]) -> DictConfig:
    """The config of the run, overridden by these words, with Hydra's node as the words give it.

    Raises UserError for a folder that holds no run, for settings that are not plain data, for a part that neither conf/
    nor the words name, and for a word whose key the config does not have.
    """
    recorded = settings_of(origin)
    typed = [one for one in words if key_of(one) not in ("resume", "rerun", "hydra.run.dir")]
    chosen = [one for one in typed if is_group(key_of(one)) or key_of(one).startswith("hydra")]
    overrides = [one for one in typed if one not in chosen]
    places = [one for one in words if origin.word == "rerun" and key_of(one) in ("resume", "hydra.run.dir")]
    kept = choices_of(recorded, chosen)
    fresh = composed("train", [*kept, *chosen, *places])  # what conf/ gives for these choices
    groups_now = {key_of(one): one for one in chosen if not key_of(one).startswith("hydra")}
    for group, word in groups_now.items():
        if group not in recorded or group not in fresh:
            raise UserError(f"{word} cannot be chosen with {origin}: leave it out, or start a new run")
    config = laid_over(fresh, recorded, groups_now)
    made = groups_chosen("train", fresh.hydra.runtime.choices, chosen, map(str, fresh.get("eval") or {}))
    for group in groups_now:
        OmegaConf.update(config, f"choices.{group}", made.get(group))
    if new := [one for one in chosen if changes_a_table(key_of(one))]:
        others = f"then {origin} with {' '.join(new)}: what was not typed is that run's"
        config.sources = [*config.get("sources", []), others]
    config.resume, config.rerun = (fresh.resume, str(origin.folder)) if origin.word == "rerun" else ("auto", None)
    with explaining([*kept, *words], "train"):
        override(config, overrides)
    refuse_foreign_parts(str(origin), config, fresh, words)
    return config


def laid_over(fresh: DictConfig, recorded: Config, chosen: Iterable[str]) -> DictConfig:
    """conf/'s config with the run's own values over it: all but those of the groups that are chosen now, of what a
    resumed run forgets, and of what is another machine's or of another time."""
    trainer = {**resolved(fresh.trainer), **recorded["trainer"]}  # with keys that are newer than the run
    config = OmegaConf.create({**recorded, "trainer": trainer, "hydra": fresh.hydra})
    restore_references(config, fresh)  # before the groups chosen now, which they may follow
    config.update({group: fresh[group] for group in chosen})
    for key in (key for key in KEYS if entry(key).once):
        OmegaConf.update(config, key, OmegaConf.select(fresh, key))
    for name, here in fresh.paths.items():  # a folder of another machine
        place = OmegaConf.select(config, f"paths.{name}")
        if here and place and not Path(place).expanduser().exists():
            config.paths[name] = here
    if OmegaConf.select(config, MODE) in ("auto", "online") and (now := OmegaConf.select(fresh, MODE)) is not None:
        OmegaConf.update(config, MODE, now)  # WANDB_MODE may have changed
    return config


def whole_line(origin: Origin, words: Sequence[str], config: DictConfig) -> list[str]:
    """The words that start the run without the origin's folder, as typed: that run's own words, then these, and where
    these choose from a group, whose recipe gives other values, those of the config."""
    given = [word for word in words if key_of(word) != origin.word]
    keys = {"resume", "rerun", *map(key_of, given)}
    replaced = tuple(f"{group}." for group in map(key_of, given) if is_group(group) and changes_a_table(group))
    before = read_run(origin.folder)
    own = [word for word in before.overrides if key_of(word) not in keys and not key_of(word).startswith(replaced)]
    line = [*(word for word in own if word == ONE_OF_MANY or not key_of(word).startswith("hydra")), *given]
    if replaced and not config.smoke:
        kept = choices_of(before.config, line)  # groups that the new choice would replace
        line = [*(word for word in kept if changes_a_table(key_of(word))), *line]
        made = flattened(resolved(without_hydra(composed("train", spell(line, "train")))))
        now = flattened(resolved(without_hydra(config)))
        differ = [key for key in now if changes_a_table(key) and key in made and made[key] != now[key]]
        line += [f"{key}={spell_value(now[key])}" for key in differ]
    return line if ONE_OF_MANY in line else list(map(as_typed, line))  # a sweep's job has paths in quotes


def choices_of(recorded: Config, chosen: Sequence[str]) -> list[str]:
    """GROUP=CHOICE of each group that the run recorded, if conf/ still has the choice and this line makes no other."""
    words = []
    kept = flattened(recorded)
    for group in groups("train"):
        known = [name for name in str(kept.get(f"choices.{group}")).split(",") if name in choices(group)]
        if known and group not in map(key_of, chosen):
            words.append(f"{group}=[{','.join(known)}]" if group in LISTS and known[1:] else f"{group}={known[0]}")
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


def override(config: DictConfig, words: Sequence[str]) -> None:
    """Apply the words to the config as to a new run's: `+` adds a key, `~` deletes one. Raises OmegaConf's errors."""
    OmegaConf.set_struct(config, True)
    for word, parsed in zip(words, overrides_of(words), strict=True):
        key, value = key_of(word), parsed.value()
        parent, _, name = key.rpartition(".")
        here = OmegaConf.select(config, key)
        if not word.startswith("~"):
            OmegaConf.update(config, key, value, force_add=word.startswith("+"))
        elif here is None or value not in (None, here):
            raise UserError(f"{word}: there is nothing to delete")
        else:
            with open_dict(config):
                del OmegaConf.select(config, parent)[name]


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


def check_same_inputs(config: Config, training: "Training") -> None:
    """For rerun=: raise UserError, naming the first, if an input's bytes are not those of the run that is run again.

    The same file with other content is refused. A file of another name is what the line asked for; it may be a copy.
    """
    from cse.training.checkpoint import explain_damage, read_about, state_of
    from cse.training.settings import on_other_processes

    if config["rerun"] is None:
        return
    folder = Path(config["rerun"])
    about = read_about(folder)
    if "inputs" not in about:
        log.warning(
            "rerun      %s does not record what it learned from (no last/): its inputs are not compared", folder
        )
        return
    with explain_damage(folder):
        state_of(about)
    then, now = flattened(settings_of(Origin("rerun", folder))), flattened(config)
    changed = {key for key in then.keys() | now.keys() if is_science(key) and then.get(key) != now.get(key)}
    differ = [name for name, digest in about["inputs"].items() if training.inputs.get(name, digest) != digest]
    if not {key.partition(".")[0] for key in changed} & set(READ_BY):
        differ += sorted(about["inputs"].keys() ^ training.inputs.keys())
    meant = [name for key, name in READ_WITH.items() if any(one.startswith(key) for one in changed)]
    differ = [name for name in differ if not any(one in name for one in meant)]
    for name, files in about.get("dev_data", {}).items():
        present = training.dev_data.get(name, {})
        differ += [f"{file} of eval={name}" for file, known in files.items() if present.get(file, known) != known]
    if differ:
        more = f" and {len(differ) - 1} more" if len(differ) > 1 else ""
        raise UserError(
            f"rerun={folder}: {differ[0]}{more} changed since that run: put back what was there, name a copy of it "
            "(data.path=COPY), or start a new run"
        )
    read = set(training.inputs.values())
    other = [name for name, digest in about["inputs"].items() if digest not in read]
    but = f"; other ones in place of {', '.join(other)}" * bool(other)
    log.info("rerun      %s: the same %d inputs, by digest%s", folder, len(about["inputs"]) - len(other), but)
    before, now = read_run(folder).results, training.accelerator.num_processes
    warn_of_other_code("rerun", before, config)
    if (then := before.get("processes", now)) != now:
        why = on_other_processes(training.trainer, training.parts)
        log.warning("processes  %d instead of %d: %s: other numbers may come", now, then, why)


def warn_of_other_code(word: str, before: Json, config: Config) -> bool:
    """Whether the code is not that of a run's results.json, with a warning that names what has changed."""
    if changed := changed_code(before, config):
        log.warning("%-10s the code has changed: %s; other numbers may come", word, ", ".join(changed))
    return bool(changed)
