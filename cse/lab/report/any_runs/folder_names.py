"""The names of runs' folders in tables: below the folders that were searched."""

from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path

from cse.lab.folder.runs import Run
from cse.lab.report.formats import first_few


def innermost_folder(run: Run, folders: Iterable[Path]) -> Path:
    """The innermost of these folders that holds the run."""
    above = [folder for folder in folders if run.folder.is_relative_to(folder)]
    return max(above, key=lambda folder: len(folder.parts))


def folder_below(run: Run, folders: Iterable[Path]) -> str:
    """A run's folder, below the one of these that was searched."""
    above = innermost_folder(run, folders)
    return str(run.folder.relative_to(above) if run.folder != above else above)


def folders_below(runs: Sequence[Run], folders: Sequence[Path]) -> str:
    """The folder of a setting's run. Of several runs, it is what the folders' names begin with, else the first few."""
    names = [folder_below(run, folders) for run in runs]
    if len(names) == 1:
        return names[0]
    begun = common_beginning(names)
    return f"{begun}*" if begun else first_few(names)


def common_beginning(names: Sequence[str]) -> str:
    """The letters with which all names begin."""
    first, last = min(names), max(names)  # the two that differ soonest
    return "".join(letter for letter, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False)))
