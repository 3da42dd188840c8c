"""What a key of the settings is for: its role, as the declaration of the key says.

A declaration is an annotation in the signature of the part that takes the key, or in cse.lab.settings.schema for a key
that no part takes. It may name marks (cse.ranges.Mark): `workers: Annotated[Natural, Mark.MACHINE]` makes
trainer.workers a matter of the machine. A key without a mark has the role of the key above it, and without any the role
science. Parts of the user's own declare in the same way. Read Role and `role_of`, then how declarations are found.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, get_args

import yaml

from cse import ranges
from cse.lab.settings.arguments import key_of
from cse.lab.settings.conf_files import text_of
from cse.lab.settings.groups import folders_of, section_of
from cse.lab.settings.signatures import Annotation, classes_of, declared_by
from cse.lab.settings.values import Config, flattened
from cse.ranges import Mark
from cse.score import evaluator_of

Purpose = Literal["science", "machine", "logging", "bookkeeping"]

Annotations = Sequence[Annotation | None]
"""The annotation of each key on the path to a key, itself the last; None for a key that nothing declares."""

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


def role_of(key: str, settings: Mapping[str, object] | None = None) -> Role:
    """The role of a dotted key, or of a group such as hydra/launcher.

    settings: the config that has the key. Without one, or if its parts do not take the key, the choices of the key's
    group say who takes it.
    """
    key = key.replace("/", ".")
    annotations = annotations_on_path(key, settings or {})
    if annotations[-1] is None:
        annotations = annotations_in_choices(key, tuple(folders_of(key.partition(".")[0])))
    return Role(marks_along(tuple(annotations)))


# From a key to its declaration


def annotations_on_path(key: str, settings: Mapping[str, object]) -> Annotations:
    """The annotations of trainer and of trainer.lr for trainer.lr: first what the schema declares, then in each part
    what its class declares."""
    declared = declared_by(f"{SCHEMA}.Train") | declared_by(f"{SCHEMA}.Evaluate") | declared_by(f"{SCHEMA}.Elsewhere")
    node: object = settings
    annotations: list[Annotation | None] = []
    for step in key.split("."):
        annotation = declared.get(step)
        annotations.append(annotation)
        node = node.get(step) if isinstance(node, Mapping) else None
        if isinstance(node, Mapping) and "_target_" in node:
            declared = declared_by(str(node["_target_"]))
        else:
            declared = declared_inside(annotation or frozenset())
    return annotations


@cache
def declared_inside(annotation: Annotation) -> dict[str, Annotation]:
    """What the TypedDicts of the schema declare that an annotation names."""
    declared: dict[str, Annotation] = {}
    for name in classes_of(SCHEMA) & annotation:
        declared |= declared_by(f"{SCHEMA}.{name}")
    return declared


@cache
def annotations_in_choices(key: str, folders: Sequence[Path]) -> Annotations:
    """The annotations on the path to a key in the choice of its group that declares most of them. folders: the
    group's."""
    best = annotations_on_path(key, {})
    for config in configs_of_choices(key.partition(".")[0], folders):
        annotations = annotations_on_path(key, config)
        if annotations.count(None) < best.count(None):
            best = annotations
    return best


@cache
def configs_of_choices(group: str, folders: Sequence[Path]) -> list[Config]:
    """The config that each choice of a group gives by its own file alone."""
    configs: list[Config] = []
    for folder in folders:
        if not os.path.isdir(folder):  # nor is one whose name is too long
            continue
        for file in sorted(folder.glob("*.yaml")):
            try:
                config = yaml.safe_load(text_of(file))
            except yaml.YAMLError:  # composing it says what is wrong
                continue
            for name in reversed(section_of(group, file)):
                config = {name: config}
            configs.append(config)
    return configs


@cache
def marks_along(annotations: Annotations) -> frozenset[Mark]:
    """The marks of the last key on a path: the nearest declaration says what it is for, all say what its value is."""
    purpose: frozenset[Mark] = frozenset()
    value: frozenset[Mark] = frozenset()
    for annotation in annotations:
        if annotation is None:
            continue
        marks = marks_named(annotation)
        value |= marks & OF_VALUE
        if marks - OF_VALUE:
            purpose = marks - OF_VALUE
    return purpose | value


def marks_named(annotation: Annotation) -> frozenset[Mark]:
    """The marks that an annotation names, as Mark.MACHINE, or that a type of cse.ranges has, as File has VERBATIM."""
    marks = {Mark[name] for name in annotation & Mark.__members__.keys()}
    for name in annotation:
        marks |= {argument for argument in get_args(vars(ranges).get(name)) if isinstance(argument, Mark)}
    return frozenset(marks)


# Settings by their role


def keys_with(mark: Mark, settings: Mapping[str, object]) -> dict[str, object]:
    """The settings, by dotted key, that have a mark."""
    return {key: value for key, value in flattened(settings).items() if mark in role_of(key, settings).marks}


def fixed_settings(settings: Mapping[str, object]) -> dict[str, object]:
    """The settings, by dotted key, that a resumed run must share with the run that it continues. settings: resolved.

    An evaluator may change, but not how the one scores whose score selects a step.
    """
    flat = flattened(settings)
    chooser = evaluator_of(str(flat.get("trainer.select")))
    fixed = {key: value for key, value in flat.items() if role_of(key, settings).is_fixed}
    scoring = scoring_settings(settings)
    return fixed | {key: value for key, value in scoring.items() if key.startswith(f"eval.{chooser}.")}


def scoring_settings(settings: Mapping[str, object]) -> dict[str, object]:
    """How each evaluator scores, by dotted key: its settings without the place of its data. settings: resolved."""
    flat = flattened(settings)
    paths = [value for key, value in flat.items() if key.startswith("paths.") and value is not None]
    scoring: dict[str, object] = {}
    for key, value in flat.items():
        is_place = role_of(key, settings).is_verbatim or key.endswith(".allow_partial") or value in paths
        if key.startswith("eval.") and not is_place:
            scoring[key] = value
    return scoring


def repeats_a_run(text: str) -> bool:
    """Whether an argument belongs in the command that repeats a run: science, the sweep that it is of, and its data."""
    role = role_of(key_of(text))
    return not text.startswith("~") and (role.is_science or Mark.REPEATED in role.marks)
