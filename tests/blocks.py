"""The blocks of code in a document, and the commands in the blocks and in the running text."""

import re
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^```(?:\{code-block\} )?(\w+)\n((?::\w+:[^\n]*\n)*)\n?(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A block of code.

    language: sh, python or yaml. caption: the name of the file that the block shows, or "". line: the number of the
    block's first line in the document.
    """

    language: str
    caption: str
    text: str
    line: int


def blocks(document: Path) -> list[Block]:
    """Return every fenced block with a language, in order."""
    text = document.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        caption = re.search(r"^:caption: (.*)$", match[2], re.MULTILINE)
        line = text.count("\n", 0, match.start(3)) + 1
        found.append(Block(match[1], caption[1] if caption else "", match[3], line))
    return found


def commands(block: Block) -> list[tuple[int, str]]:
    """Return (line, command) of each command in a block of shell, without comments. Continued lines are joined."""
    joined = re.sub(r"\\\n\s*", lambda gap: " " + "\0" * gap[0].count("\n"), block.text)
    found = []
    line = block.line
    for text in joined.splitlines():
        command = re.sub(r"(^|\s+)#.*$", "", text.replace("\0", "")).strip()
        if command:
            found.append((line, command))
        line += 1 + text.count("\0")
    return found


INLINE = re.compile(r"`(?:eval \"\$\((cse-[^`]+)\)\"|((?:cse-\w+|make|pip install|wandb|hf|git|python -m) [^`]+))`")


def inline_commands(document: Path) -> list[tuple[int, str]]:
    """Return (line, command) of every command in backquotes in the running text of a document."""
    text = FENCE.sub(lambda block: "\n" * block[0].count("\n"), document.read_text(encoding="utf-8"))
    return [
        (text.count("\n", 0, match.start()) + 1, " ".join((match[1] or match[2]).split()))
        for match in INLINE.finditer(text)
    ]
