"""Which setting a user's words name: `baseline=KEY=VALUE,...`, or a folder of its runs."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from cse.errors import UserError
from cse.lab.report.compare import Comparison, Setting
from cse.lab.report.signs import first_few
from cse.lab.report.which_runs import has, named_settings

PLAIN = re.compile(r"[^']*('[\w./:@%+-]*'[^']*)*")
"""A text that a shell reads as one word between quotes, though it has pairs of them inside."""


def setting_named(comparison: Comparison, name: str) -> Setting:
    """The setting that `KEY=VALUE,...` names. If none has these values, it is that of the runs at or below this folder.

    Raises UserError if there is none, or several.
    """
    labelled = [setting for setting in comparison.settings if setting.label == name]
    if labelled:
        return the_one(comparison, labelled, f"baseline={name}")
    found: list[Setting] = []
    if "=" in name:
        keys = {short: key for key, short in comparison.keys.items()}
        asked = [(keys.get(key, key), values) for key, values in named_settings(name).items()]
        found = [one for one in comparison.settings if all(has(one.runs[0], key, values) for key, values in asked)]
    return the_one(comparison, found or settings_below(comparison, [Path(name)]), f"baseline={name}")


def in_shell(label: str) -> str:
    """A setting's label as one word of a shell, which `setting_named` reads: in plain quotes where quotes inside it
    may go, as in 'targets=['query']'."""
    return f"'{label}'" if PLAIN.fullmatch(label) else shlex.quote(label)


def settings_below(comparison: Comparison, places: Sequence[Path]) -> list[Setting]:
    """The settings of the runs at or below these places."""
    there = [place.resolve() for place in places]
    return [
        setting
        for setting in comparison.settings
        if any(run.folder.resolve().is_relative_to(place) for run in setting.runs for place in there)
    ]


def the_one(comparison: Comparison, found: Sequence[Setting], named: str) -> Setting:
    """The only setting that was found. Raises UserError if there is none, or several. named: what named it."""
    if len(found) == 1:
        return found[0]
    known = first_few([in_shell(setting.label) for setting in found or comparison.settings])
    raise UserError(f"{named} names {len(found)} settings instead of one; type one of these after =: {known}")
