"""The class Argument: one KEY=VALUE of a command, with its giver, which is a person, a sweep or cse.

An Argument is always written in Hydra's grammar: in a given command, in run.yaml, and in a command that cse prints.

1. Argument has a key and a value.
2. `arguments_of` makes Arguments from texts, and `texts_of` makes texts from Arguments.
3. `values_of` and the functions below it read the values in a list of Arguments.
4. `parse_argument` reads Hydra's grammar, `spell_argument` writes it, and `shell_line` writes a command for a shell.
"""

import json
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from numbers import Number
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from cse.lab.settings.groups import is_group
from cse.lab.settings.values import PlainConfig

if TYPE_CHECKING:  # hydra is imported only to read an argument
    from hydra.core.override_parser.types import Override

Giver = Literal["sweep", "person", "cse"]
"""The giver of an argument: the job's sweep, a person, or cse. A giver overrides the givers before it in this list."""

PLAIN_TEXT = re.compile(r"(?!(null|true|false|nan|inf)$)[a-z_]\w*", re.ASCII | re.IGNORECASE)
"""Text that Hydra reads as the same text without quotes, also in a list."""


@dataclass(frozen=True)
class Argument:
    """One KEY=VALUE, +KEY=VALUE or ~KEY. text: the text in Hydra's grammar. by: the giver."""

    text: str
    by: Giver = "person"

    def __str__(self) -> str:
        """Return the text of the argument."""
        return self.text

    @property
    def key(self) -> str:
        """The key that the argument sets: `trainer.lr` of `trainer.lr=1e-5`."""
        return key_of(self.text)

    @property
    def root(self) -> str:
        """The first part of the key: `trainer` of `trainer.lr=1e-5`."""
        return self.key.partition(".")[0]

    @property
    def spelled(self) -> str:
        """The value as written: `1e-5` of `trainer.lr=1e-5`, `'a,b'` of `note='a,b'`."""
        return self.text.partition("=")[2]

    @property
    def value(self) -> str:
        """The value as text: `1e-5` of `trainer.lr=1e-5`, `a,b` of `note='a,b'`."""
        parsed = self.parsed
        return parsed if isinstance(parsed, str) else self.spelled

    @property
    def parsed(self) -> object:
        """The value that Hydra reads, such as a number or a list; for a,b or range(...), Hydra's object for a sweep."""
        return parse_argument(self.text).value()

    @property
    def adds(self) -> bool:
        """Whether the argument is +KEY=VALUE, which adds a key."""
        return self.text.startswith("+")

    @property
    def deletes(self) -> bool:
        """Whether the argument is ~KEY, which deletes a key."""
        return self.text.startswith("~")

    @property
    def is_axis(self) -> bool:
        """Whether the argument gives its key several values: a,b, range(...), interval(...) or glob(...)."""
        return parse_argument(self.text).is_sweep_override()


# From texts to arguments, and back

RUN_ALONE = Argument("hydra.mode=RUN", by="sweep")
"""Hydra's argument for a single run. Each job of a sweep has this argument, because a sweep may set another mode.

RUN_ALONE is the last argument that the sweep gives. So in a job's command, in run.yaml and in a plan, the sweep gave
the arguments up to RUN_ALONE, and a person gave the arguments after RUN_ALONE.
"""


def arguments_of(texts: Sequence[str]) -> list[Argument]:
    """Return the arguments in texts. The sweep gives the arguments up to RUN_ALONE, and a person gives the rest."""
    count = texts.index(RUN_ALONE.text) + 1 if RUN_ALONE.text in texts else 0
    return [*(Argument(text, by="sweep") for text in texts[:count]), *map(Argument, texts[count:])]


def texts_of(arguments: Iterable[Argument]) -> list[str]:
    """Return the texts of arguments for Hydra, run.yaml or a job's process, in the order of the givers (see Giver)."""
    givers = get_args(Giver)
    return [argument.text for argument in sorted(arguments, key=lambda argument: givers.index(argument.by))]


def recorded_arguments(texts: Sequence[str]) -> list[Argument]:
    """Return the arguments that a run or a plan recorded, without texts that are not arguments.

    If an older record lacks quotes that the grammar needs, the quotes are added.
    """
    readable: list[str] = []
    for text in texts:
        key, equals, value = text.partition("=")
        if equals and not is_one_value(text):
            text = spell_argument(key, value)
        if is_one_value(text):
            readable.append(text)
    return arguments_of(readable)


