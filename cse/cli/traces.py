"""A mistake leaves nothing behind: what Hydra made of a run's folder before the mistake showed is taken back."""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cse.files import make_folder

WORK = ("best", "last", "scores.csv")  # what took time to make


@dataclass(frozen=True)
class Before:
    """What stood where a run is about to go: folders, what each holds, and the content of Hydra's own files."""

    folders: frozenset[Path]
    entries: frozenset[Path]
    files: dict[Path, bytes]


def look(places: Iterable[str]) -> Before:
    """Remember these folders and those above them, as far as they exist."""
    absolute = [Path(place).absolute() for place in places]
    above = {folder for place in absolute for folder in (place / ".hydra", place, *place.parents)}
    folders = [place for place in absolute if place.is_dir()]
    return Before(
        frozenset(folder for folder in above if folder.is_dir()),
        frozenset(entry for place in folders for entry in place.iterdir()),
        {file: file.read_bytes() for place in folders for file in place.glob(".hydra/*.yaml")},
    )


def try_folder(folder: Path, before: Before) -> None:
    """See whether a run's folder can be made, and leave none: Hydra makes its own, named by another microsecond.

    Raises UserError where it cannot be.
    """
    try:
        make_folder(folder, "hydra.run.dir")
    finally:
        remove_empty((folder, *folder.parents), before)


@contextmanager
def none_of_a_mistake(before: Before) -> Iterator[None]:
    """Inside a Hydra job: an exit with code 2, a user's mistake, leaves its folder as it was, unless work was done."""
    from cse.run.build import output_folder

    try:
        yield
    except SystemExit as ended:
        if ended.code == 2:
            take_back(output_folder(), before)
        raise


def take_back(folder: Path, before: Before) -> None:
    """Remove what a job left in its folder, or put back what it wrote over; then the folders that were made for it.

    A folder of its own goes with all that is in it, as long as that is no work; of one that was there before, what is
    known to be Hydra's.
    """
    if folder not in before.folders and not any((folder / name).exists() for name in WORK):
        shutil.rmtree(folder)
        remove_empty(folder.parents, before)
        return
    logs = set(folder.glob("*.log")) - before.entries
    if set(folder.iterdir()) - before.entries - logs - {folder / ".hydra"}:
        return  # scores, weights: the run had begun
    for file in [*logs, *folder.glob(".hydra/*.yaml")]:
        if file in before.files:
            file.write_bytes(before.files[file])
        else:
            file.unlink()
    remove_empty((folder / ".hydra", folder, *folder.parents), before)


def remove_empty(places: Iterable[Path], before: Before) -> None:
    """Remove each of these folders, from the inside out, that was made since and holds nothing more."""
    for place in places:
        if place in before.folders or not place.is_dir():
            continue
        if [entry.name for entry in place.iterdir()] == ["multirun.yaml"]:
            (place / "multirun.yaml").unlink()
        if any(place.iterdir()):
            return
        place.rmdir()
