"""Which runs a report is of: those in folders, or in what a glob names, with the settings that were asked for."""

import glob
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

from cse.errors import UserError
from cse.record.runs import Run, same
from cse.report.frame import format_setting


def places(folder: Path) -> list[Path]:
    """The folder or, if there is none and its name is a glob, all that this names."""
    named = [] if folder.exists() else sorted(glob.glob(str(folder)))
    return list(map(Path, named)) or [folder]


def above(folder: Path) -> Path:
    """The folder in which a glob searches; the folder itself if its name is none."""
    if folder.exists():
        return folder
    return Path(*takewhile(lambda part: not glob.has_magic(part), folder.parts))


def pairs(words: str) -> list[tuple[str, str]]:
    """The settings in KEY=VALUE,KEY=VALUE, which may be in brackets."""
    return [(key.strip(), value) for key, _, value in (word.partition("=") for word in words.strip("[]").split(","))]


def has(run: Run, key: str, value: str) -> bool:
    """Whether the run has the setting, whose value may be written as in a table."""
    return same(run.get(key), value) or (run.has(key) and format_setting(run, key) == value)


def having(runs: Sequence[Run], where: str) -> list[Run]:
    """The runs with all settings of KEY=VALUE,... Raises UserError if there are none."""
    found = [run for run in runs if all(has(run, *pair) for pair in pairs(where))]
    if not found:
        raise UserError(
            f"where={where}: none of the {len(runs)} runs has this; where=objective=simcse names a key whole"
        )
    return found
