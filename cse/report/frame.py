"""Runs as one pandas table, a row a run and a column a dotted key, and which of the keys tell them apart."""

import sys
from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from cse.config.keys import is_science, key_of
from cse.dotted import flattened
from cse.record.runs import Run, plain

NOTHING = repr(None)
"""A cell of a run that has no such key."""


def settings_frame(runs: Sequence[Run]) -> pd.DataFrame:
    """A row a run, in their order, and a column for every dotted key and group that any of them has.

    A cell is text that is the same for values that are the same (32 and "32", but not 1 and true).
    """
    columns: dict[str, list[str]] = {}
    for place, run in enumerate(runs):
        for key in (*flattened(run.config), *run.choices):
            if key not in columns:
                columns[key] = [NOTHING] * len(runs)
            columns[key][place] = sys.intern(repr(plain(run.get(key))))  # of many runs most values are the same
    return pd.DataFrame(columns, index=range(len(runs)))


def varying(runs: Sequence[Run], seed: str, frame: pd.DataFrame | None = None) -> list[str]:
    """The keys in which the runs differ, but for the seed; a group that differs stands for all of its values.

    frame: that of `settings_frame`, where it is known.
    """
    frame = settings_frame(runs) if frame is None else frame
    keys = [key for key in frame if frame[key].nunique() > 1 and key != seed]
    groups = tuple(f"{key}." for key in keys if any(key in run.choices for run in runs))
    return [key for key in keys if not key.startswith(groups)]


def differing(runs: Sequence[Run], seed: str) -> list[str]:
    """The dotted keys, and groups, that tell the runs apart but for their seed, those that somebody typed first.

    A key that nobody typed stands here only where the others leave something unsaid, so that what follows from a typed
    value (a recipe's settings, `schedule_steps: ${trainer.max_steps}`, `data.seed: ${seed}`) is not said again.
    """
    typed = [key for key in typed_keys(runs) if is_setting(key, seed)]
    frame = settings_frame(runs)
    varied = varying(runs, seed, frame)
    frame = frame.reindex(columns=list(dict.fromkeys([*frame, *typed, seed])), fill_value=NOTHING)
    typed = [key for key in typed if frame[key].nunique() > 1]
    # a sweep's case is the name of several settings at once, and so is the encoder that cse-eval scored
    cases = [key for key in typed if key == "case"] or [key for key in varied if key == "encoder"]

    def is_named_by_case(key: str) -> bool:
        known = [*cases, seed] if key == "checkpoint" else cases  # each seed's run is a checkpoint of its own
        return bool(cases) and follows(frame, known, key)

    chosen = cases + [key for key in typed if key not in cases and not is_named_by_case(key)]
    for key in varied:
        if is_setting(key, seed) and key not in chosen and not follows(frame, [*chosen, seed], key):
            chosen.append(key)
    return chosen


def is_setting(key: str, seed: str) -> bool:
    """Whether a key may be a column of a comparison."""
    return key != seed and is_science(key)


def typed_keys(runs: Iterable[Run]) -> list[str]:
    """Every key on the runs' command lines, without Hydra's signs (+key, ~key)."""
    words = (override for run in runs for override in run.overrides if not override.startswith("~"))
    return list(dict.fromkeys(map(key_of, words)))


def follows(frame: pd.DataFrame, keys: Sequence[str], key: str) -> bool:
    """Whether runs that are alike in `keys` are alike in `key` too: its value then follows from theirs."""
    return bool((frame.groupby(list(keys))[key].nunique() == 1).all())


def short_names(keys: Sequence[str], dot: str = ".") -> dict[str, str]:
    """{key: the fewest of its last words that no other key ends with}: trainer.lr is lr. dot: what parts its words."""
    names = {}
    for key in keys:
        words = key.split(dot)
        ends = (dot.join(words[-count:]) for count in range(1, len(words) + 1))
        names[key] = next((end for end in ends if sum((dot + one).endswith(dot + end) for one in keys) == 1), key)
    return names


def label(run: Run, keys: Mapping[str, str]) -> str:
    """`lr=3e-05, model=bert`: a run's setting, by {dotted key: its short name}; `all` where nothing differs."""
    return ", ".join(f"{name}={shown(run, key)}" for key, name in keys.items() if run.has(key)) or "all"


def shown(run: Run, key: str) -> str:
    """A run's value in a table; "" where it has no such setting."""
    return brief(run.get(key)) if run.has(key) else ""


def brief(value: object) -> str:
    """A value as the command line writes it; of a path its end, and of an encoder's too."""
    if isinstance(value, float):
        return f"{value:g}"
    if value == "None":  # Hydra's name for no choice of a group
        return "null"
    if not isinstance(value, str):
        return written(value)
    path, comma, more = value.partition(", ")
    return path.removesuffix("/best").rpartition("/")[2] + comma + more


def written(value: object) -> str:
    """A value as the command line writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)
