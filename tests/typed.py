"""A command of cse, run in this process as if it were typed."""

import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

PROGRAMS = tomllib.loads((Path(__file__).resolve().parents[1] / "pyproject.toml").read_text())["project"]["scripts"]


def exit_code(program: str, *words: object) -> int:
    """Run the command. Returns its exit code."""
    module, _, main = PROGRAMS[program].partition(":")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [program, *map(str, words)])
        try:
            getattr(import_module(module), main)()
        except SystemExit as ended:
            return int(ended.code or 0)
    return 0
