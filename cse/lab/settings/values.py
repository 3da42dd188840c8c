"""The settings of a config as plain values by dotted key, and the comparison of two values.

The same value is 1e-3 in a command, "1e-3" in YAML and 0.001 in JSON.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

PlainConfig = dict[str, Any]
"""A config as plain values: {"seed": 1, "trainer": {"lr": 1e-5}}."""

NUMBER_AS_TEXT = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+")
"""The pattern of a number with an exponent. YAML 1.1 reads some of these numbers as text, such as 1e-3 and 1.0e3."""
BOOLEANS = {"yes": True, "on": True, "true": True, "no": False, "off": False, "false": False}
"""{word for true or false, in lower case: value}."""


def flattened(config: Mapping[str, object], prefix: str = "") -> PlainConfig:
    """Return each value by its dotted key, without empty mappings: {"trainer.lr": 1} for {"trainer": {"lr": 1}}."""
    flat: PlainConfig = {}
    for name, value in config.items():
        key = f"{prefix}{name}"
        flat |= flattened(value, f"{key}.") if isinstance(value, Mapping) else {key: value}
    return flat


def nodes_in(tree: object, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (dotted key, value) of each node in a tree of mappings and lists, a node before its children."""
    yield key, tree
    children: list[tuple[object, object]] = []
    if isinstance(tree, dict):
        children = list(tree.items())
    elif isinstance(tree, list):
        children = list(enumerate(tree))
    for name, child in children:
        yield from nodes_in(child, f"{key}.{name}" if key else str(name))


def format_value(value: object) -> str:
    """Return a value as text for the command line, such as true or null."""
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)


def same_as_any(value: object, others: object) -> bool:
    """Return whether two values are the same or, if only the second is a list, whether the list has the first value."""
    if isinstance(others, (list, tuple)) and not isinstance(value, (list, tuple)):
        return any(same(value, item) for item in others)
    return same(value, others)


def same(value: object, other: object) -> bool:
    """Return whether two values are the same. The values 32, "32" and 32.0 are the same, as are 1.1 and "1.1".

    Two texts must be identical, because "1.10" and "1.1" may be versions. The values 1 and true are not the same.
    """
    if isinstance(value, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(value) == len(other) and all(map(same, value, other))
    ours, theirs = in_one_form(value), in_one_form(other)
    if isinstance(ours, str) and isinstance(theirs, float):
        return number_in(ours) == theirs
    if isinstance(ours, float) and isinstance(theirs, str):
        return ours == number_in(theirs)
    return bool(ours == theirs)


def in_one_form(value: object) -> Any:
    """Return the value in one form: 32 and 32.0 have the same form, and so have 1e-3, "1e-3" and 0.001.

    A number becomes a float of twelve digits, so 0.01 * 6 is 0.06. The text 1e-3 becomes a number, because YAML reads
    this number as text. A bool becomes text. Other text does not change: "1.10" is not "1.1", and "007" is not "7".
    """
    if isinstance(value, (list, tuple)):
        return [in_one_form(item) for item in value]
    if isinstance(value, dict):
        return {key: in_one_form(item) for key, item in value.items()}
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and NUMBER_AS_TEXT.fullmatch(value):
        return in_one_form(number_in(value))
    if isinstance(value, int):
        return float(value) if abs(value) < 2**53 else value
    return float(f"{value:.12g}") if isinstance(value, float) else value


def number_in(text: str) -> float | None:
    """Return the number in a text; None if the text is not a number."""
    try:
        return float(text)
    except (ValueError, OverflowError):
        return None
