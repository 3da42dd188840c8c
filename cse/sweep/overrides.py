"""Overrides KEY=VALUE of a command line as Hydra's grammar reads them: several values, ranges, quotes."""

import hashlib
from collections.abc import Iterable, Sequence

from cse.config.keys import key_of
from cse.config.spelling import overrides_of, values_of


def merged(overrides: Sequence[str]) -> list[str]:
    """Each key once; the last one wins, so that the command line overrides a case."""
    return list({key_of(override): override for override in overrides}.values())


def is_axis(override: str) -> bool:
    """Whether it gives a key several values: a,b, range(...), interval(...) or glob(...)."""
    return overrides_of([override])[0].is_sweep_override()


def expanded(overrides: Sequence[str]) -> list[list[str]]:
    """Hydra's own product of all `key=a,b` and `key=range(...)`; if a key is given twice, the last one counts."""
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper

    return BasicSweeper.split_arguments(overrides_of(overrides), None)[0]


def first_values(overrides: Sequence[str]) -> list[str]:
    """The overrides with each axis at its first value, or at the lower end of its interval."""
    from hydra.core.override_parser.types import IntervalSweep

    first = []
    for override in overrides_of(overrides):
        if not override.is_sweep_override():
            first.append(override.input_line or "")
            continue
        values = override.value()
        value = values.start if isinstance(values, IntervalSweep) else next(override.sweep_string_iterator())
        first.append(f"{override.get_key_element()}={value}")
    return first


def digest(overrides: Iterable[str]) -> str:
    """Eight hexadecimal digits that identify overrides in any order."""
    return hashlib.sha1(" ".join(sorted(overrides)).encode()).hexdigest()[:8]


def in_older_spelling(words: Sequence[str]) -> list[str]:
    """`experiment=X variant=V` as `experiment=[X,V]`, which was its spelling before the group `variant` existed.

    Folders are named by that spelling, so that older runs are found.
    """
    values = values_of(words)
    if not {"experiment", "variant"} <= set(values):
        return list(words)
    both = ",".join(values[key].strip("[]") for key in ("experiment", "variant"))
    return [word for word in merged([*words, f"experiment=[{both}]"]) if key_of(word) != "variant"]
