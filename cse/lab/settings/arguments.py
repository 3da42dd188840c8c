"""An Argument is one KEY=VALUE of a command, with the giver: a person, a sweep or cse.

An Argument always has the form of Hydra's grammar: in a given command, in run.yaml, and in a command that is shown.

1. Argument has a key and a value.
2. `arguments_of` makes Arguments from texts, and `texts_of` makes texts from Arguments.
3. `values_of` and the functions after it read the values from a list of Arguments.
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
"""Who gives an argument: a job's sweep, a person, or cse itself. Of these, a later giver overrides an earlier one."""

PLAIN_TEXT = re.compile(r"(?!(null|true|false|nan|inf)$)[a-z_]\w*", re.ASCII | re.IGNORECASE)
"""Text that needs no quotes, not even in a list: Hydra reads it as the same text."""


@dataclass(frozen=True)
class Argument:
    """One KEY=VALUE, +KEY=VALUE or ~KEY. text: the text in Hydra's grammar. by: the giver."""

    text: str
    by: Giver = "person"

    def __str__(self) -> str:
        """As given."""
        return self.text

    @property
    def key(self) -> str:
        """The key that it sets: `trainer.lr` of `trainer.lr=1e-5`."""
        return key_of(self.text)

    @property
    def root(self) -> str:
        """The first part of its key: `trainer` of `trainer.lr=1e-5`."""
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
        """The value that Hydra reads: a text, a number or a list. For several values: Hydra's object for a sweep."""
        return parse_argument(self.text).value()

    @property
    def adds(self) -> bool:
        """Whether it is a +KEY=VALUE, which adds a key."""
        return self.text.startswith("+")

    @property
    def deletes(self) -> bool:
        """Whether it is a ~KEY, which deletes a key."""
        return self.text.startswith("~")

    @property
    def is_axis(self) -> bool:
        """Whether it gives its key several values: a,b, range(...), interval(...) or glob(...)."""
        return parse_argument(self.text).is_sweep_override()


# From texts to arguments, and back

RUN_ALONE = Argument("hydra.mode=RUN", by="sweep")
"""Hydra's argument for a single run. Each job of a command of several has it: a sweep's file may set another mode.

It is the last argument that the sweep gives. So the texts of a job's command, run.yaml and a plan show the givers.
"""


def arguments_of(texts: Sequence[str]) -> list[Argument]:
    """The arguments in texts. The arguments up to RUN_ALONE are from the sweep, the others from a person."""
    count = texts.index(RUN_ALONE.text) + 1 if RUN_ALONE.text in texts else 0
    return [*(Argument(text, by="sweep") for text in texts[:count]), *map(Argument, texts[count:])]


def texts_of(arguments: Iterable[Argument]) -> list[str]:
    """The texts of arguments, as Hydra, run.yaml and a job's process take them: in the order of their givers."""
    givers = get_args(Giver)
    return [argument.text for argument in sorted(arguments, key=lambda argument: givers.index(argument.by))]


def recorded_arguments(texts: Sequence[str]) -> list[Argument]:
    """The arguments that a run or a plan recorded. Texts that are not arguments are left out.

    An older record lacks quotes that the grammar needs. They are added.
    """
    readable: list[str] = []
    for text in texts:
        key, equals, value = text.partition("=")
        if equals and not is_one_value(text):
            text = spell_argument(key, value)
        if is_one_value(text):
            readable.append(text)
    return arguments_of(readable)


# What a list of arguments says


def values_of(arguments: Iterable[Argument]) -> dict[str, str]:
    """{key: value as text} of the arguments. The last value of a key counts."""
    return {argument.key: argument.value for argument in arguments}


def keys_of_person(arguments: Iterable[Argument]) -> list[str]:
    """The keys that a person gave, without the keys of a sweep."""
    return [argument.key for argument in arguments if argument.by == "person"]


def merged(arguments: Iterable[Argument]) -> list[Argument]:
    """Each key once, at its first place and with its last value. So the command line overrides a case."""
    return list({argument.key: argument for argument in arguments}.values())


def settings_of_arguments(arguments: Iterable[Argument]) -> tuple[PlainConfig, dict[str, str]]:
    """(settings, choices by group) from the arguments alone, without conf/ and without Hydra's own settings."""
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
    """An argument, read by Hydra's parser. Raises Hydra's error for a text that the parser cannot read.

    The values of range(0.01,0.08,0.01) are exact. Hydra itself adds binary fractions, and would give
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
    """The key of an argument: `trainer.lr` of `trainer.lr=1e-5`, `++trainer.lr=1e-5` and `~trainer.lr`."""
    return text.partition("=")[0].lstrip("+~")


def is_one_value(text: str) -> bool:
    """Whether Hydra reads a text as an argument with one value."""
    from hydra.errors import HydraException

    try:
        return not parse_argument(text).is_sweep_override()
    except HydraException:
        return False


def value_in(text: str) -> object:
    """The value that a text writes, read by Hydra; the text itself if Hydra cannot read it."""
    return parse_argument(f"key={text}").value() if is_one_value(f"key={text}") else text


def spell_argument(key: str, value: object) -> str:
    """KEY=VALUE in Hydra's grammar. Text has only the quotes that it needs."""
    if not isinstance(value, str | Path):
        return f"{key}={spell_value(value)}"
    text = str(value)
    is_plain = is_one_value(f"key={text}") and value_in(text) == text
    return f"{key}={text if is_plain else quoted(text)}"


def spell_value(value: object, *, quotes: bool = True) -> str:
    """A Python value as Hydra's grammar writes it: null, true, 0.5, [a,b]. quotes: put them around text if needed."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, list | tuple):
        return f"[{','.join(spell_value(item, quotes=quotes) for item in value)}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{key}:{spell_value(item, quotes=quotes)}' for key, item in value.items())}}}"
    text = str(value)
    return text if not quotes or isinstance(value, Number) or PLAIN_TEXT.fullmatch(text) else quoted(text)


def quoted(text: str) -> str:
    """The text in quotes, which Hydra removes again."""
    escaped = re.sub(r"(\\+)(?='|$)", r"\1\1", text)  # before a quote Hydra reads two backslashes as one
    return "'" + escaped.replace("'", "\\'") + "'"


def shell_line(*texts: str) -> str:
    """A command for a shell, which reads each of these texts as one argument."""
    return " ".join(map(shell_argument, texts))


def shell_argument(text: str) -> str:
    """One argument for a shell: in quotes if it needs them, in double quotes if it has single ones."""
    return f'"{text}"' if "'" in text and not re.search(r'["$`\\!\n]', text) else shlex.quote(text)
