"""A mistake leaves nothing behind: files that Hydra wrote before the mistake was found are removed or restored."""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cse.files import make_folder

WORK = ("best", "last", "scores.csv")  # never removed


@dataclass(frozen=True)
class Snapshot:
    """What exists where a run is about to write: folders, their entries, and the content of Hydra's own files."""

    folders: frozenset[Path]
    entries: frozenset[Path]
    files: dict[Path, bytes]


def snapshot(places: Iterable[str]) -> Snapshot:
    """The snapshot of these folders and those above them, as far as they exist."""
    absolute = [Path(place).absolute() for place in places]
    above = {folder for place in absolute for folder in (place / ".hydra", place, *place.parents)}
    folders = [place for place in absolute if place.is_dir()]
    return Snapshot(
        frozenset(folder for folder in above if folder.is_dir()),
        frozenset(entry for place in folders for entry in place.iterdir()),
        {file: file.read_bytes() for place in folders for file in place.glob(".hydra/*.yaml")},
    )


def try_folder(folder: Path, before: Snapshot) -> None:
    """Make a run's folder and remove it again: Hydra makes its own, named by another microsecond.

    Raises UserError where it cannot be made.
    """
    try:
        make_folder(folder, "hydra.run.dir")
    finally:
        remove_empty((folder, *folder.parents), before)


@contextmanager
def after_mistake(before: Snapshot) -> Iterator[None]:
    """Inside a Hydra job: restore its folder after an exit with code 2, a user's mistake, unless work was done."""
    from cse.run.build import output_folder

    try:
        yield
    except SystemExit as ended:
        if ended.code == 2:
            clean_up(output_folder(), before)
        raise


def clean_up(folder: Path, before: Snapshot) -> None:
    """Remove what a job left in its folder, or restore what it overwrote; then remove the folders made for it.

    A new folder is removed with its content, unless work was done; in one that existed before, Hydra's own files are.
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


def remove_empty(places: Iterable[Path], before: Snapshot) -> None:
    """Remove each of these folders, innermost first, that is new and empty."""
    for place in places:
        if place in before.folders or not place.is_dir():
            continue
        try:
            if [entry.name for entry in place.iterdir()] == ["multirun.yaml"]:
                (place / "multirun.yaml").unlink()
            if any(place.iterdir()):
                return
            place.rmdir()
        except OSError:  # another command begins or ends in the same place
            return
