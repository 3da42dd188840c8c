"""What is checked of an evaluator before it scores, and that no text is encoded twice."""

import math

import numpy as np
import pytest

from cse.errors import UserError
from cse.eval.score import MemoizedEncode, check_class, check_provenance, nature, score
from cse.types import Evaluator, Nature


class Mine(Evaluator):
    splits = ("test",)
    natures = {"mean": Nature("a mean", lower_is_better=True)}

    def __init__(self, provenance):
        self.about = provenance

    def __call__(self, encode, split):
        return {"mean": encode(["a", "b"]).mean()}

    def provenance(self):
        return self.about


@pytest.mark.parametrize(
    "provenance",
    [
        {"protocol": "", "rows": {}},
        {"protocol": "", "rows": {"task": {"dev": 3}, "average": 3}, "of_my_own": object()},
        {"protocol": "", "parts": {"a": {"protocol": "", "rows": {"test": 1}}}},
    ],
)
def test_a_provenance_as_the_contract_says(provenance):
    check_provenance("mine", Mine(provenance))


@pytest.mark.parametrize(
    ("provenance", "words"),
    [
        ({"protocol": "", "rows": 5}, r"provenance\(\).rows=5: "),
        ({"protocol": "", "rows": {"task": {"dev": "many"}}}, r"provenance\(\).rows.task"),
        ({"rows": {}}, r"provenance\(\).protocol: Field required"),
        ({"protocol": ""}, "neither rows nor parts"),
        ({"protocol": "", "rows": {}, "problems": [{"problem": "x"}]}, r"provenance\(\).problems.0.split"),
        ({"protocol": "", "parts": {"a": {"protocol": "", "rows": 5}}}, r"provenance\(\).parts.a.rows=5"),
        (None, r"provenance\(\)=None"),
    ],
)
def test_a_wrong_provenance_is_one_sentence_before_any_score(provenance, words):
    with pytest.raises(UserError, match=words) as caught:
        check_provenance("mine", Mine(provenance))
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("eval.mine: ")
    assert "test_score.Mine" in str(caught.value)


def test_what_is_no_evaluator_is_refused():
    with pytest.raises(UserError, match=r"eval\.mine: builtins\.object must inherit cse\.types\.Evaluator"):
        check_class("mine", object())


def test_a_score_is_named_by_its_split_and_evaluator():
    metrics = score({"mine": Mine({})}, {"mine": ["test"]}, lambda texts: np.ones((len(texts), 2)))
    assert metrics == {"test/mine/mean": 1.0}


@pytest.fixture
def seen():
    return []


@pytest.fixture
def encode(seen):
    def lengths(texts):
        seen.append(list(texts))
        return np.array([[len(text)] for text in texts])

    return lengths


def test_each_text_is_encoded_once_in_one_call(encode, seen):
    vectors = MemoizedEncode(encode)
    vectors.add(["a", "bb", "a"])
    assert vectors(["bb", "a", "ccc", "ccc"]).tolist() == [[2], [1], [3], [3]]
    assert seen == [["a", "bb"], ["ccc"]]


def test_what_would_not_fit_is_encoded_as_it_comes(encode, seen):
    vectors = MemoizedEncode(encode, limit=2)
    assert vectors(["a", "bb"]).tolist() == [[1], [2]]
    assert vectors(["a", "ccc"]).tolist() == [[1], [3]]
    assert seen == [["a", "bb"], ["a", "ccc"]]


@pytest.mark.parametrize(
    ("key", "value", "best", "expected"),
    [
        ("dev/stsb/spearman", 2.0, 1.0, True),
        ("dev/stsb/spearman", 1.0, 2.0, False),
        ("dev/geometry/alignment", 1.0, 2.0, True),
        ("dev/geometry/alignment", 2.0, 1.0, False),
        ("test/declutr/coco/i2t/median_rank", 1.0, 2.0, True),
        ("train/loss", 1.0, 2.0, True),
        ("test/of_nobody/score", 2.0, 1.0, True),
        ("dev/stsb/spearman", math.nan, 1.0, False),
        ("dev/stsb/spearman", 1.0, math.nan, True),
        ("dev/stsb/spearman", math.nan, math.nan, False),
    ],
)
def test_which_of_two_values_of_a_score_is_better(key, value, best, expected):
    assert nature(key).better(value, best) is expected


def test_the_closing_table_shows_the_headlines_of_each_evaluator():
    shown = ["test/sts/STS12/spearman", "test/sts/average", "test/transfer/MR/accuracy", "dev/demo/lee/spearman",
             "test/declutr/transfer/MR/dev_accuracy"]  # fmt: skip
    others = ["test/sts/STS12/pearson", "test/sts/STS12/spearman_mean", "test/transfer/MR/dev_accuracy"]
    assert [key for key in [*shown, *others] if nature(key).headline] == shown


def test_an_evaluator_of_an_own_folder_declares_its_scores(tmp_path, monkeypatch):
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "mine.yaml").write_text(f"_target_: {__name__}.Mine\n")
    (tmp_path / "eval" / "on_mine.yaml").write_text("defaults:\n  - mine\n  - _self_\n")
    (tmp_path / "eval" / "gone.yaml").write_text("_target_: no_such_module.Mine\n")
    assert not nature("test/mine/mean").lower_is_better
    monkeypatch.setenv("CSE_CONF", str(tmp_path))
    assert nature("test/mine/mean") == nature("test/on_mine/mean") == Mine.natures["mean"]
    assert not nature("test/gone/mean").lower_is_better
