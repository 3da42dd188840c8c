"""A run's own figures: those that have data are drawn, the others are left out."""

import json

import numpy as np
import pytest

from cse.lab.sharing import plots

EVENTS = [
    {"event": "metrics", "step": 0, "dev/stsb/spearman": 70.0},
    {"event": "metrics", "step": 1, "train/loss": 2.0},
    {"event": "image", "step": 1, "name": "scores"},
    {"event": "metrics", "step": 2, "train/loss": 1.0, "dev/stsb/spearman": 71.0},
]


def test_every_figure_that_has_data_is_drawn(tmp_path):
    events = tmp_path / "metrics.jsonl"
    events.write_text("")
    assert plots.draw_plots(tmp_path, select=None, best_step=0, seed=3) == {}
    events.write_text("".join(json.dumps(event) + "\n" for event in EVENTS))
    (tmp_path / "plots").mkdir()
    for when in ("before", "after"):
        (tmp_path / "plots" / f"cosines_{when}.json").write_text('{"it/first": {"dev": [[0.1, 0.2, 0.9], [0, 1, 5]]}}')
    files = plots.draw_plots(tmp_path, select="dev/stsb/spearman", best_step=2, seed=3)
    assert list(files) == ["scores", "cosines_it_first_dev"]
    assert all(file.read_bytes()[:4] == b"\x89PNG" for file in files.values())
    scores = files["scores"].with_suffix(".svg").read_text()
    assert "<svg" in scores
    assert f"{tmp_path.name}, seed 3" in scores
    (figure,) = plots.cosines_by_gold(tmp_path).values()
    assert figure.get_suptitle().startswith("it/first dev")
    bars = [axes.patches[0].get_data() for axes in figure.axes]
    areas = [(heights * np.diff(places)).sum() for heights, places, _ in bars]  # of a density 1, of few pairs too
    assert areas == pytest.approx([1, 1, 1, 1, 0, 0, 0, 0, 1, 1])  # two columns, five rows from 0 to 5


def test_a_folder_may_have_any_name(tmp_path, recwarn):
    """Two $ begin no formula, which this name would not close, and a sign that the font lacks is no warning."""
    folder = tmp_path / "a$^{$日本"
    folder.mkdir()
    (folder / "metrics.jsonl").write_text("".join(json.dumps(event) + "\n" for event in EVENTS))
    files = plots.draw_plots(folder, select="dev/stsb/spearman", best_step=2, seed=3)
    assert "a$^{$日本, seed 3" in files["scores"].with_suffix(".svg").read_text()
    assert [str(warning.message) for warning in recwarn if "Glyph" in str(warning.message)] == []
