"""What `cse-data check` finds, and the checksums that tell an altered copy with the right number of rows.

They are in the folder's SHA256SUMS, which `cse-data fetch` writes (`sha256sum -c` reads it), and in
cse/sources/SHA256SUMS, for copies that two independent sources have in common.
"""

import importlib.resources
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cse.files import sha256, write_text

State = Literal["whole", "altered", "missing"]
SUMS = "SHA256SUMS"


@dataclass(frozen=True)
class CheckedPart:
    """A part of a dataset (a task, a file, a class), its rows, and what is wrong with it (note)."""

    dataset: str
    part: str
    state: State
    rows: int | None = None
    note: str = ""


def sums(folder: Path) -> dict[str, str]:
    """{file: sha256} of a folder's SHA256SUMS, in the form that sha256sum writes; {} where it has none."""
    file = folder / SUMS
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def known_sums(dataset: str) -> dict[str, str]:
    """{file: sha256} of the copies that we know."""
    text = importlib.resources.files("cse.sources").joinpath(SUMS).read_text(encoding="utf-8")
    pairs = (line.split("  ", 1) for line in text.splitlines() if not line.startswith("#"))
    return {name.removeprefix(f"{dataset}/"): digest for digest, name in pairs if name.startswith(f"{dataset}/")}


def by_checksums(
    dataset: str, part: str, digests: Mapping[str, str], expected: Mapping[str, str], rows: int | None
) -> CheckedPart:
    """A part of which the number of rows is right, judged by its files' content.

    digests, expected: {file: sha256}, found and published.
    """
    other = [name for name, digest in digests.items() if expected.get(name, digest) != digest]
    if other:
        note = f"{', '.join(other)}: as many rows as published, and other content than the known copy"
        return CheckedPart(dataset, part, "altered", rows, note)
    note = "" if set(digests) <= set(expected) else "by its rows; no checksum of it is known"
    return CheckedPart(dataset, part, "whole", rows, note)


def write_sums(folder: Path, files: Iterable[Path]) -> None:
    """Leave SHA256SUMS of files of a folder, beside those that it has."""
    lines = sums(folder) | {file.relative_to(folder).as_posix(): sha256(file) for file in files}
    write_text(folder / SUMS, "".join(f"{digest}  {name}\n" for name, digest in sorted(lines.items())))
