"""Runs as one pandas table, with a row for each run and a column for each dotted key, and the keys that differ."""

import sys
from collections.abc import Mapping, Sequence

import pandas as pd

from cse.config.keys import is_science, key_of
from cse.dotted import flattened
from cse.record.runs import Run, plain

NO_KEY = repr(None)  # the cell of a run without that key


def settings_frame(runs: Sequence[Run]) -> pd.DataFrame:
    """A row for each run, in their order, and a column for every dotted key and group that any of them has.

    Cells are texts that are equal where the values are the same (32 and "32", but not 1 and true).
    """
    columns: dict[str, list[str]] = {}
    for place, run in enumerate(runs):
        for key in (*flattened(run.config), *run.choices):
            if key not in columns:
                columns[key] = [NO_KEY] * len(runs)
            columns[key][place] = sys.intern(repr(plain(run.get(key))))  # of many runs most values are the same
    return pd.DataFrame(columns, index=range(len(runs)))


def varying(runs: Sequence[Run], seed: str, frame: pd.DataFrame | None = None) -> list[str]:
    """The keys in which the runs differ, except the seed; a group that differs stands for all its values.

    frame: that of `settings_frame`, if the caller has it.
    """
    frame = settings_frame(runs) if frame is None else frame
    keys = [key for key in frame if frame[key].nunique() > 1 and key != seed]
    groups = tuple(f"{key}." for key in keys if any(key in run.choices for run in runs))
    return [key for key in keys if not key.startswith(groups)]


def differing(runs: Sequence[Run], seed: str) -> list[str]:
    """The dotted keys and groups that tell the runs apart, except the seed: those on a command line first.

    Another key is named only if runs differ in it that are alike in the others. So what follows from a typed value is
    not repeated: a recipe's settings, `schedule_steps: ${trainer.max_steps}`, `data.seed: ${seed}`.
    """

    def may_be_named(key: str) -> bool:
        return key != seed and is_science(key)

    words = (word for run in runs for word in run.overrides if not word.startswith("~"))
    typed = [key for key in dict.fromkeys(map(key_of, words)) if may_be_named(key)]
    frame = settings_frame(runs)
    varied = varying(runs, seed, frame)
    frame = frame.reindex(columns=list(dict.fromkeys([*frame, *typed, seed])), fill_value=NO_KEY)
    typed = [key for key in typed if frame[key].nunique() > 1]
    # a sweep's case names several settings at once, and so does the encoder that cse-eval scored
    cases = [key for key in typed if key == "case"] or [key for key in varied if key == "encoder"]

    def is_named_by_case(key: str) -> bool:
        known = [*cases, seed] if key == "checkpoint" else cases  # each seed has a checkpoint of its own
        return bool(cases) and follows(frame, known, key)

    chosen = cases + [key for key in typed if key not in cases and not is_named_by_case(key)]
    for key in varied:
        if may_be_named(key) and key not in chosen and not follows(frame, [*chosen, seed], key):
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
