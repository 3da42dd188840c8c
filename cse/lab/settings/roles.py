"""Find the role of a setting's key from the annotation of the key.

The annotation is in the signature of the part that takes the key or, if no part takes the key, in
cse.lab.settings.schema. An annotation may have marks of cse.ranges.Mark: `workers: Annotated[Natural, Mark.MACHINE]`
gives trainer.workers the purpose "machine". A key without marks, or with only VALUE_MARKS, also has the marks of its
parent key. If no parent key has marks, the purpose is "science". The user's own parts declare marks in the same way.

    Role, role_of            the role of a key, from its marks and the marks of its parent keys
    annotations_on_path      returns, for trainer.lr, the annotations of trainer and of trainer.lr
    annotations_in_choices   returns these annotations without a config, from a choice of the key's group
    marks_in                 returns the marks that an annotation names
    keys_with, ...           return the settings of a config with a given mark or role
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, get_args

import yaml

from cse import ranges
from cse.lab.settings.arguments import key_of
from cse.lab.settings.conf_files import text_of
from cse.lab.settings.groups import folders_of, section_of, user_folders
from cse.lab.settings.signatures import Annotation, declared_by
from cse.lab.settings.values import PlainConfig, flattened
from cse.ranges import VALUE_MARKS, Mark
from cse.score import evaluator_of

SCHEMA = "cse.lab.settings.schema"
"""The module that declares the keys that no part takes. Its source is read without an import."""


@dataclass(frozen=True)
class Role:
    """The role of a key. marks: the marks that apply to the key, some of them from its parent keys (see role_by)."""

    marks: frozenset[Mark]

    @property
    def purpose(self) -> Literal["science", "machine", "logging", "bookkeeping"]:
        """The purpose of the key. The purpose "science" means that the key decides training or scores."""
        if Mark.MACHINE in self.marks:
            return "machine"
        if Mark.LOGGING in self.marks:
            return "logging"
        return "bookkeeping" if Mark.BOOKKEEPING in self.marks else "science"

    @property
    def is_science(self) -> bool:
        """Whether the key decides training or scores, so that reports compare its values."""
        return self.purpose == "science"

    @property
    def is_fixed(self) -> bool:
        """Whether a resumed run must have the same value as the run that it continues."""
        return self.is_science and Mark.UNFIXED not in self.marks

    @property
    def changes_a_table(self) -> bool:
        """Whether the numbers of a table depend on the key."""
        return self.is_science and Mark.HARMLESS not in self.marks

    @property
    def names_a_job(self) -> bool:
        """Whether the key's value is in the hash of a job's folder name, so that another value means another job."""
        return self.is_science or Mark.NAMED in self.marks

    @property
    def is_verbatim(self) -> bool:
        """Whether the value is used unchanged, because it is a path, a name on the hub or a sentence."""
        return Mark.VERBATIM in self.marks


def role_of(key: str, settings: Mapping[str, object] | None = None) -> Role:
    """Return the role of a dotted key, or of a group such as hydra/launcher.

    settings: the config with the key. Without a config, or if no part in the config takes the key, a choice of the
    key's group names the part.
    """
    key = key.replace("/", ".")
    annotations = [None] if settings is None else annotations_on_path(key, settings)
    return role_in_choices(key, tuple(user_folders())) if annotations[-1] is None else role_by(annotations)


@cache
def role_in_choices(key: str, user_folders: Sequence[Path]) -> Role:
    """Return the role of a dotted key without a config, cached for sweeps. user_folders: the user's own folders."""
    annotations = annotations_on_path(key, {})
    if annotations[-1] is None:
        annotations = annotations_in_choices(key, tuple(folders_of(key.partition(".")[0])))
    return role_by(annotations)


def role_by(annotations: Sequence[Annotation | None]) -> Role:
    """Return the role of a key from the annotations on its path."""
    of_purpose: frozenset[Mark] = frozenset()
    of_value: frozenset[Mark] = frozenset()
    for annotation in filter(None, annotations):
        marks = marks_in(annotation)
        of_value |= marks & VALUE_MARKS  # from every key on the path
        if marks - VALUE_MARKS:
            of_purpose = marks - VALUE_MARKS  # from the last key with such marks
    return Role(of_purpose | of_value)


