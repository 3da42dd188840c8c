"""A command as one types it in a shell: its words, with the quotes that a shell needs around some of them."""

import re
import shlex
from pathlib import Path

from cse.lab.settings.grammar import spell_word


def shell_line(*texts: str) -> str:
    """A command for a shell: of its words, those that need quotes are in quotes, double ones around single ones."""
    return " ".join(map(shell_word, texts))


def shell_word(text: str) -> str:
    """One word of a command for a shell."""
    return f'"{text}"' if "'" in text and not re.search(r'["$`\\!\n]', text) else shlex.quote(text)


def line_to_resume(folder: Path, *more: str) -> str:
    """The command that resumes the run in this folder."""
    name = f"./{folder}" if str(folder) in ("null", "auto") or str(folder).startswith("~") else str(folder)
    return shell_line("cse-train", spell_word("resume", name), *more)
