"""Nested plain values as one flat dictionary: {"trainer": {"lr": 1e-5}} becomes {"trainer.lr": 1e-5}."""

from collections.abc import Mapping
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


def format_value(value: object) -> str:
    """A value as the command line writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)
