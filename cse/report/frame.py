"""The settings in which runs differ, as columns, with short names and values as text."""

from collections.abc import Mapping, Sequence

import pandas as pd

from cse.config.keys import is_science, key_of
from cse.dotted import flattened
from cse.record.runs import Run, plain


def varying(runs: Sequence[Run], seed: str) -> list[str]:
    """The keys in which the runs differ, except the seed; a group that differs stands for all its values."""
    known = dict.fromkeys(key for run in runs for key in (*flattened(run.config), *run.choices))
    keys = [key for key in known if key != seed and len({repr(plain(run.get(key))) for run in runs}) > 1]
    groups = tuple(f"{key}." for key in keys if any(key in run.choices for run in runs))
    return [key for key in keys if not key.startswith(groups)]


def differing(runs: Sequence[Run], seed: str) -> list[str]:
    """The science keys (cse.config.keys) that tell the runs apart, except the seed: those on a command line first.

    A key that nobody typed is left out if it follows from the others and the seed: a recipe's settings,
    `schedule_steps: ${trainer.max_steps}`, `data.seed: ${seed}`. So is one that a sweep's case, or the encoder that
    cse-eval scored, stands for.
    """
    varied = [key for key in varying(runs, seed) if is_science(key)]
    words = dict.fromkeys(key_of(word) for run in runs for word in run.overrides if not word.startswith("~"))
    frame = pd.DataFrame({key: [repr(plain(run.get(key))) for run in runs] for key in [*varied, *words, seed]})
    typed = [key for key in words if key != seed and is_science(key) and frame[key].nunique() > 1]
    named = [key for key in sorted(varied) if key in ("case", "encoder")][:1]
    chosen = list(named)
    for key in typed:
        known = [*named, seed] if key == "checkpoint" else named  # each seed has a checkpoint of its own
        if key not in chosen and not (named and follows(frame, known, key)):
            chosen.append(key)
    for key in varied:
        if key not in chosen and not follows(frame, [*chosen, seed], key):
            chosen.append(key)
    return chosen


def follows(frame: pd.DataFrame, keys: Sequence[str], key: str) -> bool:
    """Whether runs that are alike in `keys` are alike in `key` too."""
    return bool((frame.groupby(list(keys))[key].nunique() == 1).all())


def short_names(keys: Sequence[str], dot: str = ".") -> dict[str, str]:
    """{key: the shortest ending that no other key has}: trainer.lr is lr. dot: what separates its words."""
    names = {}
    for key in keys:
        words = key.split(dot)
        ends = (dot.join(words[-count:]) for count in range(1, len(words) + 1))
        names[key] = next((end for end in ends if sum((dot + one).endswith(dot + end) for one in keys) == 1), key)
    return names


def label(run: Run, keys: Mapping[str, str]) -> str:
    """A run's setting as `lr=3e-05, model=bert`; `all` if there are no keys. keys: {dotted key: its short name}."""
    return ", ".join(f"{name}={format_setting(run, key)}" for key, name in keys.items() if run.has(key)) or "all"


def format_setting(run: Run, key: str) -> str:
    """A run's value in a table; "" if it has no such setting."""
    return format_short(run.get(key)) if run.has(key) else ""


def format_short(value: object) -> str:
    """A value as the command line writes it; a path, or an encoder's name, is cut to its last part."""
    if isinstance(value, float):
        return f"{value:g}"
    if not isinstance(value, str):
        return format_value(value)
    path, comma, more = value.partition(", ")
    return path.removesuffix("/best").rpartition("/")[2] + comma + more


def format_value(value: object) -> str:
    """A value as the command line writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)
