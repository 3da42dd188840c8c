"""The names of settings after `where=` and `baseline=`: KEY=VALUE,... A user may copy these names from a table.

`setting_named` finds a setting. `named_settings` reads KEY=VALUE,... `has_value` compares a run with such a value.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from cse.errors import UserError
from cse.lab.folder.runs import Run
from cse.lab.report.any_runs.comparison import Comparison, Setting
from cse.lab.report.any_runs.names import format_setting, in_shell
from cse.lab.report.formats import first_few
from cse.lab.settings.arguments import value_in
from cse.lab.settings.roles import role_of
from cse.lab.settings.values import same, same_as_any

BETWEEN_COMMAS = re.compile(
    r"(?:\[[^\]]*\]|\{[^}]*\}|(?<![^\[{,=\s])'(?:[^'\\]|\\.)*'|(?<![^\[{,=\s])\"[^\"]*\"|[^,])+"
)
"""A text between two commas. A comma in brackets or quotes does not count. A quote within a word is an apostrophe."""


def setting_named(comparison: Comparison, name: str) -> Setting:
    """Return the setting that `baseline=` names: by its label, by KEY=VALUE,..., or by a folder at or above its runs.

    Raises UserError if no setting has this name, or if several settings have this name.
    """
    labelled = [setting for setting in comparison.settings if setting.label == name]
    if labelled:
        return single_setting(comparison, labelled, f"baseline={name}")
    candidates: list[Setting] = []
    if "=" in name:
        dotted = {key.short: key.dotted for key in comparison.keys}
        conditions = [(dotted.get(key, key), values) for key, values in named_settings(name).items()]
        candidates = [
            setting
            for setting in comparison.settings
            if all(has_value(setting.runs[0], key, values) for key, values in conditions)
        ]
    return single_setting(comparison, candidates or settings_below(comparison, [Path(name)]), f"baseline={name}")


def settings_below(comparison: Comparison, places: Sequence[Path]) -> list[Setting]:
    """Return the settings that have a run at or below one of these folders."""
    resolved = [place.resolve() for place in places]
    return [
        setting
        for setting in comparison.settings
        if any(run.folder.resolve().is_relative_to(place) for run in setting.runs for place in resolved)
    ]


def single_setting(comparison: Comparison, candidates: Sequence[Setting], named: str) -> Setting:
    """Return the only candidate. Raises UserError if there is not exactly one. named: the argument, for the error."""
    if len(candidates) == 1:
        return candidates[0]
    labels = first_few([in_shell(setting.label) for setting in candidates or comparison.settings])
    raise UserError(f"{named} names {len(candidates) or 'no'} settings instead of one; give one of these: {labels}")


def named_settings(text: str) -> dict[str, list[str]]:
    """Return {key: its values} for a text KEY=VALUE,OTHER,KEY=VALUE.

    As in a sweep, OTHER is a further value of the key before it. A comma in brackets or quotes separates nothing. The
    whole text may be in brackets.
    """
    settings: dict[str, list[str]] = {}
    if text[:1] == "[" and text[-1:] == "]" and "=" in text:
        text = text[1:-1]
    for part in BETWEEN_COMMAS.findall(text):
        key, equals, value = part.partition("=")
        if equals or not settings:
            values = settings.setdefault(key.strip(), [])
        values.append((value if equals else part).strip())
    return settings


def has_value(run: Run, key: str, values: Sequence[str]) -> bool:
    """Return whether the run has any of these values at the key.

    A value may be written as tables show it: as the end of a path, or as text in quotes. Several values may be in
    brackets. A path may contain a comma.
    """
    value = run.get(key)
    texts = [text for in_brackets in values for text in out_of_brackets(in_brackets, value)]
    return any(stands_for(run, key, value, text) for text in [*texts, ",".join(values)])


def out_of_brackets(text: str, value: object) -> list[str]:
    """Return the values inside the brackets of a text.

    Return the text itself if it has no brackets, or if the run's value is a list.
    """
    if text[:1] == "[" and text[-1:] == "]" and not isinstance(value, list | tuple):
        return [item.strip() for item in BETWEEN_COMMAS.findall(text[1:-1])]
    return [text]


def stands_for(run: Run, key: str, value: object, text: str) -> bool:
    """Return whether a text denotes a run's value at a key."""
    if run.has(key) and format_setting(run, key) == text:
        return True
    is_quoted = len(text) > 1 and text[0] in ("'", '"') and text[0] == text[-1]
    if isinstance(value, list | tuple | dict):
        return same_as_any(value, value_in(text))
    if isinstance(value, bool):
        return str(value).lower() == text.lower()
    unquoted = str(value_in(text)) if is_quoted else text
    if role_of(key).is_verbatim:
        return f"/{'' if value is None else value}".endswith(f"/{unquoted}")
    return value == unquoted if is_quoted else same(value, text)
