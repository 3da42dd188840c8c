"""A folder that is computed once and kept: its checksums are compared whenever it is opened."""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from cse.files import checksum, discard, file_lock, written_once
from cse.types import Json

log = logging.getLogger(__name__)

ABOUT = "about.json"

T = TypeVar("T")


def cached_folder(folder: Path, write: Callable[[Path], Json], read: Callable[[Path, Json], T]) -> T:
    """read(folder, about) of a whole cache; where there is none, write(temporary folder) makes it.

    write: returns `about`, JSON that is kept beside the checksums of the files it wrote. Written under a temporary name
    and renamed when complete, so a killed run leaves no half cache; one whose checksums fail, or that cannot be read,
    is written again. Raises RunError for a full disk, and whatever `write` raises.
    """

    def fill(temporary: Path) -> None:
        about = write(temporary)
        checksums = {file.name: checksum(file) for file in sorted(temporary.iterdir())}
        (temporary / ABOUT).write_text(json.dumps(about | {"checksums": checksums}), encoding="utf-8")

    if folder.exists():
        try:
            return _read_whole(folder, read)
        except DamagedCache:
            with file_lock(folder):  # another process may have found the same, and have written it again since
                try:
                    return _read_whole(folder, read)
                except DamagedCache as error:
                    if folder.exists():
                        log.warning("the cache %s is damaged (%s): writing it again", folder, error)
                        discard(folder)
    written_once(folder, fill)
    return read(folder, json.loads((folder / ABOUT).read_text(encoding="utf-8")))


class DamagedCache(Exception):
    """What is wrong with a cache."""


def _read_whole(folder: Path, read: Callable[[Path, Json], T]) -> T:
    """read(folder, about), after every byte was read and compared: about a second for a gigabyte."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        changed = [name for name, value in about["checksums"].items() if checksum(folder / name) != value]
        if changed:
            raise DamagedCache(f"{', '.join(changed)} changed since it was written")
        return read(folder, about)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedCache(f"{type(error).__name__}: {error}") from error
