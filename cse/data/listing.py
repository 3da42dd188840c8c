"""Find the files to read in a folder, by one rule for text, images and sound.

    list_files           apply the rule. Hidden files and folders are left out, also in subfolders: editors, file
                         managers and macOS keep copies in them. Folders of operating systems (SYSTEMS) are left out.
                         Links to folders are followed, except links into the folder itself or above it.
    files_of             return the files of text at the path in a setting; ending_of decides how a file is read
    list_class_files     return the images or sounds of a folder that has a folder for each class, or is a single class

A log message counts the files that are not read, and names the first.
"""

import logging
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from cse.errors import MissingResource, UserError
from cse.files import not_found, url_in

log = logging.getLogger(__name__)

NAMED = 5  # how many names of a list a message shows
SYSTEMS = ("$RECYCLE.BIN", "System Volume Information", "lost+found", "@eaDir", "#recycle", "__MACOSX")
"""Folders that Windows, ext4, Synology's file servers and macOS's archives make for deleted files and the like."""
KINDS = (".txt", ".csv", ".tsv", ".jsonl", ".parquet")
GZIP = ".gz"
"""The endings of text files. Each of KINDS may be followed by GZIP."""
SAVED_AS = {
    ".json": "save it as .jsonl, with one object on each line",
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "save the table as .csv"),
}
"""{ending of a file that is not read: what to do}."""


def list_files(root: Path, is_read: Callable[[Path], bool]) -> tuple[list[Path], list[Path]]:
    """Return (the files to read, all other files) below a folder, both sorted. Hidden files are in neither list.

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


def _visible(root: Path) -> Iterator[Path]:
    """Yield the visible files below a folder, and the unfollowed links to folders."""

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


def is_visible(name: str) -> bool:
    """Return whether a file or folder of this name is the user's: not hidden, and not an operating system's."""
    return not name.startswith(".") and name not in SYSTEMS


# Text


def is_on_hub(path: str) -> bool:
    """Return whether data.path means OWNER/NAME on the hub, not a file or folder."""
    local = Path(path).expanduser()
    if os.path.exists(local) or path.startswith((".", "~")):
        return False
    return path.count("/") == 1 and local.suffix.lower() not in (*KINDS, GZIP)  # a name may have a dot: lab/table-2.5


def files_of(path: Path, *, tell: bool = True) -> list[Path]:
    """Return the file at `path`, or the files of text in the folder at `path`, sorted by name.

    tell: log which files of the folder are not read. Raises MissingResource if `path` does not exist, UserError if no
    file can be read or a file is empty.
    """
    if not os.path.exists(path):  # also False for a name that is too long
        raise MissingResource(not_found(path), key="path", value=url_in(path) or path)
    files = [path]
    if path.is_dir():
        files, others = list_files(path, lambda file: ending_of(file) in KINDS)
        if others and tell:
            log.warning("%s: %s", path, unread_in_words(path, others))
    if not files:
        raise UserError(f"no {', '.join(KINDS)} file, with or without .gz, is in this folder", key="path", value=path)
    for file in files:
        if ending_of(file) not in KINDS:
            why = f"the ending is not one of {', '.join(KINDS)}, with or without .gz"
            raise UserError(why, key="path", value=file, instead=SAVED_AS.get(ending_of(file), ""))
        if file.stat().st_size == 0:
            raise UserError("the file is empty", key="path", value=file)
    return files


def ending_of(file: Path) -> str:
    """Return the ending that decides how a file is read, in lower case, without .gz."""
    return Path(file.stem if file.suffix.lower() == GZIP else file.name).suffix.lower()


# Images and sound


def list_class_files(
    root: Path, kind: str, endings: Sequence[str], *, named: str = "class", depth: int = 1
) -> list[Path]:
    """Return the sorted files of a folder that has a folder for each class. Logs which files are not read.

    If no folder below `root` holds a file to read, return the files in `root` itself, as one class. kind: the word for
    the files, in the plural. named: the word for a class. depth: how many folders may be between `root` and a file.
    Raises MissingResource if `root` does not exist. Raises UserError if there are no files, or if a class is
    deeper.
    """
    if not root.is_dir():
        why = f"there is no such folder; it should hold one folder per {named}"
        raise MissingResource(why, key="folder", value=root)
    found, others = list_files(root, lambda file: file.suffix.lower() in endings and file.parent != root)
    if not found:
        found, others = list_files(root, lambda file: file.suffix.lower() in endings)
    if not found:
        why = f"it holds no {kind} ({', '.join(endings)}); it should hold one folder per {named}"
        raise UserError(why, key="folder", value=root)
    first = min((path.relative_to(root) for path in found), key=lambda path: len(path.parts))
    if deeper := first.parts[: -depth - 1]:
        raise UserError(
            f"it is a level too high: its folders hold further folders, not {kind}",
            key="folder",
            value=root,
            instead=f"name the folder that has one folder per class, such as {root.joinpath(*deeper)}",
        )
    if others:
        log.warning("%-10s %s: %s", kind, root, unread_in_words(root, others))
    if empty := classes_without(root, found):
        log.warning("%-10s %s: folders without %s are not classes: %s", kind, root, kind, some(empty))
    return found


def class_of(root: Path, file: Path) -> str:
    """Return the class of a file: the name of the folder in `root` that holds the file, or "all"."""
    return "all" if file.parent == root else file.relative_to(root).parts[0]


def classes_without(root: Path, read: Sequence[Path]) -> list[str]:
    """Return the names of the visible folders in `root` that hold no file to read."""
    used = {class_of(root, file) for file in read}
    there = sorted(path.name for path in root.iterdir() if path.is_dir() and is_visible(path.name))
    return [name for name in there if name not in used]


# In words


def unread_in_words(root: Path, others: Sequence[Path]) -> str:
    """Return the unread files by ending, as text: "2 files are not read: .bz2 (b.txt.bz2), .text (c.text)"."""
    of_ending: dict[str, list[Path]] = defaultdict(list)
    for file in others:
        of_ending[file.suffix].append(file.relative_to(root))
    most = sorted(of_ending, key=lambda ending: (-len(of_ending[ending]), ending))
    kinds = [f"{ending or 'without an ending'} ({files_in_words(of_ending[ending])})" for ending in most]
    verb = "file is" if len(others) == 1 else "files are"
    return f"{len(others):,} {verb} not read: {some(kinds)}"


def files_in_words(files: Sequence[Path]) -> str:
    """Return the name of the only file, or the number of files and the name of the first."""
    return str(files[0]) if len(files) == 1 else f"{len(files):,}, the first: {files[0]}"


def some(words: Collection[str]) -> str:
    """Return the first NAMED words and the number of further words, as text: "a, b, c, d, e, and 2 more"."""
    first = ", ".join([*words][:NAMED])
    return first if len(words) <= NAMED else f"{first}, and {len(words) - NAMED} more"
