"""What each key is for, as the signature that takes it says (cse.ranges.Mark): what resuming, sweeps, reports and model
cards ask.

`marks_of` follows a key through the settings: first the keys that no part takes (cse.lab.settings.schema), then in each
part the parameters of its constructor. Where nobody says what a key is for, the nearest key above it does; where none
does, it is science: it decides what is learned or how it is scored. A user's own part says it in the same way.

`marks_of` and `purpose_of` ask the parts of a config, where there is one. The questions below them, is_science and the
others, are about a key alone.
"""

import os
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Literal, get_args

import yaml

from cse import ranges
from cse.lab.settings.dotted import Config, flattened
from cse.lab.settings.groups import folders_of, text_of
from cse.lab.settings.signatures import annotations_of, classes_of
from cse.lab.settings.words import key_of
from cse.ranges import Mark

Purpose = Literal["science", "machine", "logging", "bookkeeping"]
Marks = frozenset[Mark]
Settings = Mapping[str, object]

SCHEMA = "cse.lab.settings.schema"
OF_LINE = frozenset({Mark.BOOKKEEPING, Mark.OF_LINE})
OTHERS: dict[str, Marks] = {
    "sweep": OF_LINE,
    "hydra": frozenset({Mark.LOGGING}),
    "hydra.launcher": OF_LINE,
    "hydra.sweeper": OF_LINE,
    "hydra.sweep": OF_LINE,
    "hydra.mode": OF_LINE,
    "hydra.run": OF_LINE,
    "hydra.run.dir": frozenset({Mark.VERBATIM}),
    "hydra.sweep.dir": frozenset({Mark.VERBATIM}),
    "paths.cache": frozenset({Mark.MACHINE}),
}
"""The keys that no signature of ours has: Hydra's, and the one of the paths that holds nothing a run learns from."""

OF_VALUE = frozenset({Mark.VERBATIM, Mark.ENCODER, Mark.SUMMED})
"""The marks that say what a value is. The others say what it is for."""

FUNCTION = "cse.eval.function.Function"
"""The evaluator that a function given in Python becomes."""


def marks_of(key: str, settings: Settings | None = None) -> Marks:
    """The marks of a dotted key, or of a group such as hydra/launcher.

    settings: a config. For a key that its parts do not take, and without one, the choices of the key's group answer,
    those of the user's own folders too.
    """
    key = key.replace("/", ".")
    said = annotations_to(key, settings or {})
    if said[-1] is None:
        return marks_by_choices(key, tuple(folders_of(key.partition(".")[0])))
    return joined(key, said)


@cache
def marks_by_choices(key: str, folders: tuple[Path, ...]) -> Marks:
    """The marks of a key in the choice of its group that has most of the way to it. folders: the group's."""
    contents = [{}, *contents_by_file(key.partition(".")[0], folders)]
    ways = [annotations_to(key, content) for content in contents]
    longest = max(ways, key=lambda said: len(said) - said.count(None))
    return joined(key, longest)


@cache
def contents_by_file(group: str, folders: tuple[Path, ...]) -> list[Config]:
    """What each file of a group would give a config."""
    found: list[Config] = []
    here = [folder for folder in folders if os.path.isdir(folder)]  # False, too, for a name that is too long
    for file in (file for folder in here for file in sorted(folder.glob("*.yaml"))):
        text = text_of(file)
        try:
            content = yaml.safe_load(text)
        except yaml.YAMLError:  # composing it says what is wrong
            continue
        if "# @package _global_" in text:
            found.append(content)
        elif group == "eval":
            found.append({group: {file.stem: content}})
        else:
            found.append({group: content})
    return found


def annotations_to(key: str, settings: Settings) -> list[str | None]:
    """The annotation of each key on the way to this one, itself the last; None where no signature has it."""
    node: object = settings
    taken = annotations_of(f"{SCHEMA}.Train") | annotations_of(f"{SCHEMA}.Evaluate")
    found: list[str | None] = []
    for step in key.split("."):
        found.append(taken.get(step))
        node = node.get(step) if isinstance(node, Mapping) else None
        if isinstance(node, Mapping) and "_target_" in node:
            taken = annotations_of(str(node["_target_"]))
        else:
            taken = annotations_inside(found[-1] or "")
    return found


@cache
def annotations_inside(annotation: str) -> dict[str, str]:
    """The annotations of the keys of the TypedDict that an annotation names, if it names one of the schema's."""
    found: dict[str, str] = {}
    for name in classes_of(SCHEMA).intersection(re.findall(r"\w+", annotation)):
        found |= annotations_of(f"{SCHEMA}.{name}")
    return found


