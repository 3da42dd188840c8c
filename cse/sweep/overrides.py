"""The words of a command line, KEY=VALUE, and what Hydra's grammar makes of them: several values, ranges, quotes."""

import hashlib
from collections.abc import Iterable, Sequence

from cse.config.keys import key_of
from cse.config.spelling import overrides_of, values_of


def merged(overrides: Sequence[str]) -> list[str]:
    """Each key once; the last wins, so that the command line beats a case."""
    return list({key_of(override): override for override in overrides}.values())


def is_axis(override: str) -> bool:
    """Whether it gives a key several values (a,b  range(...)  interval(...)  glob(...))."""
    return overrides_of([override])[0].is_sweep_override()


def expanded(overrides: Sequence[str]) -> list[list[str]]:
    """Hydra's own product of all `key=a,b` and `key=range(...)`; of a key given twice the last counts."""
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper

    return BasicSweeper.split_arguments(overrides_of(overrides), None)[0]


def first_values(overrides: Sequence[str]) -> list[str]:
    """The overrides with the first of its values for each axis, and the lower end of each interval."""
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
    """Eight hexadecimal digits of overrides, whatever their order."""
    return hashlib.sha1(" ".join(sorted(overrides)).encode()).hexdigest()[:8]


def as_first_named(words: Sequence[str]) -> list[str]:
    """`experiment=X variant=V` as `experiment=[X,V]`: so it was written before the group variant was.

    Names of folders are made of these words, so that what was run before is found.
    """
    values = values_of(words)
    if not {"experiment", "variant"} <= set(values):
        return list(words)
    both = ",".join(values[key].strip("[]") for key in ("experiment", "variant"))
    return [word for word in merged([*words, f"experiment=[{both}]"]) if key_of(word) != "variant"]
