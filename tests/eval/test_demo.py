"""The human judgements in gensim's wheel: how they are read, and MiniLM's measured scores."""

from pathlib import Path

import numpy as np
import pytest

from cse.errors import MissingResource, UserError
from cse.eval.demo import Demo
from cse.lab.settings.compose import composed
from cse.score import values
from cse.sources import fetch


@pytest.fixture
def evaluator() -> Demo:
    pytest.importorskip("gensim", reason="needs gensim's wheel (pip install .[demo])")
    found = Demo()
    found.prepare()
    return found


def test_the_sets_are_complete_and_each_of_lees_pairs_counts_once(evaluator):
    lee, _, wordsim = (subsets[0] for subsets in evaluator.tasks["dev"].values())
    left, right = lee.units_UN
    assert (left < right).all()
    first, second = lee.sentences
    assert len({*zip(left, first, strict=True), *zip(right, second, strict=True)}) == 50
    assert 0 <= lee.labels_N.min() <= lee.labels_N.max() <= 1
    row = wordsim.sentences[0].index("tiger")
    assert (wordsim.sentences[1][row], wordsim.labels_N[row]) == ("cat", 7.35)
    found = evaluator(lambda texts: np.eye(2)[[len(text) % 2 for text in texts]], "dev")
    assert [one.rows for one in found] == [50 * 49 // 2, 999, 353, 50 * 49 // 2 + 999 + 353]
    assert (found[0].items.gold_N == lee.labels_N).all()
    assert all(len(file["sha256"]) == 64 for file in evaluator.source()["files"].values())


def test_missing_and_truncated_data_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(fetch, "find_spec", lambda name: None)
    with pytest.raises(MissingResource, match="pip install 'gensim"):
        Demo().prepare()
    monkeypatch.setattr(fetch, "demo", lambda asked: tmp_path)
    with pytest.raises(MissingResource, match=r"lee\.cor"):
        Demo().prepare()
    (tmp_path / "lee.cor").write_text("one\ntwo\n")
    with pytest.raises(UserError, match=r"lee\.cor .*50"):
        Demo().prepare()


def test_the_demo_and_readme_say_what_the_untouched_minilm_scores(evaluator, minilm_encode):
    scores = values(evaluator(minilm_encode("mean"), "dev"))
    average = f"{scores['average']:.2f} on average"
    assert any(average in note.text for note in composed("train", ["experiment=demo"]).note)
    assert average in (Path(__file__).resolve().parents[2] / "README.md").read_text()
