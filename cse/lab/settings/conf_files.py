"""Read a YAML file of conf/, of sweeps/ or of the user as text: its comments, its defaults list, its lines.

A YAML reader drops comments, so a file's lines are read as text. PyYAML finds the lines of the defaults list.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cse.errors import UserError

if TYPE_CHECKING:  # --help without a choice needs no YAML
    import yaml

KEY = re.compile(r"( *)(\w+):(?: +([^#\s].*?))?(?: +# ?(.*))?")
"""A line of YAML: indentation, key, value, comment."""

GOES_ON = re.compile(r"^(( *)\w+:.* # ?.*)\n\2 +# ?(.*)$", re.MULTILINE)
"""A key with a comment on its line that continues on the line below."""

PACKAGE = re.compile(r"^\s*#\s*@package[:\s]+(\S+)\s*$", re.MULTILINE)
"""The comment by which Hydra knows where in a config a file's settings lie."""


def text_of(file: Path) -> str:
    """A file's text, each line ended by \\n. Raises UserError, with the line, for another encoding than UTF-8."""
    content = file.read_bytes()
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UserError(f"{file}:{line} is not UTF-8: save the file as UTF-8") from None


def declared_package(file: Path) -> str | None:
    """The place of the settings in a config, from the file's `# @package` comment. _global_ is the top.

    None without a comment.
    """
    comment = PACKAGE.search(text_of(file))
    return comment[1] if comment else None


class DefaultsList(NamedTuple):
    """The defaults list of a file. lines: the numbers of its lines, from 0."""

    entries: "Sequence[yaml.Node]" = ()
    lines: range = range(0)


@cache
def defaults_in(text: str) -> DefaultsList:
    """The defaults list of a file's text; empty without such a list, and for text that is not YAML."""
    import yaml

    try:
        pair = pair_of(yaml.compose(text, yaml.CSafeLoader) if "defaults" in text else None, "defaults")
    except yaml.YAMLError:
        return DefaultsList()
    if pair is None:
        return DefaultsList()
    key, listed = pair
    entries = listed.value if isinstance(listed, yaml.SequenceNode) else ()
    return DefaultsList(entries, range(key.start_mark.line, last_line(listed) + 1))


def last_line(node: "yaml.Node") -> int:
    """The last line of a node's text.

    PyYAML's mark for the end of a block is too late: it is below the comments that follow the block.
    """
    if isinstance(node.value, str) or node.flow_style or not node.value:
        return int(node.end_mark.line)
    last = node.value[-1]
    return last_line(last[1] if isinstance(last, tuple) else last)


def pair_of(node: "yaml.Node | None", key: str) -> "tuple[yaml.Node, yaml.Node] | None":
    """A key of a mapping and its value. None for a node that is not a mapping, and for a missing key."""
    if node is None or node.id != "mapping":
        return None
    return next((pair for pair in node.value if pair[0].value == key), None)


class Default(NamedTuple):
    """The line of a group in a defaults list: its default choices and its comment."""

    choices: list[str]
    comment: str


def groups_listed(file: Path) -> dict[str, Default]:
    """Each group in the defaults list of conf/train.yaml or conf/evaluate.yaml. A null is listed as "null"."""
    text = text_of(file)
    lines = text.splitlines()
    listed: dict[str, Default] = {}
    for entry in defaults_in(text).entries:
        if entry.id == "mapping":
            group, chosen = entry.value[0]
            names = [name.value for name in chosen.value] if chosen.id == "sequence" else [chosen.value]
            comment = lines[chosen.end_mark.line][chosen.end_mark.column :]
            if group.value.isidentifier():  # and not `optional recipe`
                listed[group.value] = Default(names, comment.strip(" #"))
    return listed


def names_listed(file: Path) -> list[str]:
    """The choices that a choice's defaults list includes from its own group. `_self_` stands for its own settings."""
    return [entry.value for entry in defaults_in(text_of(file)).entries if entry.id == "scalar"]


def first_sentence(file: Path) -> str:
    """The first sentence of a file's first comment, without the period, `# @package`, and the command of the choice."""
    words: list[str] = []
    for line in text_of(file).splitlines():
        if not line.startswith("#"):
            break
        if not re.match(r"# (@package|(\w+=\S+ )?cse-train )", line):
            words.append(line.lstrip("# "))
    return re.split(r"(?<!e\.g)\. (?=[A-Z\[])", " ".join(words))[0].removesuffix(".")


def body(file: Path, comment: bool = False) -> list[str]:
    """A file's lines without its defaults list. comment: keep the first comment."""
    text = text_of(file)
    lines = text.splitlines()
    opening = list(takewhile(lambda line: line.startswith("#"), lines))
    dropped = {*defaults_in(text).lines, *range(0 if comment else len(opening))}
    return [line for number, line in enumerate(lines) if number not in dropped]


def keys_of_text(text: str) -> Iterator[tuple[str, str, str]]:
    """(dotted key, value, comment) of each line of YAML that has a key. The value is "" if lines below the key hold it.

    A comment may be on the line of its key, continue below it, or be above it.
    """
    while (joined := GOES_ON.sub(r"\1 \3", text)) != text:
        text = joined
    above: list[str] = []
    open_keys: list[tuple[int, str]] = []
    for line in text.splitlines():
        match = KEY.fullmatch(line)
        if match is None:
            above = [*above, line.strip("# ")] if line.lstrip().startswith("#") else []
            continue
        indent, name, value = len(match[1]), match[2], match[3] or ""
        open_keys = [*(outer for outer in open_keys if outer[0] < indent), (indent, name)]
        goes_on = value.startswith(("[", "{")) and not value.endswith(("]", "}"))
        yield ".".join(key for _, key in open_keys), f"{value} ..." if goes_on else value, match[4] or " ".join(above)
        above = []


def line_of(file: Path, keys: Sequence[str]) -> str:
    """FILE:LINE of a key, or of the nearest key above it in the file; else FILE. keys: its path, ["trainer", "lr"]."""
    import yaml

    node: yaml.Node | None = yaml.compose(text_of(file))
    place = f"{file}"
    for key in keys:
        pair = pair_of(node, key)
        if pair is None:
            break
        place, node = f"{file}:{pair[0].start_mark.line + 1}", pair[1]
    return place
