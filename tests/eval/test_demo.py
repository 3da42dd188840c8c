"""The human judgements out of gensim's wheel: read rightly, and scored as measured for MiniLM."""

from unittest.mock import Mock

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
    left, right, gold = evaluator.sets["lee"]
    assert (left < right).all()
    assert 0 <= gold.min() <= gold.max() <= 1
    left, right, gold = evaluator.sets["wordsim"]
    row = [evaluator.texts_read[i] for i in left].index("tiger")
    assert (evaluator.texts_read[right[row]], gold[row]) == ("cat", 7.35)
    provenance = evaluator.provenance()
    assert provenance["rows"] == {"lee": 50 * 49 // 2, "simlex": 999, "wordsim": 353}
    assert all(len(file["sha256"]) == 64 for file in provenance["files"].values())


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
    encode = Mock(return_value=vectors_ND)
    scores = evaluator(encode, "dev")
    encode.assert_called_once_with(evaluator.texts_read)
    assert scores["simlex/spearman"] == pytest.approx(100)
    assert scores["wordsim/spearman"] == pytest.approx(100)
    assert scores["average"] == pytest.approx((200 + scores["lee/spearman"]) / 3)


def test_what_is_missing_or_lost_rows_is_named(tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(demo.importlib.util, "find_spec", lambda name: None)
        with pytest.raises(MissingResource, match=r"\.\[demo\]"):
            Demo().prepare()
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
