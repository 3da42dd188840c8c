"""Nested plain values as one flat dictionary: {"trainer": {"lr": 1e-5}} becomes {"trainer.lr": 1e-5}."""

from collections.abc import Iterator, Mapping
from typing import Any

Config = dict[str, Any]
"""A composed configuration as plain values; its groups are dictionaries of the same kind."""


def flattened(config: Mapping[str, object], prefix: str = "") -> Config:
    """Every value that is not itself a mapping, under its dotted key; empty mappings disappear."""
    flat: Config = {}
    for name, value in config.items():
        key = f"{prefix}{name}"
        flat |= flattened(value, f"{key}.") if isinstance(value, Mapping) else {key: value}
    return flat


def nodes_in(tree: object, key: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted key, content) of a tree of mappings and lists, and of everything in it."""
    yield key, tree
    children: list[tuple[object, object]] = []
    if isinstance(tree, dict):
        children = list(tree.items())
    elif isinstance(tree, list):
        children = list(enumerate(tree))
    for name, child in children:
        yield from nodes_in(child, f"{key}.{name}" if key else str(name))


def format_value(value: object) -> str:
    """A value as the command line writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)
