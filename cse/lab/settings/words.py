"""Word: one KEY=VALUE of a command, with who gave it. It has one form, that of Hydra's grammar, from the command
that is given to `run.yaml` and to a command that is shown.

Below Word stand lists of words, then Hydra's grammar: parse_word, and spell_word, which writes what parse_word reads.
shell_line shows a command.
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

if TYPE_CHECKING:  # hydra is imported only to read a word
    from hydra.core.override_parser.types import Override

WORD = re.compile(r"(?!(null|true|false|nan|inf)$)[a-z_]\w*", re.ASCII | re.IGNORECASE)
"""Text that Hydra reads as this text, without quotes, in a list too."""


@dataclass(frozen=True)
class Word:
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
        return parse_word(self.text).value()

    @property
    def is_axis(self) -> bool:
        """Whether it gives its key several values: a,b, range(...), interval(...) or glob(...)."""
        return parse_word(self.text).is_sweep_override()


RUN_ALONE = Word("hydra.mode=RUN", by="sweep")
"""Hydra's word for one run, whatever a sweep's file says: the last of the words that a sweep gives one of its jobs.

So a job's command, which one may give again, and the lists of words in run.yaml and in a plan say who gave each word.
"""


def recorded_words(texts: Sequence[str]) -> list[Word]:
    """The words that a run or a plan wrote down. Older ones lack the quotes that the grammar wants; what is no word is
    left out."""
    words: list[str] = []
    for text in texts:
        key, equals, value = text.partition("=")
        in_quotes = spell_word(key, value) if equals else text
        if is_one_value(text):
            words.append(text)
        elif is_one_value(in_quotes):
            words.append(in_quotes)
    return by_whom(words)


def in_order_of_givers(words: Sequence[Word]) -> list[Word]:
    """The words of a sweep's job: first the sweep's, then RUN_ALONE, then a person's.

    The order says who gave each; `by_whom` reads it.
    """
    given = [word for word in words if word.by == "sweep"]
    return [*given, RUN_ALONE, *(word for word in words if word.by == "person")]


def by_whom(texts: Sequence[str]) -> list[Word]:
    """The words, with who gave each: a sweep those up to RUN_ALONE, a person the rest."""
    count = texts.index(RUN_ALONE.text) + 1 if RUN_ALONE.text in texts else 0
    return [*(Word(text, by="sweep") for text in texts[:count]), *map(Word, texts[count:])]


def texts_of(words: Iterable[Word]) -> list[str]:
    """The words as Hydra, run.yaml and a job's process take them."""
    return [word.text for word in words]


def values_of(words: Iterable[Word]) -> dict[str, str]:
    """{key: value as text} of the words; the last one wins."""
    return {word.key: word.value for word in words}


def merged(words: Iterable[Word]) -> list[Word]:
    """Each key once, in the first one's place; the last one wins, so that the command line overrides a case."""
    return list({word.key: word for word in words}.values())


def keys_of_person(words: Iterable[Word]) -> list[str]:
    """The keys that a person typed, and no sweep."""
    return [word.key for word in words if word.by == "person"]


def settings_in_words(words: Sequence[Word]) -> tuple[Config, dict[str, str]]:
    """(settings, choices by group) that the words themselves give, without conf/ and without Hydra's own."""
    settings: Config = {}
    chosen: dict[str, str] = {}
    for word in words:
        if word.text.startswith("~") or word.key.startswith("hydra"):
            continue
        value = word.parsed
        if is_group(word.key) and isinstance(value, str):
            chosen[word.key] = value
            continue
        *parents, last = word.key.split(".")
        node = settings
        for parent in parents:
            if not isinstance(node.get(parent), dict):
                node[parent] = {}
            node = node[parent]
        node[last] = value
    return settings, chosen


# Hydra's grammar


@cache
def parse_word(text: str) -> "Override":
    """A word, parsed by Hydra, but for the values of range(0.01,0.08,0.01), which are those that one types: Hydra adds
    binary fractions up to 0.060000000000000005. Raises Hydra's error for a word that it cannot read."""
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
    """Whether Hydra reads a text as a word with one value."""
    from hydra.errors import HydraException

    try:
        return not parse_word(text).is_sweep_override()
    except HydraException:
        return False


def value_in(text: str) -> object:
    """The value that a text writes, read by Hydra; the text itself if Hydra cannot read it."""
    return parse_word(f"key={text}").value() if is_one_value(f"key={text}") else text


def spell_word(key: str, value: object) -> str:
    """KEY=VALUE as Hydra's grammar has it: text with the quotes that it needs, and no others."""
    if not isinstance(value, str | Path):
        return f"{key}={spell_value(value)}"
    from hydra.errors import HydraException

    try:
        plain = parse_word(f"key={value}").value() == str(value)
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
    return text if not quotes or isinstance(value, Number) or WORD.fullmatch(text) else quoted(text)


def quoted(text: str) -> str:
    """The text in quotes, which Hydra removes again."""
    backslashes = re.compile(r"(\\+)(?='|$)")  # before a quote Hydra reads two backslashes as one
    return "'" + backslashes.sub(r"\1\1", text).replace("'", "\\'") + "'"


def shell_line(*texts: str) -> str:
    """A command for a shell: of its words, those that need quotes are in quotes, double ones around single ones."""
    return " ".join(map(shell_word, texts))


def shell_word(text: str) -> str:
    """One word of a command for a shell."""
    return f'"{text}"' if "'" in text and not re.search(r'["$`\\!\n]', text) else shlex.quote(text)
