"""The table of outcomes on a terminal."""

import sys

import pytest

from cse.lab.folder.status import State
from cse.lab.sweep.outcomes import Outcome
from cse.lab.sweep.show import print_table
from cse.score import Score


@pytest.mark.parametrize(("columns", "lines"), [(80, 2), (120, 1)])
def test_on_a_narrow_terminal_the_name_of_a_job_has_its_own_line(monkeypatch, capsys, columns, lines):
    job = "objective_simcse-objective.temperature_0.05-seed_1-1a2b3c4d"
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_table("multirun", [Outcome(job, State.DONE, Score("dev/stsb/spearman", 79.6), seconds=123)])
    *table, total = capsys.readouterr().out.splitlines()
    assert len(table) == 2 * lines
    assert max(map(len, table)) <= columns
    assert table[-lines].startswith(job)
    assert table[-1].split()[-4:] == ["dev/stsb/spearman", "79.60", "123", "s"]
    assert total == "multirun: 1 of 1 done"
