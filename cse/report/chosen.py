"""Which runs a report is of: those in folders, or in what a glob names, with the settings that were asked for."""

import glob
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

from cse.config.keys import is_verbatim
from cse.errors import UserError
from cse.record.runs import Run, same
from cse.report.frame import OWN, differing, format_setting, short_names


def places(folder: Path) -> list[Path]:
    """The folder or, if there is none and its name is a glob, all that this names."""
    named = [] if folder.exists() else sorted(glob.glob(str(folder)))
    return list(map(Path, named)) or [folder]


def above(folder: Path) -> Path:
    """The folder in which a glob searches; the folder itself if its name is none."""
    if folder.exists():
        return folder
    return Path(*takewhile(lambda part: not glob.has_magic(part), folder.parts))


def with_origin(runs: Sequence[Run], named: Mapping[str, Sequence[Path]]) -> list[Run]:
    """The runs, of several folders or globs, with the innermost that names each as its setting `origin`, which tells
    the same settings before and after a change of the code apart. named: the places of each."""
    names = {place: name for name, places in named.items() for place in places}
    if len(named) < 2:
        return list(runs)
    return [replace(run, config={"origin": names[folder_of(run, names)], **run.config}) for run in runs]


def folder_of(run: Run, folders: Iterable[Path]) -> Path:
    """The innermost of these folders that holds the run."""
    return max((one for one in folders if run.folder.is_relative_to(one)), key=lambda folder: len(folder.parts))


def named_settings(words: str) -> dict[str, list[str]]:
    """The values of each key in KEY=VALUE,OTHER,KEY=VALUE: as in a sweep, OTHER is one more value of the key before it.
    Brackets may stand around a key's values, or around all."""
    found: dict[str, list[str]] = {}
    for word in re.sub(r"[\[\]]", "", words).split(","):
        key, equals, value = word.partition("=")
        if equals or not found:
            values = found.setdefault(key.strip(), [])
        values.append(value if equals else word)
    return found


def has(run: Run, key: str, values: Sequence[str]) -> bool:
    """Whether the run has the setting with one of the values, which may be written as in a table: the end of a path."""
    if same(run.get(key), values) or (run.has(key) and format_setting(run, key) in values):
        return True
    return is_verbatim(key) and any(f"/{run.get(key) or ''}".endswith(f"/{value}") for value in values)


def having(runs: Sequence[Run], where: str, seed: str) -> list[Run]:
    """The runs with all settings of KEY=VALUE,... A key may be named as a table of the runs names it.

    seed: the key of seeds. Raises UserError if there are none.
    """
    keys = {name: key for key, name in short_names(differing(runs, seed), taken=OWN).items()}
    asked = {keys.get(key, key): values for key, values in named_settings(where).items()}
    found = [run for run in runs if all(has(run, *one) for one in asked.items())]
    if not found:
        raise UserError(
            f"where={where}: none of the {len(runs)} runs has this; they differ in {', '.join([*keys, seed])}"
        )
    return found
