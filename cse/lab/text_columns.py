"""Plain text in columns: rows as lines (`to_columns`), and a wrapped text beside its head (`in_column`)."""

import textwrap
from collections.abc import Collection, Sequence


def to_columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """The rows as lines, each column as wide as its widest cell. right: the numbers of the right-aligned columns."""
    columns = []
    for number, cells in enumerate(zip(*rows, strict=True)):
        width = max(map(len, cells))
        columns.append([cell.rjust(width) if number in right else cell.ljust(width) for cell in cells])
    return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))


def in_column(head: str, text: str, width: int) -> str:
    """A text beside its head, wrapped at the width, in a column that begins where the head ends."""
    return textwrap.fill(text, width, initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False)
