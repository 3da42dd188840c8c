"""Runs that belong to no paper's table: a row a setting, and what retrieval found side by side."""

import json

from cse.record.runs import read_runs
from cse.report.table import survey


def test_a_survey_of_runs_of_no_table(leave, tmp_path):
    for seed in (1, 2):
        for k in (32, 64):
            leave(
                f"{k}-{seed}",
                {"seed": seed, "objective.k": k},
                {"test/sts/average": k + seed, "dev/stsb/spearman": 1.0},
            )
    leave("lost", {"seed": 3, "objective.k": 32}, status="failed")
    runs = read_runs([tmp_path / "runs"])
    test, dev = survey(runs, [], "seed", [], 0.95)
    assert (test.printed.split, dev.printed.split) == ("test", "dev")
    assert {row: list(cells["sts/average"].values.values()) for row, cells in test.cells.items()} == {
        "k=32": [33.0, 34.0],
        "k=64": [65.0, 66.0],
    }
    assert test.absent == ["lost: failed"]
    assert [table.printed.split for table in survey(runs, ["dev/*"], "seed", [], 0.95)] == ["dev"]


def test_what_models_found_stands_side_by_side(leave, tmp_path):
    """NonLing-CSE's Table C.1 of any runs, also where they were asked other things."""
    asked = {"a": {"dog": [[0.9, "a dog"], [0.8, "dogs"]], "cat": [[0.7, "a cat"]]}, "b": {"dog": [[0.6, "a hog"]]}}
    for name, top in asked.items():
        file = leave(name, {"checkpoint": name}, {"test/retrieval/recall@1": 1.0}) / "results.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {"data": {"retrieval": {"top": top}}}))
    leave("c", {"checkpoint": "c"}, {"test/retrieval/recall@1": 1.0})
    (table,) = survey(read_runs([tmp_path / "runs"]), [], "seed", [], 0.95)
    assert table.notes == [
        "dog, nearest #1: checkpoint=a: a dog | checkpoint=b: a hog",
        "dog, nearest #2: checkpoint=a: dogs",
        "cat, nearest #1: checkpoint=a: a cat",
    ]
