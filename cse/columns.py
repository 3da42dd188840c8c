"""Lines in columns, as a person reads them on a terminal and in a log."""

from collections.abc import Collection, Sequence


def in_columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """The rows as lines, each column as wide as its widest cell. right: the numbers of the columns that end alike."""
    columns = []
    for number, cells in enumerate(zip(*rows, strict=True)):
        width = max(map(len, cells))
        columns.append([cell.rjust(width) if number in right else cell.ljust(width) for cell in cells])
    return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))
