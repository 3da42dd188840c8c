"""Argument: one KEY=VALUE of a command, with who gave it. It has one form, that of Hydra's grammar, from the command
that is given to `run.yaml` and to a command that is shown.

Below Argument stand lists of arguments, then Hydra's grammar: parse_argument, and spell_argument, which writes what
parse_argument reads. shell_line shows a command.
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
from typing import TYPE_CHECKING, Any, Literal

from cse.lab.settings.groups import is_group
from cse.lab.settings.values import Config

if TYPE_CHECKING:  # hydra is imported only to read an argument
    from hydra.core.override_parser.types import Override

PLAIN_TEXT = re.compile(r"(?!(null|true|false|nan|inf)$)[a-z_]\w*", re.ASCII | re.IGNORECASE)
"""Text that Hydra reads as this text, without quotes, in a list too."""


@dataclass(frozen=True)
class Argument:
    """One KEY=VALUE, +KEY=VALUE or ~KEY. text: as Hydra's grammar has it.

    by: who gave it, a person, a sweep, or cse itself, for a function of Python's.
    """

    text: str
    by: Literal["person", "sweep", "cse"] = "person"

    def __str__(self) -> str:
        """As typed."""
        return self.text

    @property
    def key(self) -> str:
        """What it sets: `trainer.lr` of `trainer.lr=1e-5`."""
        return key_of(self.text)

    @property
    def root(self) -> str:
        """The first part of its key: `trainer` of `trainer.lr=1e-5`."""
        return self.key.partition(".")[0]

    @property
    def spelled(self) -> str:
        """`1e-5` of `trainer.lr=1e-5`, with any quotes."""
        return self.text.partition("=")[2]

    @property
    def value(self) -> str:
        """The value as text: without the quotes around it, and as typed if it is no text."""
        parsed = self.parsed
        return parsed if isinstance(parsed, str) else self.spelled

    @property
    def parsed(self) -> object:
        """The value that Hydra reads: text, a number, a list, ...; of an axis, a sweep of Hydra's."""
        return parse_argument(self.text).value()

    @property
    def is_axis(self) -> bool:
        """Whether it gives its key several values: a,b, range(...), interval(...) or glob(...)."""
        return parse_argument(self.text).is_sweep_override()


RUN_ALONE = Argument("hydra.mode=RUN", by="sweep")
"""Hydra's argument for one run, whatever a sweep's file says: the last argument that a sweep gives a job of its own.

So a job's command, which one may give again, and the arguments in run.yaml and in a plan say who gave each.
"""


def recorded_arguments(texts: Sequence[str]) -> list[Argument]:
    """The arguments that a run or a plan wrote down. Older ones lack the quotes that the grammar wants; what is no
    argument is left out."""
    arguments: list[str] = []
    for text in texts:
        key, equals, value = text.partition("=")
        in_quotes = spell_argument(key, value) if equals else text
        if is_one_value(text):
            arguments.append(text)
        elif is_one_value(in_quotes):
            arguments.append(in_quotes)
    return by_whom(arguments)


def in_order_of_givers(arguments: Sequence[Argument]) -> list[Argument]:
    """The arguments of a sweep's job: first the sweep's, then RUN_ALONE, then a person's.

    The order says who gave each; `by_whom` reads it.
    """
    given = [argument for argument in arguments if argument.by == "sweep"]
    return [*given, RUN_ALONE, *(argument for argument in arguments if argument.by == "person")]


def by_whom(texts: Sequence[str]) -> list[Argument]:
    """The arguments, with who gave each: a sweep those up to RUN_ALONE, a person the rest."""
    count = texts.index(RUN_ALONE.text) + 1 if RUN_ALONE.text in texts else 0
    return [*(Argument(text, by="sweep") for text in texts[:count]), *map(Argument, texts[count:])]


def texts_of(arguments: Iterable[Argument]) -> list[str]:
    """The arguments as Hydra, run.yaml and a job's process take them."""
    return [argument.text for argument in arguments]


def values_of(arguments: Iterable[Argument]) -> dict[str, str]:
    """{key: value as text} of the arguments; the last one wins."""
    return {argument.key: argument.value for argument in arguments}


def merged(arguments: Iterable[Argument]) -> list[Argument]:
    """Each key once, in the first one's place; the last one wins, so that the command line overrides a case."""
    return list({argument.key: argument for argument in arguments}.values())


def keys_of_person(arguments: Iterable[Argument]) -> list[str]:
    """The keys that a person typed, and no sweep."""
    return [argument.key for argument in arguments if argument.by == "person"]


def settings_of_arguments(arguments: Sequence[Argument]) -> tuple[Config, dict[str, str]]:
    """(settings, choices by group) that the arguments themselves give, without conf/ and without Hydra's own."""
    settings: Config = {}
    chosen: dict[str, str] = {}
    for argument in arguments:
        if argument.text.startswith("~") or argument.key.startswith("hydra"):
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
    """An argument, parsed by Hydra, but for the values of range(0.01,0.08,0.01), which are as given: Hydra adds binary
    fractions up to 0.060000000000000005. Raises Hydra's error for an argument that it cannot read."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import RangeSweep

    override = OverridesParser.create().parse_overrides([text])[0]
    ends = override.value()
    if isinstance(ends, RangeSweep) and float in map(type, (ends.start, ends.stop, ends.step)):
        exact: Any = (Decimal(str(end)) for end in (ends.start, ends.stop, ends.step))
        ends.start, ends.stop, ends.step = exact
    return override


def key_of(text: str) -> str:
    """`trainer.lr` of `trainer.lr=1e-5`, `++trainer.lr=1e-5` and `~trainer.lr`."""
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
    """KEY=VALUE as Hydra's grammar has it: text with the quotes that it needs, and no others."""
    if not isinstance(value, str | Path):
        return f"{key}={spell_value(value)}"
    from hydra.errors import HydraException

    try:
        plain = parse_argument(f"key={value}").value() == str(value)
    except HydraException:
        plain = False
    return f"{key}={value if plain else quoted(str(value))}"


def spell_value(value: object, *, quotes: bool = True) -> str:
    """A Python value as Hydra's grammar writes it: null, true, 0.5, [a,b]. quotes: around text that needs them."""
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
    backslashes = re.compile(r"(\\+)(?='|$)")  # before a quote Hydra reads two backslashes as one
    return "'" + backslashes.sub(r"\1\1", text).replace("'", "\\'") + "'"


def shell_line(*texts: str) -> str:
    """A command for a shell. Arguments that need quotes are in quotes, double ones around single ones."""
    return " ".join(map(shell_argument, texts))


def shell_argument(text: str) -> str:
    """One argument of a command for a shell."""
    return f'"{text}"' if "'" in text and not re.search(r'["$`\\!\n]', text) else shlex.quote(text)
