"""What `where=KEY=VALUE,...` and `baseline=KEY=VALUE,...` mean: settings, named as the report's tables name them.

To read: `having` picks runs, and `setting_named` the one setting, which may also be named by a folder of its runs. Both
read the words by `named_settings`, and compare a run's value with a text by `has`.
"""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from cse.errors import UserError
from cse.lab.folder.runs import Run
from cse.lab.report.any_runs.comparison import Comparison, Setting
from cse.lab.report.any_runs.frame import OWN, format_setting, short_names
from cse.lab.report.formats import first_few
from cse.lab.report.numbers.keys_that_differ import keys_that_tell_settings_apart
from cse.lab.settings.grammar import value_in
from cse.lab.settings.keys import role_of
from cse.lab.settings.values import same

OUTSIDE = re.compile(r"(?:\[[^\]]*\]|\{[^}]*\}|(?<![^\[{,=\s])'(?:[^'\\]|\\.)*'|(?<![^\[{,=\s])\"[^\"]*\"|[^,])+")
"""A text between two commas. A comma in brackets or quotes is no such one. A quote within a word is an apostrophe."""

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
        found = [
            setting
            for setting in comparison.settings
            if all(has(setting.runs[0], key, values) for key, values in asked)
        ]
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


def having(runs: Sequence[Run], where: str, seed: str) -> list[Run]:
    """The runs that have all settings of KEY=VALUE,... A key may have the short name that it has in a table.

    seed: the key of seeds. Raises UserError if there are none.
    """
    keys = {name: key for key, name in short_names(keys_that_tell_settings_apart(runs, seed), taken=OWN).items()}
    asked = {keys.get(key, key): values for key, values in named_settings(where).items()}
    found = [run for run in runs if all(has(run, *condition) for condition in asked.items())]
    if not found:
        raise UserError(
            f"where={where}: none of the {len(runs)} runs has this; they differ in {', '.join([*keys, seed])}"
        )
    return found


def named_settings(words: str) -> dict[str, list[str]]:
    """The values of each key in KEY=VALUE,OTHER,KEY=VALUE.

    As in a sweep, OTHER is one more value of the key before it. A comma in brackets or quotes separates nothing. The
    whole may stand in brackets.
    """
    found: dict[str, list[str]] = {}
    if words[:1] == "[" and words[-1:] == "]" and "=" in words:
        words = words[1:-1]
    for word in OUTSIDE.findall(words):
        key, equals, value = word.partition("=")
        if equals or not found:
            values = found.setdefault(key.strip(), [])
        values.append((value if equals else word).strip())
    return found


def has(run: Run, key: str, values: Sequence[str]) -> bool:
    """Whether the run has one of the values at the key.

    A value may be written as in a table: the end of a path, text in quotes, [several] in brackets. A path may have a
    comma.
    """
    own = run.get(key)
    each = [one for value in values for one in several(value, own)]
    return any(is_written(run, key, own, text) for text in [*each, ",".join(values)])


def several(text: str, own: object) -> list[str]:
    """The values in the text's brackets. A text stays whole without brackets, or if the run's own value is a list."""
    in_brackets = text[:1] == "[" and text[-1:] == "]" and not isinstance(own, list | tuple)
    return [one.strip() for one in OUTSIDE.findall(text[1:-1])] if in_brackets else [text]


def is_written(run: Run, key: str, own: object, text: str) -> bool:
    """Whether a text writes a run's value."""
    if run.has(key) and format_setting(run, key) == text:
        return True
    quotes = len(text) > 1 and text[0] in ("'", '"') and text[0] == text[-1]
    if isinstance(own, list | tuple | dict):
        return same(own, value_in(text))
    if isinstance(own, bool):
        return str(own).lower() == text.lower()
    plainly = str(value_in(text)) if quotes else text
    if role_of(key).is_verbatim:
        return f"/{'' if own is None else own}".endswith(f"/{plainly}")
    return own == plainly if quotes else same(own, text)
