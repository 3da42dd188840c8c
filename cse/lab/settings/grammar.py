"""Hydra's grammar, in which a word KEY=VALUE is typed, recorded and shown: what a word says, how a value is spelled.

Read parse_word, then spell_word, which writes what parse_word reads, then shell_line, which shows a command.
"""

import json
import re
import shlex
from decimal import Decimal
from functools import cache
from numbers import Number
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # hydra is imported only to read a word
    from hydra.core.override_parser.types import Override

WORD = re.compile(r"(?!(null|true|false|nan|inf)$)[a-z_]\w*", re.ASCII | re.IGNORECASE)
"""Text that Hydra reads as this text, without quotes, in a list too."""


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
        return f"[{','.join(spell_value(one, quotes=quotes) for one in value)}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{key}:{spell_value(one, quotes=quotes)}' for key, one in value.items())}}}"
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
