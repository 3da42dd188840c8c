"""Runs in the settings that they share, and which of them count: of a search's setting, the seeds trained since."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pandas as pd

from cse.lab.folder.runs import Run, plain
from cse.lab.folder.status import DONE
from cse.lab.report.chosen import folder_of
from cse.lab.report.repeat import is_trial
from cse.lab.settings.groups import choices
from cse.lab.settings.words import values_of
from cse.lab.sweep.jobs import load_sweep

OF_RUNS = ("run", "name", "setting", "search", "trial", "left_out", "counted")
"""What the frame of a comparison has of each run that runs.csv has not. name: its folder, below the one that was
searched; setting: a number, which runs share that differ only in their seed; search: of a trial, which one it is of;
trial: its place among this search's finished trials, as they began, of which the first run of each setting is one, and
its copies and other seeds are none (0); left_out: a trial, which its score may have picked, or a copy of it, where
other seeds were trained since; counted: it is finished and not left out."""


def in_settings(
    frame: pd.DataFrame, runs: Sequence[Run], folders: Sequence[Path], keys: list[str], seed: str
) -> pd.DataFrame:
    """The frame of runs with OF_RUNS beside it. folders: those that were searched; keys: those that differ."""
    names = [name_of(run, folders) for run in runs]
    setting = frame[keys].map(plain).map(repr).groupby(keys, sort=False).ngroup() if keys else pd.Series(0, frame.index)
    done = frame["state"] == DONE
    begun = pd.Series({row: runs[row].begun for row in frame.index[done] if is_trial(runs[row])}, dtype=float)
    first = setting[begun.sort_values(kind="stable").index].drop_duplicates().index
    search = pd.Series(searches_of([runs[row] for row in first]), first, dtype=object)
    trial = (search.groupby(search).cumcount() + 1).reindex(frame.index, fill_value=0)
    seeds = frame[seed].map(str)
    of_trial = seeds == setting.map(dict(zip(setting[first], seeds[first], strict=True)))  # it, and its copies
    left_out = done & of_trial & (done & ~of_trial).groupby(setting).transform("any")
    return frame.assign(
        run=runs, name=names, setting=setting, search=search, trial=trial, left_out=left_out, counted=done & ~left_out
    )


def name_of(run: Run, folders: Sequence[Path]) -> str:
    """A run's folder, below the one of these that was searched."""
    above = folder_of(run, folders)
    return str(run.folder.relative_to(above) if run.folder != above else above)


def searches_of(trials: Sequence[Run]) -> list[str]:
    """The search of each trial, as text: those of one folder differ in what their sweep searches each value of."""
    known, content = choices("sweep"), cache(load_sweep)
    names = [values_of(run.words).get("sweep") for run in trials]
    keys = [content(name).search_each if name in known else [] for name in names]
    return [repr([str(run.folder.parent), *map(run.get, each)]) for run, each in zip(trials, keys, strict=True)]
