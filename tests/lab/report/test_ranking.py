"""Which score leads where a dev score selects."""

import pytest

from cse.lab.report.any_runs.curves import curves_of
from cse.lab.report.any_runs.differences import compare_settings
from cse.lab.report.any_runs.differences_table import differences_frame, differences_section
from cse.lab.report.any_runs.paper_figures import draw_paper_figures
from cse.lab.report.any_runs.runs_report import best_of
from cse.lab.report.any_runs.runs_table import runs_frame
from cse.lab.report.any_runs.settings_table import settings_section


def test_a_test_score_leads_and_the_dev_score_selects(leave, compared):
    """Its average, else the score that selects, on test data; the reference of the differences is the best by dev."""
    for lr, dev, test in ((1, 80.0, 60.0), (2, 70.0, 65.0)):
        for seed in (1, 2, 3):
            scores = {
                "dev/x/a": dev + seed,
                "test/y/a": 1.0 * seed,
                "test/x/a": test + seed,
                "test/z/average": test + seed,
            }
            leave(f"{lr}-{seed}", {"trainer.lr": lr, "seed": seed, "trainer.select": "dev/x/a"}, scores)
    found = compared()
    assert (found.scores.best_by, found.scores.leading) == ("dev/x/a", "test/z/average")
    assert found.best.label == "lr=1"
    best = best_of(compare_settings(found, None, 0.95), is_part=False)
    assert (best.leading, best.score) == ("test/z/average", "62.00 ± 1.00")
    frame = differences_frame(compare_settings(found, None, 0.95))
    assert frame["difference"].tolist() == [5.0]
    assert compared(metrics=["*/a"]).scores.leading == "test/x/a"
    assert compared(metrics=["dev/*"]).scores.leading == "dev/x/a"
    assert list(runs_frame([found]))[5:7] == ["test/z/average", "dev/x/a"]


@pytest.mark.parametrize(("metrics", "is_said"), [(["*"], True), (["test/*"], False)])
def test_a_caption_with_the_dev_scores_that_selected_the_checkpoints_says_so(leave, compared, metrics, is_said):
    for lr in (1, 2):
        for seed in (1, 2, 3):
            scores = {"dev/x/a": 70.0 + lr + seed, "test/x/a": 60.0 + seed}
            leave(f"{lr}-{seed}", {"trainer.lr": lr, "seed": seed, "trainer.select": "dev/x/a"}, scores)
    found, said = compared(metrics=metrics), "his score also selected the checkpoint of each run"
    assert (f". T{said}" in settings_section(found, "a", 0.95).caption) is is_said
    on_dev = compared(metrics=["dev/*"])
    assert f"; t{said}" in differences_section(compare_settings(on_dev, None, 0.95), "a").caption
    (caption,) = (one.caption for one in draw_paper_figures(on_dev, curves_of(on_dev)) if one.name == "scores")
    assert f". T{said}" in caption


def test_a_caption_names_two_scores_that_selected_checkpoints_with_a_capital_at_its_beginning(leave, compared):
    for lr, selecting in ((1, "dev/x/a"), (2, "dev/y/a"), (3, "dev/y/a")):
        scores = {"dev/x/a": 70.0 + lr, "dev/y/a": 71.0 + lr}
        leave(f"{lr}", {"trainer.lr": lr, "seed": 1, "trainer.select": selecting}, scores)
    caption = settings_section(compared(), "a", 0.95).caption
    assert ". A on y dev and a on x dev also selected the checkpoint of each run" in caption


def test_a_test_score_that_a_run_lacks_does_not_lead(leave, compared):
    for lr, test in ((1, 60.0), (2, None)):
        leave(f"{lr}", {"trainer.lr": lr}, {"dev/x": 70.0, "test/x": test})
    assert compared().scores.leading == "dev/x"
