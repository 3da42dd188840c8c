"""From the console script to the equation: few calls of ours, all downward."""

import sys
import traceback
from pathlib import Path

import cse
from cse.cli import train
from cse.objective import simcse

ROOMS = ("cli", "api.py", "run", "training", "objective")


def test_the_equation_is_at_most_nine_calls_below_the_console_script(small_run, tmp_path, monkeypatch):
    stacks = []
    equation = simcse.info_nce

    def traced(*arguments):
        stacks.append(traceback.extract_stack()[:-1])
        return equation(*arguments)

    monkeypatch.setattr(simcse, "info_nce", traced)
    monkeypatch.setattr(sys, "argv", ["cse-train", *small_run, "trainer.max_steps=1", f"hydra.run.dir={tmp_path}/run"])
    train.main()
    home = Path(cse.__file__).parent
    calls = [Path(frame.filename).relative_to(home) for frame in stacks[0] if Path(frame.filename).is_relative_to(home)]
    assert len(calls) + 1 <= 9  # and the equation itself
    rooms = [ROOMS.index(call.parts[0]) for call in calls]
    assert rooms == sorted(rooms)  # the way never climbs back up
