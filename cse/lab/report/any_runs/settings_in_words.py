"""Settings in words: a value as a table and a label write it, and `where=KEY=VALUE,...` as a user types it.

To read: `format_settings` and `label_of` write what tables name settings by. `named_settings` and `has_value` read it
again, for `where=` and `baseline=`.
"""

import re
import shlex
from collections.abc import Collection, Mapping, Sequence

from cse.lab.folder.runs import Run
from cse.lab.report.numbers.keys_that_differ import NAMES
from cse.lab.settings.roles import role_of
from cse.lab.settings.values import format_value, in_one_form, number_in, same, same_as_any
from cse.lab.settings.words import quoted, value_in

OWN_COLUMNS = ("done", "runs", "folder", "partial", "remarks", "difference", "p", "equivalent", "seeds", "n")
"""Columns of a comparison's tables, whose names no key may have there."""

SPLITS = re.compile(r"[,=\[\]{}]|^['\"]")
"""What a reader of a label would split a value at."""

BETWEEN_COMMAS = re.compile(
    r"(?:\[[^\]]*\]|\{[^}]*\}|(?<![^\[{,=\s])'(?:[^'\\]|\\.)*'|(?<![^\[{,=\s])\"[^\"]*\"|[^,])+"
)
"""A text between two commas. A comma in brackets or quotes is no such one. A quote within a word is an apostrophe."""

PLAIN = re.compile(r"[^']*('[\w./:@%+-]*'[^']*)*")
"""A text that a shell reads as one word between quotes, though it has pairs of them inside."""


def short_names(keys: Sequence[str], dot: str = ".", taken: Collection[str] = ()) -> dict[str, str]:
    """{key: the shortest ending that no other key has}: trainer.lr is lr.

    dot: what separates a key's words. taken: endings that stand for something else.
    """
    names = [*keys, *taken]

    def is_alone(ending: str) -> bool:
        return sum((dot + name).endswith(dot + ending) for name in names) == 1

    shortened = {}
    for key in keys:
        words = key.split(dot)
        endings = (dot.join(words[-count:]) for count in range(1, len(words) + 1))
        shortened[key] = next(filter(is_alone, endings), key)
    return shortened


def format_settings(runs: Sequence[Run], key: str) -> list[str]:
    """`format_setting` of each run. Paths with the same last part have as many parts as differ."""
    texts = [format_setting(run, key) for run in runs]
    paths = [format_value(run.get(key)).removesuffix("/best") if run.has(key) else "" for run in runs]
    if len(set(texts)) >= len(set(paths)):
        return texts
    endings = short_names(list(dict.fromkeys(paths)), "/")
    return [endings[path] for path in paths]


def format_setting(run: Run, key: str) -> str:
    """A run's value in a table; "" if it has no such setting. Text that would read as null or a number is in quotes."""
    if not run.has(key):
        return ""
    value = run.get(key)
    if key in NAMES:
        return format_value(value)  # whole: figure3 is one of several
    is_name = role_of(key).is_verbatim or key in run.choices
    return quoted(value) if isinstance(value, str) and not is_name and is_misread(value) else format_short(value)


def is_misread(text: str) -> bool:
    """Whether a text looks like null, a switch or a number, but is none."""
    return text.lower() in ("null", "true", "false") or (number_in(text) is not None and in_one_form(text) == text)


def format_short(value: object) -> str:
    """A value as the command line writes it; a path is cut to its last part."""
    if isinstance(value, float):
        return f"{value:g}"
    return value.removesuffix("/best").rpartition("/")[2] if isinstance(value, str) else format_value(value)


def label_of(run: Run, keys: Mapping[str, str], texts: Mapping[str, str]) -> str:
    """A setting by its values: lr=3e-05, model=bert; "all" without keys.

    run: one of the setting's. keys: {dotted key: its short name}. texts: by dotted key, "" where it has none.
    """
    words = [f"{name}={in_label(run.get(key), texts[key])}" for key, name in keys.items() if texts[key] != ""]
    return ", ".join(words) or "all"


def in_label(value: object, text: str) -> str:
    """A value's text, in quotes where the reader of a label would split it."""
    return quoted(text) if isinstance(value, str) and SPLITS.search(text) and text != quoted(value) else text


def in_shell(label: str) -> str:
    """A label as one word of a shell: in plain quotes where quotes inside it may go, as in 'targets=['query']'."""
    return f"'{label}'" if PLAIN.fullmatch(label) else shlex.quote(label)


def named_settings(words: str) -> dict[str, list[str]]:
    """The values of each key in KEY=VALUE,OTHER,KEY=VALUE.

    As in a sweep, OTHER is one more value of the key before it. A comma in brackets or quotes separates nothing. The
    whole may stand in brackets.
    """
    settings: dict[str, list[str]] = {}
    if words[:1] == "[" and words[-1:] == "]" and "=" in words:
        words = words[1:-1]
    for word in BETWEEN_COMMAS.findall(words):
        key, equals, value = word.partition("=")
        if equals or not settings:
            values = settings.setdefault(key.strip(), [])
        values.append((value if equals else word).strip())
    return settings


def has_value(run: Run, key: str, values: Sequence[str]) -> bool:
    """Whether the run has one of the values at the key.

    A value may be written as in a table: the end of a path, text in quotes, [several] in brackets. A path may have a
    comma.
    """
    value = run.get(key)
    texts = [text for in_brackets in values for text in out_of_brackets(in_brackets, value)]
    return any(is_written(run, key, value, text) for text in [*texts, ",".join(values)])


def out_of_brackets(text: str, value: object) -> list[str]:
    """The values in the text's brackets. A text stays whole without brackets, or if the run's value is a list."""
    if text[:1] == "[" and text[-1:] == "]" and not isinstance(value, list | tuple):
        return [item.strip() for item in BETWEEN_COMMAS.findall(text[1:-1])]
    return [text]


def is_written(run: Run, key: str, value: object, text: str) -> bool:
    """Whether a text writes a run's value."""
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
