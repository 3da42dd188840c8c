"""What a key of the settings is for: its role.

A role is declared once, where the key is taken, as a mark beside the type or in it (cse.ranges.Mark):

    workers: Annotated[Natural, Mark.MACHINE]        in the signature of the part that takes trainer.workers
    note: Annotated[Sentence | None, Mark.LOGGING]   in cse.lab.settings.schema, for a key that no part takes

A key whose declaration has no mark, or that has no declaration, has the role of the key above it. Where that says
nothing either, the key is science: it decides what is learned or scored. A part of the user's own declares in the same
way.

    role_of("trainer.lr").is_science            # of a word: the choices in conf/ and --config-dir say who takes the key
    role_of("objective.prior", config).purpose  # of a config: its own parts say it

From the key to the role, step by step, for trainer.workers:

    Train in schema declares `trainer: Part`                           names {"Part"}: no mark
    trainer's _target_ is cse.training.settings.Trainer                its constructor declares the keys below
    it declares `workers: Annotated[Natural, Mark.MACHINE]`            names {"Annotated", "Natural", "Mark", "MACHINE"}
    the way is these two sets of names; the marks along it {MACHINE}   Role.purpose is "machine"

Role has the questions that resuming, sweeps, reports and model cards ask. Below `role_of` stand these steps, and then
the settings of a config by their role. cse.lab.settings.signatures reads the names from the source of a part.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, get_args

import yaml

from cse import ranges
from cse.lab.settings.conf_files import text_of
from cse.lab.settings.grammar import key_of
from cse.lab.settings.groups import folders_of, section_of
from cse.lab.settings.signatures import Names, classes_of, declared_by
from cse.lab.settings.values import Config, flattened
from cse.ranges import Mark
from cse.score import evaluator_of

Purpose = Literal["science", "machine", "logging", "bookkeeping"]
Settings = Mapping[str, object]
Way = Sequence[Names | None]
"""The declaration of each key on the way to a key, itself the last; None for a key that nothing declares."""

SCHEMA = "cse.lab.settings.schema"
OF_VALUE = frozenset({Mark.VERBATIM, Mark.ENCODER, Mark.SUMMED})
"""The marks that say what a value is. A key keeps those that the keys above it have; its other marks replace theirs."""


@dataclass(frozen=True)
class Role:
    """What a key is for. marks: of its declaration, and of the keys above it."""

    marks: frozenset[Mark]

    @property
    def purpose(self) -> Purpose:
        """science: what is learned and scored. machine: where data lies and what the work runs on. logging: what is
        logged, and where. bookkeeping: how the run is started, and where its folder is."""
        if Mark.MACHINE in self.marks:
            return "machine"
        if Mark.LOGGING in self.marks:
            return "logging"
        return "bookkeeping" if Mark.BOOKKEEPING in self.marks else "science"

    @property
    def is_science(self) -> bool:
        """Whether the key decides what is learned or scored, so that reports compare it."""
        return self.purpose == "science"

    @property
    def is_fixed(self) -> bool:
        """Whether a resumed run must share the value with the run that it continues."""
        return self.is_science and Mark.UNFIXED not in self.marks

    @property
    def changes_a_table(self) -> bool:
        """Whether the numbers of a table depend on the key."""
        return self.is_science and Mark.HARMLESS not in self.marks

    @property
    def names_a_job(self) -> bool:
        """Whether the hash of a job's folder depends on the key, whose value then may not change between two starts."""
        return self.is_science or Mark.NAMED in self.marks

    @property
    def is_verbatim(self) -> bool:
        """Whether the value is used as it is typed: a place, a name on the hub, a sentence."""
        return Mark.VERBATIM in self.marks


def role_of(key: str, settings: Settings | None = None) -> Role:
    """The role of a dotted key, or of a group such as hydra/launcher.

    settings: the config that has the key. Without one, or if its parts do not take the key, the choices of the key's
    group say who takes it.
    """
    key = key.replace("/", ".")
    way = way_to(key, settings or {})
    if way[-1] is None:
        way = way_by_choices(key, tuple(folders_of(key.partition(".")[0])))
    return Role(marks_along(tuple(way)))


# From a key to its declaration


