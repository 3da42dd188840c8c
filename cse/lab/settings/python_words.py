"""Values of Python as words: keyword arguments of a call; None, lists and mappings as W&B's agents write them."""

import ast
import re
from collections.abc import Mapping
from numbers import Number
from pathlib import Path

from cse.errors import UserError
from cse.lab.settings.grammar import key_of, spell_word
from cse.lab.settings.groups import choices

AS_TYPED = re.compile(r"\d+|null")
"""Text that Python may give for a number, as seed="3", or for nothing."""


def from_python(text: str) -> list[str]:
    """`model.prefix=None`, `model={'prefix': None}` and `data.columns=['a', None]` as words with null.

    A group's mapping becomes a word for each of its keys, since the group's own value is a choice.
    """
    key, _, value = text.partition("=")
    if value == "None":
        return [f"{key}=null"]
    if not (value.startswith("{") or (value.startswith("[") and "None" in value)):
        return [text]
    try:
        python = ast.literal_eval(value)
    except (ValueError, SyntaxError):  # Hydra's own lists and mappings have no quotes
        return [text]
    if isinstance(python, dict) and choices(key_of(text)):
        return words_of_settings({f"{key}.{name}": one for name, one in python.items()})
    return words_of_settings({key: python})


def words_of_settings(settings: Mapping[str, object]) -> list[str]:
    """Keyword arguments as text of words: seed=3, splits=[test], data.path='a,b.txt'. Raises UserError."""
    texts = []
    for key, value in settings.items():
        if not (value is None or isinstance(value, str | Path | Number | list | tuple | Mapping)):
            raise UserError(
                f"{key}: give text, a number, a list or a mapping, not a {type(value).__name__}; what Python holds is "
                "written to a file first (a table: to_csv)"
            )
        texts.append(f"{key}={value}" if AS_TYPED.fullmatch(str(value)) else spell_word(key, value))
    return texts
