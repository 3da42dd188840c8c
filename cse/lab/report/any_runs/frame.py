"""Runs as a frame, a row a run: `cse.runs` returns it, and runs.csv has it.

To read: `runs_frame`; then the short names of keys (`short_names`) and their values as text (`format_settings`).
"""

import re
from collections.abc import Collection, Sequence

import pandas as pd

from cse.lab.folder.runs import Run
from cse.lab.report.any_runs.commands import repeat_command
from cse.lab.report.numbers.keys_that_differ import NAMES
from cse.lab.settings.grammar import quoted
from cse.lab.settings.keys import role_of
from cse.lab.settings.values import format_value, in_one_form, number_in

SPLITS = re.compile(r"[,=\[\]{}]|^['\"]")
OWN = ("done", "runs", "folder", "partial", "remarks", "difference", "p", "equivalent", "of")
"""Columns of a comparison's tables, whose names no key may have there."""

FACTS = ("best_step", "steps", "wall_seconds", "tokens_per_second", "device", "git_commit", "code")
"""Keys of results.json that are columns of runs.csv."""


def short_names(keys: Sequence[str], dot: str = ".", taken: Collection[str] = ()) -> dict[str, str]:
    """{key: the shortest ending that no other key has}: trainer.lr is lr.

    dot: what separates a key's words. taken: endings that stand for something else.
    """
    known = [*keys, *taken]

    def is_alone(ending: str) -> bool:
        return sum((dot + one).endswith(dot + ending) for one in known) == 1

    names = {}
    for key in keys:
        words = key.split(dot)
        endings = (dot.join(words[-count:]) for count in range(1, len(words) + 1))
        names[key] = next(filter(is_alone, endings), key)
    return names


def format_setting(run: Run, key: str) -> str:
    """A run's value in a table; "" if it has no such setting. Text that would read as null or a number is in quotes."""
    if not run.has(key):
        return ""
    value = run.get(key)
    if key in NAMES:
        return format_value(value)  # whole: figure3 is one of several
    is_name = role_of(key).is_verbatim or key in run.choices
    return quoted(value) if isinstance(value, str) and not is_name and misread(value) else format_short(value)


def misread(text: str) -> bool:
    """Whether a text looks like null, a switch or a number, but is none."""
    return text.lower() in ("null", "true", "false") or (number_in(text) is not None and in_one_form(text) == text)


def in_label(value: object, text: str) -> str:
    """A value's text, in quotes where the reader of a label would split it."""
    return quoted(text) if isinstance(value, str) and SPLITS.search(text) and text != quoted(value) else text


def format_settings(runs: Sequence[Run], key: str) -> list[str]:
    """`format_setting` of each run. Paths with the same last part have as many parts as differ."""
    texts = [format_setting(run, key) for run in runs]
    whole = [format_value(run.get(key)).removesuffix("/best") if run.has(key) else "" for run in runs]
    if len(set(texts)) >= len(set(whole)):
        return texts
    ends = short_names(list(dict.fromkeys(whole)), "/")
    return [ends[one] for one in whole]


def format_short(value: object) -> str:
    """A value as the command line writes it; a path is cut to its last part."""
    if isinstance(value, float):
        return f"{value:g}"
    return value.removesuffix("/best").rpartition("/")[2] if isinstance(value, str) else format_value(value)


def runs_frame(runs: Sequence[Run], keys: list[str], metrics: list[str]) -> pd.DataFrame:
    """A row for each run: its state, settings, unrounded scores, and the facts and the command behind it."""
    rows = [
        {
            "folder": str(run.folder),
            "state": str(run.state),
            "why": run.why,
            **{key: run.get(key) for key in keys},
            **{metric: run.metrics.get(metric) for metric in metrics},
            "partial": " ".join(sorted(run.altered)),
            "untrained": run.untrained,
            **{fact: run.results.get(fact) for fact in FACTS},
            "evaluations": "; ".join(map(str, run.evaluations)) or None,
            "command": repeat_command(run),
        }
        for run in runs
    ]
    columns = ["folder", "state", "why", *keys, *metrics, "partial", "untrained", *FACTS, "evaluations", "command"]
    return pd.DataFrame(rows, columns=columns, dtype=object)