# The values in a list of arguments


def values_of(arguments: Iterable[Argument]) -> dict[str, str]:
    """Return {key: value as text} of the arguments. The last value of a key counts."""
    return {argument.key: argument.value for argument in arguments}


def keys_of_person(arguments: Iterable[Argument]) -> list[str]:
    """Return the keys of the arguments that a person gave."""
    return [argument.key for argument in arguments if argument.by == "person"]


def merged(arguments: Iterable[Argument]) -> list[Argument]:
    """Return the last argument of each key, in the order of the keys' first arguments.

    So a command's arguments, which come last, override its case's arguments.
    """
    return list({argument.key: argument for argument in arguments}.values())


def settings_of_arguments(arguments: Iterable[Argument]) -> tuple[PlainConfig, dict[str, str]]:
    """Return (the settings, {group: choice}) that the arguments alone give. Hydra's arguments are left out."""
    settings: PlainConfig = {}
    chosen: dict[str, str] = {}
    for argument in arguments:
        if argument.deletes or argument.key.startswith("hydra"):
            continue
        value = argument.parsed
        if is_group(argument.key) and isinstance(value, str):
            chosen[argument.key] = value
            continue
        *parents, last = argument.key.split(".")
        node = settings
        for parent in parents:
            if not isinstance(node.get(parent), dict):
                node[parent] = {}
            node = node[parent]
        node[last] = value
    return settings, chosen


# Hydra's grammar


@cache
def parse_argument(text: str) -> "Override":
    """Return Hydra's reading of an argument. Raises Hydra's error for a text that Hydra's parser cannot read.

    The values of range(0.01,0.08,0.01) are exact. Hydra itself would add binary fractions and give
    0.060000000000000005.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import RangeSweep

    override = OverridesParser.create().parse_overrides([text])[0]
    ends = override.value()
    if isinstance(ends, RangeSweep) and float in map(type, (ends.start, ends.stop, ends.step)):
        exact: Any = (Decimal(str(end)) for end in (ends.start, ends.stop, ends.step))
        ends.start, ends.stop, ends.step = exact
    return override


def key_of(text: str) -> str:
    """Return the key of an argument: `trainer.lr` of `trainer.lr=1e-5`, `++trainer.lr=1e-5` and `~trainer.lr`."""
    return text.partition("=")[0].lstrip("+~")


@cache
def is_one_value(text: str) -> bool:
    """Return whether Hydra reads a text as an argument with one value."""
    from hydra.errors import HydraException

    try:
        return not parse_argument(text).is_sweep_override()
    except HydraException:
        return False


def value_in(text: str) -> object:
    """Return the value that Hydra reads in a text, or the text itself if Hydra cannot read it."""
    return parse_argument(f"key={text}").value() if is_one_value(f"key={text}") else text


def spell_argument(key: str, value: object) -> str:
    """Return KEY=VALUE in Hydra's grammar. Text is in quotes only if it needs quotes."""
    if not isinstance(value, str | Path):
        return f"{key}={spell_value(value)}"
    text = str(value)
    is_plain = is_one_value(f"key={text}") and value_in(text) == text
    return f"{key}={text if is_plain else quoted(text)}"


def spell_value(value: object, *, quotes: bool = True) -> str:
    """Return a Python value in Hydra's grammar: null, true, 0.5, [a,b]. quotes: whether to quote text that needs it."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, list | tuple):
        return f"[{','.join(spell_value(item, quotes=quotes) for item in value)}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{key}:{spell_value(item, quotes=quotes)}' for key, item in value.items())}}}"
    text = str(value)
    return text if not quotes or isinstance(value, Number) or PLAIN_TEXT.fullmatch(text) else quoted(text)


def quoted(text: str) -> str:
    """Return the text in quotes, so that Hydra reads the same text."""
    escaped = re.sub(r"(\\+)(?='|$)", r"\1\1", text)  # before a quote, Hydra reads two backslashes as one
    return "'" + escaped.replace("'", "\\'") + "'"


def shell_line(*texts: str) -> str:
    """Return a command in which a shell reads each of these texts as one argument."""
    return " ".join(map(shell_argument, texts))


def shell_argument(text: str) -> str:
    """Return a text as one argument for a shell: in quotes if needed, or in double quotes if it has single quotes."""
    return f'"{text}"' if "'" in text and not re.search(r'["$`\\!\n]', text) else shlex.quote(text)
