"""The human judgements out of gensim's wheel: read rightly, and scored as measured for MiniLM."""

import numpy as np
import pytest

from cse.errors import MissingResource, UserError
from cse.eval import demo
from cse.eval.demo import Demo


@pytest.fixture
def evaluator() -> Demo:
    pytest.importorskip("gensim", reason="needs gensim's wheel (pip install .[demo])")
    found = Demo()
    found.prepare()
    return found


def test_the_sets_are_whole_and_each_lee_pair_counts_once(evaluator):
    assert {name: len(gold) for name, (_, _, gold) in evaluator.sets.items()} == {
        "lee": 50 * 49 // 2,
        "simlex": 999,
        "wordsim": 353,
    }
    left, right, gold = evaluator.sets["lee"]
    assert (left < right).all()
    assert gold.min() >= 0
    assert gold.max() <= 1
    left, right, gold = evaluator.sets["wordsim"]
    row = [evaluator.texts_read[i] for i in left].index("tiger")
    assert (evaluator.texts_read[right[row]], gold[row]) == ("cat", 7.35)
    provenance = evaluator.provenance()
    assert provenance["rows"] == {"lee": 1225, "simlex": 999, "wordsim": 353}
    assert all(len(file["sha256"]) == 64 for file in provenance["files"].values())


def test_one_call_of_encode_and_the_average_of_three(evaluator, bag_of_letters):
    calls = []

    def encode(texts):
        calls.append(len(texts))
        return bag_of_letters(texts)

    scores = evaluator(encode, "dev")
    assert calls == [50 + 2 * 999 + 2 * 353]
    assert scores["average"] == pytest.approx(np.mean([value for key, value in scores.items() if "/" in key]))


def test_an_encoder_that_knows_the_answer_scores_100(evaluator):
    """Vectors built so that cosines are the gold scores: the rows meet their own scores, in order."""
    angle = {i: float(i) for i in range(50)}
    for name in ("simlex", "wordsim"):
        left, right, gold = evaluator.sets[name]
        angle |= {row: 0.0 for row in left}
        angle |= {row: np.arccos(score / 10) for row, score in zip(right, gold, strict=True)}
    vectors_ND = np.array(
        [[np.cos(angle.get(i, 0.0)), np.sin(angle.get(i, 0.0))] for i in range(len(evaluator.texts_read))]
    )
    scores = evaluator(lambda texts: vectors_ND, "dev")
    assert scores["simlex/spearman"] == pytest.approx(100)
    assert scores["wordsim/spearman"] == pytest.approx(100)


def test_without_gensim_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(demo.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingResource, match=r"pip install -e .\.\[demo\]"):
        Demo().prepare()


def test_a_file_that_lost_rows_or_is_gone_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "_gensim_data", lambda: tmp_path)
    with pytest.raises(MissingResource, match=r"lee\.cor"):
        Demo().prepare()
    (tmp_path / "lee.cor").write_text("one\ntwo\n")
    (tmp_path / "similarities0-1.txt").write_text("1\t0.5\n0\t1\n")
    with pytest.raises(UserError, match=r"lee\.cor holds 2 rows, not 50"):
        Demo().prepare()


def test_minilm_scores_as_measured(evaluator, minilm_encode):
    scores = evaluator(minilm_encode("cls"), "dev")
    # Lee's documents are cut nowhere; cut to 128 tokens they give 47.3
    expected = {"lee/spearman": 47.44, "simlex/spearman": 31.50, "wordsim/spearman": 39.02, "average": 39.32}
    assert scores == pytest.approx(expected, abs=0.01)