# From a key to the marks in its annotation


def annotations_on_path(key: str, settings: Mapping[str, object]) -> list[Annotation | None]:
    """Return, for trainer.lr, the annotations of trainer and of trainer.lr; None for a key that nothing declares."""
    declared = declared_by(f"{SCHEMA}.Train") | declared_by(f"{SCHEMA}.Evaluate") | declared_by(f"{SCHEMA}.OnlyMarks")
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
def marks_in(annotation: Annotation) -> frozenset[Mark]:
    """Return the marks that an annotation names (Mark.MACHINE) or that its type of cse.ranges has (File: VERBATIM)."""
    marks: set[Mark] = set()
    for full_name in annotation:
        owner, _, name = full_name.rpartition(".")
        if owner == f"{ranges.__name__}.Mark" and name in Mark.__members__:
            marks.add(Mark[name])
        elif owner == ranges.__name__:
            marks |= {argument for argument in get_args(vars(ranges).get(name)) if isinstance(argument, Mark)}
    return frozenset(marks)


@cache
def declared_inside(annotation: Annotation) -> dict[str, Annotation]:
    """Return the annotations of a mapping's keys. annotation: the mapping's annotation, with a TypedDict of SCHEMA."""
    declared: dict[str, Annotation] = {}
    for full_name in annotation:
        if full_name.startswith(f"{SCHEMA}."):
            declared |= declared_by(full_name)
    return declared


@cache
def annotations_in_choices(key: str, folders: Sequence[Path]) -> list[Annotation | None]:
    """Return the annotations on the path to a key, from a choice of its group: the choice with the most annotations.

    folders: the folders of the group.
    """
    best = annotations_on_path(key, {})
    for config in configs_of_choices(key.partition(".")[0], folders):
        annotations = annotations_on_path(key, config)
        if annotations.count(None) < best.count(None):
            best = annotations
    return best


@cache
def configs_of_choices(group: str, folders: Sequence[Path]) -> list[PlainConfig]:
    """Return the config of each choice of a group, from the choice's file without the files that it includes."""
    configs: list[PlainConfig] = []
    for folder in folders:
        for file in sorted(folder.glob("*.yaml")):
            try:
                config = yaml.safe_load(text_of(file))
            except yaml.YAMLError:  # the composition of this file reports the mistake
                continue
            for name in reversed(section_of(group, file)):
                config = {name: config}
            configs.append(config)
    return configs


# The settings of a config that have some role


def keys_with(mark: Mark, settings: Mapping[str, object]) -> dict[str, object]:
    """Return {dotted key: value} of the settings that have this mark."""
    return {key: value for key, value in flattened(settings).items() if mark in role_of(key, settings).marks}


def fixed_settings(settings: Mapping[str, object]) -> dict[str, object]:
    """Return {dotted key: value} of the settings that a resumed run may not change. settings: a resolved config.

    The settings of an evaluator may change, unless this evaluator selects the checkpoint.
    """
    flat = flattened(settings)
    chooser = evaluator_of(str(flat.get("trainer.select")))
    fixed = {key: value for key, value in flat.items() if role_of(key, settings).is_fixed}
    scoring = scoring_settings(settings)
    return fixed | {key: value for key, value in scoring.items() if key.startswith(f"eval.{chooser}.")}


def scoring_settings(settings: Mapping[str, object]) -> dict[str, object]:
    """Return {dotted key: value} of a resolved config's evaluators, without allow_partial, paths and verbatim texts."""
    flat = flattened(settings)
    paths = [value for key, value in flat.items() if key.startswith("paths.") and value is not None]
    scoring: dict[str, object] = {}
    for key, value in flat.items():
        is_place = role_of(key, settings).is_verbatim or key.endswith(".allow_partial") or value in paths
        if key.startswith("eval.") and not is_place:
            scoring[key] = value
    return scoring


def repeats_a_run(text: str) -> bool:
    """Return whether a command that repeats a run needs this argument: KEY=VALUE, if KEY is science or has REPEATED."""
    role = role_of(key_of(text))
    return not text.startswith("~") and (role.is_science or Mark.REPEATED in role.marks)
