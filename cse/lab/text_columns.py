"""Plain text in columns, and as wide as the terminal.

To read: `to_columns` writes rows as lines. `in_column` wraps a text in a column after its head. The other functions
wrap lines of help, a command, a list and YAML at the terminal's width.
"""

import re
import shutil
import textwrap
from collections.abc import Collection, Sequence
from itertools import groupby

IN_COLUMNS = re.compile(r"( *\S.*?  +)(\S.*)")
"""A line of two columns: the left column with the blanks after it, and the right column."""
COMMAND_ALONE = re.compile(r" +cse-\w+( \S+)+")
"""A line with a command alone."""
BELOW = " " * 6
"""The indentation of text that does not fit into its column."""
BETWEEN = "  "  # two columns


def to_columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """The rows as lines, each column as wide as its widest cell. right: the numbers of the right-aligned columns."""
    return "\n".join(BETWEEN.join(cells).rstrip() for cells in aligned(rows, right))


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[tuple[str, ...]]:
    """The rows with blanks in each cell, as wide as the widest cell of its column. right: as in `to_columns`."""
    columns = []
    for number, cells in enumerate(zip(*rows, strict=True)):
        width = max(map(len, cells))
        columns.append([cell.rjust(width) if number in right else cell.ljust(width) for cell in cells])
    return list(zip(*columns, strict=True))


def in_column(head: str, text: str, width: int) -> str:
    """A head and a text. The text is wrapped at the width, in a column that begins where the head ends."""
    return textwrap.fill(text, width, initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False)


def terminal_width() -> int:
    """The terminal's width, but at least 40 and at most 120 columns; 120 for a pipe."""
    return max(40, min(120, shutil.get_terminal_size((120, 24)).columns))


def at_width(line: str) -> str:
    """A line of help at the terminal's width.

    If the line has two columns, the right column is wrapped. If the left column takes more than half of the width, the
    right column is below it.
    """
    width = terminal_width()
    indent = indentation(line)
    if len(indent) > width // 2:
        return in_column(BELOW, line.strip(), width)
    if len(line) <= width:
        return line
    if COMMAND_ALONE.fullmatch(line):
        return command_at_width(line.split(), indent, width)
    columns = IN_COLUMNS.fullmatch(line)
    if columns is None:
        return in_column(indent, line.strip(), width)
    left, right = columns.groups()
    if len(left) <= width // 2:
        return in_column(left, right, width)
    return f"{at_width(left.rstrip())}\n{in_column(BELOW, right, width)}"


def command_at_width(words: Sequence[str], indent: str, width: int) -> str:
    """A command in several lines of this width. No line ends inside a word, even if the word contains a blank.

    A shell reads them as one command, because each line ends with a backslash.
    """
    command = " ".join(word.replace(" ", "\0") for word in words)
    lines = textwrap.wrap(command, width - 2 - len(BELOW), break_long_words=False, break_on_hyphens=False)
    return f" \\\n{BELOW}".join([indent + lines[0], *lines[1:]]).replace("\0", " ")


def list_at_width(head: str, values: str, width: int) -> str:
    """A head, and values separated by commas. Lines end only after a comma, and no blank is added."""
    return in_column(head, values.replace(",", ", "), width).replace(", ", ",")


def yaml_at_width(lines: Sequence[str]) -> list[str]:
    """Lines of YAML at the terminal's width. If a line is too wide, its comment is wrapped and stands above it."""
    width = terminal_width()
    if all(len(line) <= width for line in lines):
        return list(lines)
    shown: list[str] = []
    for is_comment, block in groupby(lines, key=lambda line: line.lstrip().startswith("#")):
        if is_comment:
            first, *others = block
            text = " ".join([first.strip(" #"), *(line.strip(" #") for line in others)])
            shown.append(wrapped_comment(indentation(first), text, width))
            continue
        for line in block:
            content, _, comment = line.partition("  # ")
            if len(line) > width and comment:
                shown += [wrapped_comment(indentation(line), comment, width), content]
            else:
                shown.append(line)
    return shown


def wrapped_comment(indent: str, text: str, width: int) -> str:
    """A comment of YAML in lines of this width."""
    begin = f"{indent}# "
    return textwrap.fill(text, width, initial_indent=begin, subsequent_indent=begin, break_on_hyphens=False)


def indentation(line: str) -> str:
    """The blanks that a line begins with."""
    return line[: len(line) - len(line.lstrip())]
