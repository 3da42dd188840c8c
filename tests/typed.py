"""A command of ours as it is typed, in this process, and how long those of other processes took."""

import os
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

PROGRAMS = tomllib.loads((Path(__file__).resolve().parents[1] / "pyproject.toml").read_text())["project"]["scripts"]


def exit_code(program: str, *words: object) -> int:
    """Runs it to its end. Returns its exit code."""
    module, _, main = PROGRAMS[program].partition(":")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [program, *map(str, words)])
        try:
            getattr(import_module(module), main)()
        except SystemExit as ended:
            return int(ended.code or 0)
    return 0


def seconds_of_children() -> float:
    """Processor time, which counts no waiting for a busy machine, of the processes that this one has waited for."""
    times = os.times()
    return times.children_user + times.children_system
