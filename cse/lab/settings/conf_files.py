"""A YAML file of conf/, of sweeps/ or of the user's own as text: its comments, its defaults list, its lines.

The files are read as text, since a YAML reader drops comments and the places of keys. Nothing slow is imported.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from cse.errors import UserError

KEY = re.compile(r"( *)(\w+):(?: +([^#\s].*?))?(?: +# ?(.*))?")
"""A line of YAML: indentation, key, value, comment."""

GOES_ON = re.compile(r"^(( *)\w+:.* # ?.*)\n\2 +# ?(.*)$", re.MULTILINE)
"""A key with a comment beside it that continues on the line below."""

PACKAGE = re.compile(r"^\s*#\s*@package[:\s]+(\S+)\s*$", re.MULTILINE)
"""The comment by which Hydra knows where in a config a file's settings lie."""


def text_of(file: Path) -> str:
    """A file's text. Raises UserError, with the line, for one in another encoding than UTF-8."""
    content = file.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UserError(f"{file}:{line} is not UTF-8: save the file as UTF-8") from None


def package_said(file: Path) -> str | None:
    """Where in a config the settings lie, as the file's comment says: _global_ at the top; None without a comment."""
    said = PACKAGE.search(text_of(file))
    return said[1] if said else None


def groups_listed(file: Path) -> dict[str, tuple[str, str]]:
    """{group: (choice, comment)} of the defaults list of conf/train.yaml or conf/evaluate.yaml."""
    found = re.findall(r"^  - (\w+): ([^#\n]*?) *# (.*)$", text_of(file), re.MULTILINE)
    return {group: (default, comment) for group, default, comment in found}


def names_listed(file: Path) -> list[str]:
    """The choices of its own group that a choice's defaults list names."""
    return re.findall(r"^  - (\w+)$", text_of(file), re.MULTILINE)


def opening_sentence(file: Path) -> str:
    """The first sentence of the comment that opens a file, without its period, `# @package`, and a choice's command."""
    words: list[str] = []
    for line in text_of(file).splitlines():
        if not line.startswith("#"):
            break
        if not re.match(r"# (@package|(\w+=\S+ )?cse-train )", line):
            words.append(line.lstrip("# "))
    return re.split(r"(?<!e\.g)\. (?=[A-Z\[])", " ".join(words))[0].removesuffix(".")


def body(file: Path, comment: bool = False) -> list[str]:
    """A file's lines without its defaults list. comment: keep the comment that it opens with."""
    text = text_of(file)
    text = text if comment else re.sub(r"\A(#.*\n)+", "", text)
    return re.sub(r"^defaults:\n(?:  .*\n)+", "", text, flags=re.MULTILINE).splitlines()


def keys_of_text(text: str) -> Iterator[tuple[str, str, str]]:
    """(dotted key, value, comment) of each line of YAML that has a key. A value is "" for a mapping below it.

    A comment may be beside its key, continue below it, or be above it.
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
        open_keys = [*(one for one in open_keys if one[0] < indent), (indent, name)]
        goes_on = value.startswith(("[", "{")) and not value.endswith(("]", "}"))
        yield ".".join(key for _, key in open_keys), f"{value} ..." if goes_on else value, match[4] or " ".join(above)
        above = []


def line_of(file: Path, keys: Sequence[str]) -> str:
    """FILE:LINE of a key, by the keys above it and itself; FILE alone if another file sets it."""
    import yaml

    node: yaml.Node | None = yaml.compose(text_of(file))
    line = None
    for key in keys:
        pairs = node.value if isinstance(node, yaml.MappingNode) else ()
        found = next(((name, value) for name, value in pairs if name.value == key), None)
        if found is None:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    return f"{file}:{line}" if line else f"{file}"
