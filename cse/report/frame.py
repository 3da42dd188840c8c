"""Runs as a frame, and the settings in which they differ as columns, with short names and values as text."""

from collections.abc import Collection, Sequence

import pandas as pd

from cse.config.compose import is_group
from cse.config.keys import is_science, key_of
from cse.dotted import flattened
from cse.record.runs import Run, plain
from cse.record.status import status_of
from cse.report.commands import command_of

LONG = 40  # characters of a name
NAMES = ("case", "sweep", "label")
"""The keys that name runs."""

OWN = ("done", "runs", "folder", "partial", "remarks", "difference", "p", "alike", "of")
"""Columns of a comparison's tables, whose names no key may have there."""

FACTS = ("best_step", "steps", "wall_seconds", "tokens_per_second", "device", "git_commit", "code", "evaluations")
"""Keys of results.json that are columns of runs.csv."""


def varying(runs: Sequence[Run], seed: str) -> list[str]:
    """The keys in which the runs differ, except the seed; a group that differs stands for all its values."""
    known = dict.fromkeys(key for run in runs for key in (*flattened(run.config), *run.choices))
    keys = [key for key in known if key != seed and len({repr(plain(run.get(key))) for run in runs}) > 1]
    groups = tuple(f"{key}." for key in keys if any(key in run.choices for run in runs))
    return [key for key in keys if not key.startswith(groups)]


def differing(runs: Sequence[Run], seed: str) -> list[str]:
    """The settings that tell runs apart: those that were typed for any of them, decide what is learned or scored and
    vary, except the seed. A case stands for all that it sets; `origin` is the folder, where several are compared.

    What varies though nobody typed it follows from these and the seed, or is another edition's (cse.report.notes.mixed
    tells).
    """
    typed = dict.fromkeys(["origin", *NAMES, *(key_of(word) for run in runs for word in run.overrides)])
    told = [key for key in typed if key != seed and (is_science(key) or key in NAMES)]
    frame = pd.DataFrame({key: [repr(plain(run.get(key))) for run in runs] for key in [*told, seed]})
    chosen: list[str] = []
    for key in told:
        cases = [one for one in chosen if one in ("case", "sweep")]
        cases += [seed] * (key == "checkpoint")  # which names the run of each seed
        alike = frame.groupby(cases) if "case" in cases else frame.groupby(lambda _: "all")
        if alike[key].nunique().max() > 1:
            chosen.append(key)
    return chosen


def telling_apart(values: pd.DataFrame) -> list[str]:
    """Columns that tell the rows apart and of which each has a value, without any of which this would not be so;
    choices of groups and what was typed first are kept before others. values: a row for each setting, by key."""
    kept = list(values)
    for key in sorted(reversed(kept), key=lambda key: (key != "origin", is_group(key))):
        rest = values[[one for one in kept if one != key]]
        if not rest.duplicated().any() and (rest != "").any(axis=1).all():
            kept = list(rest)
    return kept


def short_names(keys: Sequence[str], dot: str = ".", taken: Collection[str] = ()) -> dict[str, str]:
    """{key: the shortest ending that no other key has}: trainer.lr is lr. dot: what separates its words; taken: endings
    that stand for something else."""
    names = {}
    for key in keys:
        words = key.split(dot)
        ends = (dot.join(words[-count:]) for count in range(1, len(words) + 1))
        known = [*keys, *taken]
        names[key] = next((end for end in ends if sum((dot + one).endswith(dot + end) for one in known) == 1), key)
    return names


def format_setting(run: Run, key: str) -> str:
    """A run's value in a table; "" if it has no such setting."""
    form = format_value if key in NAMES else format_short  # figure3 is one of several
    return form(run.get(key)) if run.has(key) else ""


def format_settings(runs: Sequence[Run], key: str) -> list[str]:
    """`format_setting` of each run; of paths that have the same last part, as much as tells them apart."""
    texts = [format_setting(run, key) for run in runs]
    whole = [format_value(run.get(key)).removesuffix("/best") if run.has(key) else "" for run in runs]
    if len(set(texts)) == len(set(whole)):
        return texts
    ends = short_names(list(dict.fromkeys(whole)), "/")
    return [ends[one] for one in whole]


def format_short(value: object) -> str:
    """A value as the command line writes it; a path is cut to its last part."""
    if isinstance(value, float):
        return f"{value:g}"
    return value.removesuffix("/best").rpartition("/")[2] if isinstance(value, str) else format_value(value)


def format_value(value: object) -> str:
    """A value as the command line writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)


def folded(text: str) -> str:
    """A long name without its middle."""
    return text if len(text) <= LONG else f"{text[: LONG // 2 - 1]}…{text[-LONG // 2 :]}"


def runs_frame(runs: Sequence[Run], keys: list[str], metrics: list[str]) -> pd.DataFrame:
    """A row for each run: its state, settings, unrounded scores, and the facts and the command behind it."""
    rows = [
        {
            "folder": str(run.folder),
            "state": status.state,
            "why": status.detail,
            **{key: run.get(key) for key in keys},
            **{metric: run.metrics.get(metric) for metric in metrics},
            "partial": " ".join(sorted(run.altered)),
            "untrained": run.untrained,
            **{fact: run.results.get(fact) for fact in FACTS},
            "command": command_of(run),
        }
        for run, status in zip(runs, map(status_of, runs), strict=True)
    ]
    columns = ["folder", "state", "why", *keys, *metrics, "partial", "untrained", *FACTS, "command"]
    return pd.DataFrame(rows, columns=columns, dtype=object)