def joined(key: str, said: Iterable[str | None]) -> Marks:
    """The marks of a key by the annotations on the way to it: the nearest say what it is for, all say what it is."""
    purpose: Marks = frozenset()
    value: Marks = frozenset()
    steps = key.split(".")
    for depth, annotation in enumerate(said, 1):
        own = marks_in(annotation or "") | OTHERS.get(".".join(steps[:depth]), frozenset())
        purpose = own - OF_VALUE or purpose
        value |= own & OF_VALUE
    return purpose | value


@cache
def marks_in(annotation: str) -> Marks:
    """The marks that an annotation names, Mark.MACHINE, or that are in a type of cse.ranges, File."""
    found = [Mark[name] for name in re.findall(r"\bMark\.(\w+)", annotation)]
    for name in re.findall(r"\w+", annotation):
        found += [one for one in get_args(vars(ranges).get(name)) if isinstance(one, Mark)]
    return frozenset(found)


def purpose_of(key: str, settings: Settings | None = None) -> Purpose:
    """What a key is for. science: what is learned and scored. machine: where data lies and what the work runs on.
    logging: what is logged, and where. bookkeeping: how the run is started, and where its folder is."""
    marks = marks_of(key, settings)
    if Mark.MACHINE in marks:
        return "machine"
    if Mark.LOGGING in marks:
        return "logging"
    return "bookkeeping" if Mark.BOOKKEEPING in marks else "science"


def is_science(key: str) -> bool:
    """Whether a key decides what is learned or scored, so that reports compare it."""
    return purpose_of(key) == "science"


def is_verbatim(key: str) -> bool:
    """Whether the value of a key, or of a key above it, is used as it is typed: a place, a name on the hub, a
    sentence."""
    return Mark.VERBATIM in marks_of(key)


def is_encoder(key: str) -> bool:
    """Whether a key names an encoder, or a file of word vectors."""
    return Mark.ENCODER in marks_of(key)


def is_of_line(key: str) -> bool:
    """Whether, on a line that starts several jobs, a key belongs to the line, not to the jobs."""
    return Mark.OF_LINE in marks_of(key)


def is_typed_alone(key: str) -> bool:
    """Whether a key is read only where it is typed, on a line."""
    return key.startswith("hydra") or purpose_of(key) == "bookkeeping"


def is_recorded(key: str) -> bool:
    """Whether a key is what a run says of its own settings, which no line and no file sets."""
    return Mark.RECORDED in marks_of(key)


def changes_a_table(key: str) -> bool:
    """Whether the numbers of a table depend on a key."""
    return is_science(key) and Mark.HARMLESS not in marks_of(key)


def names_a_job(key: str) -> bool:
    """Whether the hash of a job's folder depends on a key, whose value then may not change between two starts."""
    return is_science(key) or Mark.NAMED in marks_of(key)


def repeats_a_run(word: str) -> bool:
    """Whether a word belongs on the line that repeats a run: science, its sweep, and its data."""
    key = key_of(word)
    is_data = key == "allow_partial" or (key.startswith("paths.") and Mark.NAMED in marks_of(key))
    return not word.startswith("~") and (is_science(key) or key == "sweep" or is_data)


def keys_with(mark: Mark, settings: Settings) -> dict[str, object]:
    """The settings, by dotted key, that have a mark."""
    return {key: value for key, value in flattened(settings).items() if mark in marks_of(key, settings)}


def identity(settings: Settings) -> dict[str, object]:
    """The settings, by dotted key, that a resumed run must share with the run it continues: science that is fixed, and
    that of the evaluator whose score selects, but for where its data is. settings: resolved."""
    flat = flattened(settings)
    _, chooser, *_ = f"{flat.get('trainer.select')}//".split("/")
    found = {}
    for key, value in flat.items():
        if purpose_of(key, settings) == "science" and Mark.UNFIXED not in marks_of(key, settings):
            found[key] = value
    return found | {key: value for key, value in protocol(settings).items() if key.startswith(f"eval.{chooser}.")}


def protocol(settings: Settings) -> dict[str, object]:
    """How each evaluator scores, by dotted key: its settings, but for where its data is. settings: resolved."""
    flat = flattened(settings)
    places = [value for key, value in flat.items() if key.startswith("paths.") and value is not None]
    found = {}
    for key, value in flat.items():
        is_place = Mark.VERBATIM in marks_of(key, settings) or key.endswith(".allow_partial") or value in places
        if key.startswith("eval.") and not is_place:
            found[key] = value
    return found
