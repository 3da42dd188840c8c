"""A report is of the runs: neither the names of their folders nor copies of them change a number."""

import shutil

import pandas as pd
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from run_folders import leave_run

from cse.lab.folder.runs import read_runs
from cse.lab.report.any_runs.comparison import compare_runs
from cse.lab.report.any_runs.differences import compare_settings
from cse.lab.report.any_runs.differences_table import differences_frame
from cse.lab.report.any_runs.settings_table import settings_frame

SCORES = st.floats(50.0, 99.0).map(lambda score: round(score, 2)) | st.none()
RATES, SEEDS = (1e-5, 3e-5, 1e-4), (1, 2, 3)


def reported(folder):
    """(settings, differences, the best) of the runs in a folder, without what names the folders."""
    found = compare_runs(read_runs([folder]), [folder], [], "seed")
    means = settings_frame(found).drop(columns=["folder", "remarks", "runs", "done"]).reset_index(drop=True)
    differences = compare_settings(found, None, 0.95)
    differ = differences_frame(differences) if differences.lines else pd.DataFrame()
    return means, differ.reset_index(drop=True), None if found.best is None else found.best.label


@settings(max_examples=5, phases=[Phase.generate])
@given(
    scores=st.lists(SCORES, min_size=9, max_size=9),
    names=st.permutations(list("abcdefghi")),
    copied=st.sets(st.integers(0, 8)),
)
def test_names_of_folders_and_copies_of_runs_change_nothing(tmp_path_factory, scores, names, copied):
    first, other = tmp_path_factory.mktemp("first"), tmp_path_factory.mktemp("other")
    for place, (score, name) in enumerate(zip(scores, names, strict=True)):
        config = {"trainer.lr": RATES[place // 3], "seed": SEEDS[place % 3], "trainer.select": "dev/x"}
        metrics = {"dev/x": score, "test/y": 70.0 + place}
        leave_run(first / f"{place}", config, metrics)
        leave_run(other / name, config, metrics)
        if place in copied:
            shutil.copytree(other / name, other / f"{name} again")
    *frames, best = reported(first)
    *frames_again, best_again = reported(other)
    assert best == best_again
    for one, again in zip(frames, frames_again, strict=True):
        pd.testing.assert_frame_equal(one, again)
