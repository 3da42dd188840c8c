"""Nested plain values, and the same as one flat dictionary: {"trainer": {"lr": 1e-5}} is {"trainer.lr": 1e-5}."""

from collections.abc import Mapping
from typing import Any

Config = dict[str, Any]
"""A composed configuration as plain values: groups are dictionaries of the same kind."""

Json = dict[str, Any]
"""What JSON or YAML holds: an event, results.json, where a score comes from, a paper's printed numbers."""


def flattened(config: Mapping[str, object], prefix: str = "") -> Config:
    """Every value that is not itself a mapping, under its dotted key; empty mappings leave nothing."""
    flat: Config = {}
    for name, value in config.items():
        key = f"{prefix}{name}"
        flat |= flattened(value, f"{key}.") if isinstance(value, Mapping) else {key: value}
    return flat
