"""A mistake leaves nothing behind: what Hydra made of a run's folder before the mistake showed is taken back."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


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
    """Remove what Hydra wrote into a job's folder, or put back what it wrote over; then the folders it made."""
    logs = set(folder.glob("*.log")) - before.entries
    if set(folder.iterdir()) - before.entries - logs - {folder / ".hydra"}:
        return  # scores, weights: the run had begun
    for file in [*logs, *folder.glob(".hydra/*.yaml")]:
        if file in before.files:
            file.write_bytes(before.files[file])
        else:
            file.unlink()
    for place in (folder / ".hydra", folder, *folder.parents):
        if place in before.folders or not place.is_dir():
            continue
        if [entry.name for entry in place.iterdir()] == ["multirun.yaml"]:
            (place / "multirun.yaml").unlink()
        if any(place.iterdir()):
            return
        place.rmdir()
