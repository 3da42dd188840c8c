"""Plain text in columns, and text that is wrapped at the terminal's width.

`to_columns` writes rows as lines. `in_column` wraps a text in a column after its head. `say` prints a wrapped text.
"""

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Collection, Sequence
from itertools import groupby
from typing import TextIO

IN_COLUMNS = re.compile(r"([a-z]{10} (?=\S)| *\S.*?  +)(\S.*)")
"""The pattern of a line of two columns: the left column with the blanks after it, and the right column.

The left column ends with two blanks, or it is a name of ten letters with one blank.
"""
COMMAND_ALONE = re.compile(r""" +cse-\w+( (?:"[^"]*"|'[^']*'|[^\s"'])+)+""")
"""The pattern of a line that contains only a command. A quoted word may have blanks."""
WORD = re.compile(r"""(?:"[^"]*"|'[^']*'|\S)+""")
"""A word of a command. A blank in quotes does not end the word."""
CODE = re.compile(r" {4}\S")
"""The start of a line of code in a printed or logged text."""
BELOW = " " * 6
"""The indentation of text that does not fit into its column."""
BETWEEN = "  "  # the blanks between two columns


def to_columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """Return rows as lines. Each column is as wide as its widest cell. right: the indices of right-aligned columns."""
    return "\n".join(BETWEEN.join(cells).rstrip() for cells in aligned(rows, right))


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[tuple[str, ...]]:
    """Return the rows, with each cell padded to the width of its column's widest cell. right: as in `to_columns`.

    The width is that on a terminal: a Chinese sign is two letters wide, and a combining accent has no width.
    """
    from rich.cells import cell_len

    columns = []
    for number, cells in enumerate(zip(*rows, strict=True)):
        width = max(map(cell_len, cells))
        blanks = [" " * (width - cell_len(cell)) for cell in cells]
        pairs = zip(blanks, cells, strict=True)
        columns.append([blank + cell if number in right else cell + blank for blank, cell in pairs])
    return list(zip(*columns, strict=True))


def in_column(head: str, text: str, width: int) -> str:
    """Return one string: a head, and then a text that is wrapped at the width, in a column that begins after the head.

    A word stays whole, even if it is wider than the column.
    """
    wrapper = textwrap.TextWrapper(width, head, " " * len(head), break_long_words=False, break_on_hyphens=False)
    return wrapper.fill(text)


def terminal_width() -> int:
    """Return the terminal's width, but at least 40 and at most 120 characters.

    In `cse-train --help | less` only standard error and input are the terminal. Without a terminal, return 80.
    """
    shown = (os.get_terminal_size(number).columns for number in (1, 2, 0) if os.isatty(number))
    return max(40, min(120, shutil.get_terminal_size((next(shown, 0) or 80, 24)).columns))


def say(text: str) -> None:
    """Print a text on standard output, wrapped at the terminal's width."""
    print(as_shown(text, sys.stdout), flush=True)


def as_shown(text: str, stream: TextIO) -> str:
    """Return a text to print or log. On a terminal no line ends inside a word. A file or a pipe gets whole lines.

    A line of code, which has four blanks before it, stays whole, so that a reader can copy it.
    """
    if not stream.isatty():
        return text
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except OSError:  # a stream that only claims to be a terminal
        return text
    width = max(40, columns)
    return "\n".join(line if CODE.match(line) else at_width(line, width) for line in text.split("\n"))


def at_width(line: str, width: int | None = None) -> str:
    """Return a line, wrapped at a width. None: the terminal's width.

    If the line has two columns, only the right column is wrapped. If the left column takes more than half of the width,
    the right column is below the left column.
    """
    width = width or terminal_width()
    indent = indentation(line)
    if len(indent) > width // 2:
        return in_column(BELOW, line.strip(), width)
    if len(line) <= width:
        return line
    if COMMAND_ALONE.fullmatch(line):
        return command_at_width(WORD.findall(line), indent, width)
    columns = IN_COLUMNS.fullmatch(line)
    if columns is None:
        return in_column(indent, line.strip(), width)
    left, right = columns.groups()
    if len(left) <= width // 2:
        return in_column(left, right, width)
    return f"{at_width(left.rstrip(), width)}\n{in_column(BELOW, right, width)}"


def command_at_width(words: Sequence[str], indent: str, width: int) -> str:
    """Return a command in lines of at most this width. No line ends inside a word, even if the word contains a blank.

    A shell reads the lines as one command, because each line but the last ends with a backslash.
    """
    command = " ".join(word.replace(" ", "\0") for word in words)
    lines = textwrap.wrap(command, width - 2 - len(BELOW), break_long_words=False, break_on_hyphens=False)
    return f" \\\n{BELOW}".join([indent + lines[0], *lines[1:]]).replace("\0", " ")


def list_at_width(head: str, values: str, width: int) -> str:
    """Return a head and comma-separated values, wrapped at the width only after commas. No blank follows a comma."""
    return in_column(head, values.replace(",", ", "), width).replace(", ", ",")


def yaml_at_width(lines: Sequence[str]) -> list[str]:
    """Return lines of YAML at the terminal's width. The comment of a line that is too wide is put above the line."""
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
    """Return a YAML comment in lines of at most this width."""
    begin = f"{indent}# "
    return textwrap.fill(text, width, initial_indent=begin, subsequent_indent=begin, break_on_hyphens=False)


def indentation(line: str) -> str:
    """Return the blanks at the start of a line."""
    return line[: len(line) - len(line.lstrip())]
