"""Whether a copy of a dataset is intact, file by file, by SHA-256.

A checksum comes from the folder itself (SHA256SUMS, which `cse-data fetch` writes and `sha256sum -c` reads), from a
copy on which two independent sources agree (cse/sources/SHA256SUMS), or from the name of a file in the hub's cache.
"""

import gzip
import hashlib
import os
import re
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from cse.errors import UserError
from cse.files import sha256, write_text

SUMS = "SHA256SUMS"
KNOWN = Path(__file__).with_name(SUMS)

State = Literal["whole", "altered", "missing"]


def check(place: Path) -> dict[Path, State]:
    """The state of every file with a known checksum, in a folder and below it. Raises UserError if there is none."""
    if not place.is_dir():
        raise UserError(f"{place}: there is no such folder")
    sums = {file: digest for folder, _, _ in os.walk(place) for file, digest in sums_of(Path(folder)).items()}
    if not sums:
        raise UserError(
            f"{place} holds nothing with known checksums: neither {SUMS}, which cse-data fetch NAME --to FOLDER "
            "writes, nor files of the hub's cache, nor a copy of a dataset whose checksums are known"
        )
    return {file: state_of(file, digest) for file, digest in sorted(sums.items())}


def sums_of(folder: Path) -> dict[Path, str]:
    """{file: its SHA-256} by SHA256SUMS, or else by KNOWN, and by the names of files in the hub's cache."""
    sums = read_sums(folder / SUMS) or known_sums(folder)
    links = [file for file in folder.iterdir() if file.is_symlink()]
    named = {file: digest for file in links if (digest := hub_sha256(file))}
    return {folder / name: digest for name, digest in sums.items()} | named


def known_sums(folder: Path) -> dict[str, str]:
    """{name: SHA-256} for a copy without SHA256SUMS: all files of every dataset of which one file is there."""
    known = [(*name.split("/", 1), digest) for name, digest in read_sums(KNOWN).items()]
    here = {dataset for dataset, file, _ in known if (folder / file).is_file()}
    return {file: digest for dataset, file, digest in known if dataset in here}


def hub_sha256(file: Path) -> str | None:
    """The SHA-256 by which the hub named a file in its cache; None for a small file, which has another name."""
    name = file.resolve().name
    return name if re.fullmatch("[0-9a-f]{64}", name) else None


def state_of(file: Path, expected: str) -> State:
    """The state of a file by its SHA-256, or by that of a .gz's content, which may be compressed differently."""
    if not file.is_file():
        return "missing"
    if sha256(file) == expected:
        return "whole"
    try:
        with gzip.open(file) as content:
            return "whole" if hashlib.file_digest(content, "sha256").hexdigest() == expected else "altered"
    except (OSError, EOFError, zlib.error):  # gzip.BadGzipFile, for a file of another kind, is an OSError
        return "altered"


def read_sums(file: Path) -> dict[str, str]:
    """{name: SHA-256} from a file in the format of sha256sum; {} if there is none. Raises UserError for no text."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    except ValueError as error:
        raise UserError(f"{file} is damaged: {error}") from error
    pairs = (line.split("  ", 1) for line in lines if "  " in line and not line.startswith("#"))
    return {name: digest for digest, name in pairs}


def write_sums(folder: Path, files: Iterable[Path]) -> None:
    """Add the checksums of files in a folder to its SHA256SUMS."""
    lines = read_sums(folder / SUMS) | {file.relative_to(folder).as_posix(): sha256(file) for file in files}
    write_text(folder / SUMS, "".join(f"{digest}  {name}\n" for name, digest in sorted(lines.items())))
