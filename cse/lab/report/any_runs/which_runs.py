"""Which runs a report shows: the runs in folders or globs that have the settings of `where=`.

To read: `asked_for`. A glob names several places (`places`).
"""

import glob
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from cse.lab.folder.jobs_file import jobs_without_run
from cse.lab.folder.runs import Run, read_runs
from cse.lab.report.any_runs.comparison import innermost_folder
from cse.lab.report.any_runs.evaluations import with_evaluations
from cse.lab.report.any_runs.where import having


class Asked(NamedTuple):
    """What a user asked for.

    runs: the runs, or the planned jobs if there is no run. jobs: planned jobs without a run. folders: the folders that
    were searched. first: the places of the first folder if several were named, else [].
    """

    runs: list[Run]
    jobs: list[Run]
    folders: list[Path]
    first: Sequence[Path]


def asked_for(folders: Sequence[Path], where: str | None, seed: str) -> Asked:
    """The runs in these folders or globs. where: KEY=VALUE,... seed: the key of seeds.

    Raises UserError for a folder that does not exist, and if none of the runs has these settings.
    """
    named = {str(folder): places(folder) for folder in folders}
    searched = [place for of in named.values() for place in of]
    runs = with_evaluations(with_origin(read_runs(searched), named))
    jobs = with_origin(jobs_without_run(searched), named)
    if where and (runs or jobs):
        chosen = having([*runs, *jobs], where, seed)
        runs = [run for run in runs if run in chosen]
        jobs = [job for job in jobs if job in chosen]
    above = list(dict.fromkeys(map(folder_above, folders)))
    first = named[str(folders[0])] if len(named) > 1 else []
    return Asked(runs, jobs, above, first) if runs else Asked(jobs, [], above, first)


def places(folder: Path) -> list[Path]:
    """The folder. If there is no such folder and its name is a glob, every folder that the glob names.

    A glob names files too, such as the jobs.jsonl of a command of several jobs: these are left out.
    """
    named = [] if folder.exists() else sorted(map(Path, glob.glob(str(folder))))
    return [place for place in named if place.is_dir()] or [folder]


def folder_above(folder: Path) -> Path:
    """The folder in which a glob searches. A folder that exists is its own."""
    if folder.exists():
        return folder
    return Path(*takewhile(lambda part: not glob.has_magic(part), folder.parts))


def with_origin(runs: Sequence[Run], named: Mapping[str, Sequence[Path]]) -> list[Run]:
    """The runs, each with the folder or glob that names it as its setting `origin`.

    So runs of one setting, before and after a change of the code, are two settings. Of several folders that hold a run,
    the innermost is its origin. With one folder, no run has an origin. named: the places of each folder or glob.
    """
    names = {place: name for name, places in named.items() for place in places}
    if len(named) < 2:
        return list(runs)
    return [replace(run, config={"origin": names[innermost_folder(run, names)], **run.config}) for run in runs]