def way_to(key: str, settings: Settings) -> Way:
    """The way to a key through settings: first what the schema declares, then in each part what its class declares."""
    declared = declared_by(f"{SCHEMA}.Train") | declared_by(f"{SCHEMA}.Evaluate") | declared_by(f"{SCHEMA}.Elsewhere")
    node: object = settings
    way: list[Names | None] = []
    for step in key.split("."):
        way.append(declared.get(step))
        node = node.get(step) if isinstance(node, Mapping) else None
        if isinstance(node, Mapping) and "_target_" in node:
            declared = declared_by(str(node["_target_"]))
        else:
            declared = declared_inside(way[-1] or frozenset())
    return way


@cache
def declared_inside(names: Names) -> dict[str, Names]:
    """What the TypedDicts of the schema declare that an annotation names."""
    found: dict[str, Names] = {}
    for name in classes_of(SCHEMA) & names:
        found |= declared_by(f"{SCHEMA}.{name}")
    return found


@cache
def way_by_choices(key: str, folders: Sequence[Path]) -> Way:
    """The way to a key through that choice of its group which declares most of it. folders: the group's."""
    tried = [{}, *settings_of_choices(key.partition(".")[0], folders)]
    ways = [way_to(key, settings) for settings in tried]
    return max(ways, key=lambda way: len(way) - way.count(None))


@cache
def settings_of_choices(group: str, folders: Sequence[Path]) -> list[Config]:
    """What each choice of a group would give a config, by its own file alone."""
    found: list[Config] = []
    here = [folder for folder in folders if os.path.isdir(folder)]  # False, too, for a name that is too long
    for file in (file for folder in here for file in sorted(folder.glob("*.yaml"))):
        try:
            content = yaml.safe_load(text_of(file))
        except yaml.YAMLError:  # composing it says what is wrong
            continue
        for name in reversed(section_of(group, file)):
            content = {name: content}
        found.append(content)
    return found


@cache
def marks_along(way: Way) -> frozenset[Mark]:
    """The marks of the last key of a way: the nearest declaration says what it is for, all say what its value is."""
    purpose: frozenset[Mark] = frozenset()
    value: frozenset[Mark] = frozenset()
    for names in way:
        named = marks_named(names or frozenset())
        purpose = named - OF_VALUE or purpose
        value |= named & OF_VALUE
    return purpose | value


def marks_named(names: Names) -> frozenset[Mark]:
    """The marks that an annotation names, as Mark.MACHINE, or that a type of cse.ranges has, as File has VERBATIM."""
    found = {Mark[name] for name in names & Mark.__members__.keys()}
    for name in names:
        found |= {one for one in get_args(vars(ranges).get(name)) if isinstance(one, Mark)}
    return frozenset(found)


# Settings by their role


def keys_with(mark: Mark, settings: Settings) -> dict[str, object]:
    """The settings, by dotted key, that have a mark."""
    return {key: value for key, value in flattened(settings).items() if mark in role_of(key, settings).marks}


def fixed_settings(settings: Settings) -> dict[str, object]:
    """The settings, by dotted key, that a resumed run must share with the run that it continues. settings: resolved.

    An evaluator may change, but not how the one scores whose score selects a step.
    """
    flat = flattened(settings)
    chooser = evaluator_of(str(flat.get("trainer.select")))
    fixed = {key: value for key, value in flat.items() if role_of(key, settings).is_fixed}
    scoring = scoring_settings(settings)
    return fixed | {key: value for key, value in scoring.items() if key.startswith(f"eval.{chooser}.")}


def scoring_settings(settings: Settings) -> dict[str, object]:
    """How each evaluator scores, by dotted key: its settings without the place of its data. settings: resolved."""
    flat = flattened(settings)
    places = [value for key, value in flat.items() if key.startswith("paths.") and value is not None]
    found = {}
    for key, value in flat.items():
        is_place = role_of(key, settings).is_verbatim or key.endswith(".allow_partial") or value in places
        if key.startswith("eval.") and not is_place:
            found[key] = value
    return found


def repeats_a_run(text: str) -> bool:
    """Whether a word belongs on the line that repeats a run: science, the sweep that it is of, and its data."""
    key = key_of(text)
    if text.startswith("~"):
        return False
    is_data = key == "allow_partial" or (key.startswith("paths.") and key != "paths.cache")
    return is_data or key == "sweep" or role_of(key).is_science
