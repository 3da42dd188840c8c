"""Read a YAML file of conf/, of sweeps/ or of the user as text: its comments, its defaults list, its lines.

A YAML reader drops comments, so this module reads a file's lines as text. PyYAML finds the lines of the defaults list.
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
"""The pattern of a line of YAML: indentation, key, value, comment."""

GOES_ON = re.compile(r"^(( *)\w+: +[^#\s].* # ?.*)\n\2 +# ?(.*)$", re.MULTILINE)
"""The pattern of a line with a key, its value and a comment, and the next line, on which the comment continues.

After a key without a value, the next line belongs to the first key inside."""

PACKAGE = re.compile(r"^\s*#\s*@package[:\s]+(\S+)\s*$", re.MULTILINE)
"""The pattern of the comment that tells Hydra the place of a file's settings in a config."""


def text_of(file: Path) -> str:
    """Return a file's text, each line ended by \\n. Raises UserError, with the line, if the file is not UTF-8."""
    content = file.read_bytes()
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UserError(f"{file}:{line} is not UTF-8: save the file as UTF-8") from None


def declared_package(file: Path) -> str | None:
    """Return the package in a file's `# @package` comment: the config's key that holds the settings, or _global_.

    Return None if the file has no such comment.
    """
    comment = PACKAGE.search(text_of(file))
    return comment[1] if comment else None


class DefaultsList(NamedTuple):
    """The defaults list of a file. lines: the indices of the list's lines in the file, from 0."""

    entries: "Sequence[yaml.Node]" = ()
    lines: range = range(0)


@cache
def defaults_in(text: str) -> DefaultsList:
    """Return the defaults list in a file's text; an empty list if the text has none or is not YAML."""
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
    """Return the index of the last line of a node's text, from 0.

    PyYAML's mark for the end of a block is too late, because it is below the comments that follow the block.
    """
    if isinstance(node.value, str) or node.flow_style or not node.value:
        return int(node.end_mark.line)
    last = node.value[-1]
    return last_line(last[1] if isinstance(last, tuple) else last)


def pair_of(node: "yaml.Node | None", key: str) -> "tuple[yaml.Node, yaml.Node] | None":
    """Return (the node of `key`, the node of its value); None if `node` is not a mapping or lacks the key."""
    if node is None or node.id != "mapping":
        return None
    return next((pair for pair in node.value if pair[0].value == key), None)


class Default(NamedTuple):
    """A group's entry in a defaults list: the default choices of the group, and the comment on the entry's line."""

    choices: list[str]
    comment: str


def groups_listed(file: Path) -> dict[str, Default]:
    """Return {group: Default} from the defaults list of conf/train.yaml or evaluate.yaml. The choice null is "null"."""
    text = text_of(file)
    lines = text.splitlines()
    listed: dict[str, Default] = {}
    for entry in defaults_in(text).entries:
        if entry.id == "mapping":
            group, chosen = entry.value[0]
            names = [name.value for name in chosen.value] if chosen.id == "sequence" else [chosen.value]
            comment = lines[chosen.end_mark.line][chosen.end_mark.column :]
            if group.value.isidentifier():  # `optional recipe` is no group
                listed[group.value] = Default(names, comment.strip(" #"))
    return listed


def names_listed(file: Path) -> list[str]:
    """Return the names in the defaults list of a choice: choices of its group, and `_self_` for the file itself."""
    return [entry.value for entry in defaults_in(text_of(file)).entries if entry.id == "scalar"]


def first_sentence(file: Path) -> str:
    """Return the first sentence of a file's first comment, without its period.

    Lines with `# @package` or a command are left out.
    """
    words: list[str] = []
    for line in text_of(file).splitlines():
        if not line.startswith("#"):
            break
        if not re.match(r"# (@package|(\w+=\S+ )?cse-train )", line):
            words.append(line.lstrip("# "))
    return re.split(r"(?<!e\.g)\. (?=[A-Z\[])", " ".join(words))[0].removesuffix(".")


def body(file: Path, comment: bool = False) -> list[str]:
    """Return a file's lines without its defaults list. comment: whether to keep the first comment."""
    text = text_of(file)
    lines = text.splitlines()
    opening = list(takewhile(lambda line: line.startswith("#"), lines))
    dropped = {*defaults_in(text).lines, *range(0 if comment else len(opening))}
    return [line for number, line in enumerate(lines) if number not in dropped]


def keys_of_text(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield (dotted key, value, comment) of each line of YAML that has a key; the value is "" if it is on later lines.

    The comment may be on the key's line and continue on the lines below, or be on the lines above the key.
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
    """Return FILE:LINE of a key or, if the file lacks it, of its parent; else FILE. keys: such as ["trainer", "lr"]."""
    import yaml

    node: yaml.Node | None = yaml.compose(text_of(file))
    place = f"{file}"
    for key in keys:
        pair = pair_of(node, key)
        if pair is None:
            break
        place, node = f"{file}:{pair[0].start_mark.line + 1}", pair[1]
    return place
