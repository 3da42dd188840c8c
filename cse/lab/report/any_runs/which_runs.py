"""The runs that a user asks for, by folders or globs (`runs=`) and by their settings (`where=`).

Start at `asked_for`. It reads the runs in the folders that the user names, adds the scores of evaluations to the runs,
and keeps the runs that have the settings of `where=`.
"""

import glob
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from cse.errors import UserError
from cse.lab.folder.jobs_file import jobs_without_run
from cse.lab.folder.runs import Run, read_runs
from cse.lab.report.any_runs.evaluations import with_evaluations
from cse.lab.report.any_runs.names import OWN_COLUMNS, innermost_folder, short_names
from cse.lab.report.any_runs.typed_names import has_value, named_settings
from cse.lab.report.numbers.keys_that_differ import keys_of_settings


class Asked(NamedTuple):
    """The runs that a user asked for.

    runs: the runs; if there are none, the planned jobs. jobs: the planned jobs without a run, if there are runs.
    folders: `folder_above` of each name. first: the folders of the first name (folder or glob); [] for a single name.
    """

    runs: list[Run]
    jobs: list[Run]
    folders: list[Path]
    first: Sequence[Path]


def asked_for(folders: Sequence[Path], where: str | None, seed_key: str) -> Asked:
    """Return the runs in these folders or globs. where: KEY=VALUE,...

    Raises UserError if a folder does not exist, or if no run has the settings of `where`.
    """
    named = {str(folder): places(folder) for folder in folders}
    searched = [place for its_places in named.values() for place in its_places]
    runs = with_evaluations(with_origin(read_runs(searched), named))
    jobs = with_origin(jobs_without_run(searched), named)
    if where and (runs or jobs):
        chosen = runs_having([*runs, *jobs], where, seed_key)
        runs = [run for run in runs if run in chosen]
        jobs = [job for job in jobs if job in chosen]
    above = list(dict.fromkeys(map(folder_above, folders)))
    first = named[str(folders[0])] if len(named) > 1 else []
    return Asked(runs, jobs, above, first) if runs else Asked(jobs, [], above, first)


def places(folder: Path) -> list[Path]:
    """Return the folder itself if it exists, else every folder that matches its name as a glob.

    A glob may also match files, such as jobs.jsonl. The result has no files. Without a match, the result is [folder].
    """
    paths = [] if folder.exists() else sorted(map(Path, glob.glob(str(folder))))
    return [path for path in paths if path.is_dir()] or [folder]


def folder_above(folder: Path) -> Path:
    """Return the folder itself if it exists; for a glob, the folder above the first part with a wildcard."""
    if folder.exists():
        return folder
    return Path(*takewhile(lambda part: not glob.has_magic(part), folder.parts))


def with_origin(runs: Sequence[Run], named: Mapping[str, Sequence[Path]]) -> list[Run]:
    """Return the runs. If the user gives several names, each run gets the key `origin`: the name that includes the run.

    A name is a folder or a glob. So runs from before and after a change of the code can be compared as two settings. If
    several folders contain a run, the innermost folder decides. named: the folders of each name.
    """
    names = {place: name for name, places in named.items() for place in places}
    if len(named) < 2:
        return list(runs)
    return [replace(run, config={"origin": names[innermost_folder(run, names)], **run.config}) for run in runs]


def runs_having(runs: Sequence[Run], where: str, seed_key: str) -> list[Run]:
    """Return the runs that have all settings of KEY=VALUE,... A key may be a short name from a table.

    Raises UserError if no run has all these settings.
    """
    real = [run for run in runs if not run.is_smoke]
    key_named: dict[str, str] = {}
    for compared in (runs, real):  # the tables of real runs have their own short names
        names = short_names(keys_of_settings(compared, seed_key), taken=OWN_COLUMNS)
        key_named |= {name: key for key, name in names.items()}
    conditions = [(key_named.get(key, key), values) for key, values in named_settings(where).items()]
    chosen = [run for run in runs if all(has_value(run, key, values) for key, values in conditions)]
    if not chosen:
        differing = ", ".join([*key_named, seed_key])
        raise UserError(f"where={where}: none of the {len(runs)} runs has these values; the runs differ in {differing}")
    return chosen
