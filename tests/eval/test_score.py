"""What is checked of an evaluator before it scores, and that no text is encoded twice."""

import numpy as np
import pytest

from cse.errors import UserError
from cse.eval.score import MemoizedEncode, check_class, check_provenance, score
from cse.types import Evaluator


class Mine(Evaluator):
    splits = ("test",)

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
