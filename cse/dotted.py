"""A nested configuration as one flat dictionary: {"trainer": {"lr": 1e-5}} is {"trainer.lr": 1e-5}."""

from collections.abc import Mapping
from typing import Any


def flattened(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Every value that is not itself a mapping, under its dotted key; empty mappings leave nothing."""
    flat: dict[str, Any] = {}
    for name, value in config.items():
        key = f"{prefix}{name}"
        flat |= flattened(value, f"{key}.") if isinstance(value, Mapping) else {key: value}
    return flat
