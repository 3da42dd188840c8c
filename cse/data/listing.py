"""Which files of a folder are read: one rule for text, images and sound.

Hidden files and folders are left out at any depth: editors, file managers and macOS keep their own copies there.
Folders of operating systems are left out too (SYSTEMS). Links to folders are followed, except links into the folder
itself or above it. A message names the other files that are not read, and says how many they are.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from cse.errors import UserError

NAMED = 5  # how many names of a list a message shows
SYSTEMS = ("$RECYCLE.BIN", "System Volume Information", "lost+found", "@eaDir", "#recycle", "__MACOSX")
"""Folders that Windows, ext4, Synology's file servers and macOS's archives make: deleted files, thumbnails, copies."""


def list_files(root: Path, is_read: Callable[[Path], bool]) -> tuple[list[Path], list[Path]]:
    """(the files below a folder that are read, all other files), each sorted. Hidden files are in neither.

    Raises UserError if a folder cannot be listed, and if the name of a file to read is not UTF-8.
    """
    read: list[Path] = []
    others: list[Path] = []
    for file in _visible(root):
        (read if file.is_file() and is_read(file) else others).append(file)
    for file in read:
        try:
            str(file).encode()
        except UnicodeEncodeError as error:
            raise UserError(f"{os.fsencode(file)!r}: the name of this file is not UTF-8: rename it") from error
    return sorted(read), sorted(others)


def is_visible(name: str) -> bool:
    """Whether a file or folder of that name is the user's own."""
    return not name.startswith(".") and name not in SYSTEMS


def _visible(root: Path) -> Iterator[Path]:
    """The visible files below a folder, and the links that are not followed."""

    def refuse(error: OSError) -> None:
        raise UserError(f"{error.filename}: this folder cannot be listed ({error.strerror})") from error

    top = root.resolve()
    for folder, inside, names in os.walk(root, onerror=refuse, followlinks=True):
        place = Path(folder)
        inside[:] = [name for name in inside if is_visible(name)]
        for name in [name for name in inside if (place / name).is_symlink()]:
            target = (place / name).resolve()
            if target.is_relative_to(top) or place.resolve().is_relative_to(target):
                inside.remove(name)
                yield place / name
        yield from (place / name for name in names if is_visible(name))


def unread_in_words(root: Path, others: Sequence[Path]) -> str:
    """The unread files of a folder, by ending: "2 files are not read: .bz2 (b.txt.bz2), .text (c.text)"."""
    of_ending: dict[str, list[Path]] = defaultdict(list)
    for file in others:
        of_ending[file.suffix].append(file.relative_to(root))
    most = sorted(of_ending, key=lambda ending: (-len(of_ending[ending]), ending))
    kinds = [f"{ending or 'without an ending'} ({files_in_words(of_ending[ending])})" for ending in most]
    verb = "file is" if len(others) == 1 else "files are"
    return f"{len(others):,} {verb} not read: {some(kinds)}"


def files_in_words(files: Sequence[Path]) -> str:
    """The file, or the number of files and the first."""
    return str(files[0]) if len(files) == 1 else f"{len(files):,}, the first: {files[0]}"


def some(words: Collection[str]) -> str:
    """The first few words, and how many more there are."""
    first = ", ".join([*words][:NAMED])
    return first if len(words) <= NAMED else f"{first}, and {len(words) - NAMED} more"


def classes_without(root: Path, read: Sequence[Path]) -> list[str]:
    """The names of the visible folders in a folder that hold no file to read."""
    used = {file.relative_to(root).parts[0] for file in read}
    there = sorted(path.name for path in root.iterdir() if path.is_dir() and is_visible(path.name))
    return [name for name in there if name not in used]
