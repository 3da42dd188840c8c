"""Functions that run a command of cse in this process, and that return the jobs of a command of several jobs."""

import sys
import tomllib
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import pytest

from cse.lab.settings.command import Command, normalized, read_command
from cse.lab.settings.groups import KINDS
from cse.lab.sweep.engine import make_plan
from cse.lab.sweep.job import PlannedJob
from cse.lab.sweep.sweep_command import read_sweep_command

PROGRAMS = tomllib.loads((Path(__file__).resolve().parents[1] / "pyproject.toml").read_text())["project"]["scripts"]


def exit_code(program: str, *words: object) -> int:
    """Run the command, and return its exit code."""
    module, _, main = PROGRAMS[program].partition(":")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [program, *map(str, words)])
        try:
            getattr(import_module(module), main)()
        except SystemExit as ended:
            return int(ended.code or 0)
    return 0


def command_typed(words: Sequence[str], program: str = "cse-train") -> Command:
    """Return the command as a Command."""
    return read_command(normalized(words), KINDS[program])


def jobs_typed(words: Sequence[str], program: str = "cse-train") -> list[PlannedJob]:
    """Return the jobs of the command; for searches, one example job of each."""
    return make_plan(read_sweep_command(command_typed(words, program))).examples


def jobs_of(sweep: str, *words: str) -> list[PlannedJob]:
    """Return the jobs of `cse-train sweep=SWEEP WORDS`; for searches, one example job of each."""
    return jobs_typed([f"sweep={sweep}", *words])
