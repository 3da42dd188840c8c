"""The checks of an evaluator before it scores, memoized encoding, and what a score carries."""

import json
import math
from unittest.mock import Mock

import numpy as np
import pytest

from cse.errors import UserError
from cse.eval.scoring import MemoizedEncode, check_encode, check_returned, check_source, mean_of, refuse_nan, score
from cse.score import Items, Score
from cse.types import Evaluator


class Mine(Evaluator):
    def prepare(self): ...

    def __call__(self, encode, split): ...

    splits = ("test",)

    def __init__(self, source):
        self.about = source

    def source(self):
        return self.about


def test_a_source_may_have_keys_of_its_own():
    check_source("mine", Mine({"protocol": "", "of_my_own": object()}))


@pytest.mark.parametrize(("source", "key"), [({}, "protocol"), ({"protocol": "", "files": 5}, "files"), (None, "None")])
def test_a_wrong_source_is_refused_by_class_and_key(source, key):
    with pytest.raises(UserError, match=rf"^eval\.mine: .*test_scoring\.Mine.*{key}") as caught:
        check_source("mine", Mine(source))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ([Score("a", "high")], "value of a must be a number, not str"),
        ([Score("a", 1.0), Score("a", 2.0)], "named a"),
        ([Score("a", 1.0), 1.0], r"list of cse\.score\.Score, not of float"),
        ({"a": 1.0}, "list .* not dict"),
        (None, "list .* not NoneType"),
    ],
)
def test_scores_are_numbers_with_names_of_their_own(found, told):
    with pytest.raises(UserError, match=rf"^eval\.mine.*{told}"):
        check_returned("eval.mine", found)


def test_a_score_that_is_no_number_is_kept_and_warned_of(monkeypatch, caplog):
    monkeypatch.setattr(Mine, "__call__", lambda *of: [Score("a", math.nan), Score("b", np.float32(1))])
    scores = score({"mine": Mine(None)}, lambda texts: texts)
    assert math.isnan(scores["test/mine/a"].value)
    assert "not a finite number: a" in caplog.text
    assert json.loads(json.dumps(scores["test/mine/b"].value)) == 1.0


@pytest.mark.parametrize(
    ("limit", "batches"),
    [(None, [["a", "bb"], ["ccc"]]), (3, [["a", "bb"], ["ccc"]]), (2, [["a", "bb"], ["a", "ccc", "ccc"]])],
)
def test_each_text_is_encoded_once_unless_there_are_too_many_to_keep(limit, batches):
    encode = Mock(side_effect=lambda texts: np.array([[len(text)] for text in texts]))
    vectors = MemoizedEncode(encode, limit)
    vectors.add(["a", "bb", "a"])
    assert vectors(["a", "ccc", "ccc"]).tolist() == [[1], [3], [3]]
    assert [call.args[0] for call in encode.call_args_list] == batches


@pytest.mark.parametrize(("limit", "counts"), [(None, [(3, 2), (2, 1)]), (0, [(4, 3), (2, 1)])])
def test_texts_of_the_maximum_length_are_counted_for_each_evaluator(limit, counts):
    """Each once, unless there are too many vectors to keep."""
    asked = []
    encode = Mock(side_effect=lambda texts: asked.append(texts) or np.array([[len(text)] for text in texts]))
    vectors = MemoizedEncode(encode, limit, full=lambda: [len(text) >= 3 for text in asked[-1]])
    vectors(["bbbb"])
    for texts, (number, full) in zip((["a", "ccc", "ccc", "dddd"], ["ccc", "a"]), counts, strict=True):
        vectors.start_count()
        vectors(texts)
        assert vectors.count() == {"texts": number, "reach_max_length": full}


@pytest.mark.parametrize("limit", [None, 0])
def test_vectors_that_are_no_numbers_are_not_scored(limit):
    found = np.array([[1.0, 2.0], [np.inf, 0.0], [0.0, 0.0]])
    with pytest.raises(UserError, match="infinity for 1 of 3 texts"):
        MemoizedEncode(refuse_nan(lambda texts: found), limit)(["a", "b", "c"])


@pytest.mark.parametrize(
    ("lower", "value", "best", "expected"),
    [
        (False, 2.0, 1.0, True),
        (False, 1.0, 1.0, False),
        (True, 1.0, 2.0, True),
        (True, 2.0, 1.0, False),
        (False, math.nan, 1.0, False),
        (False, 1.0, math.nan, True),
        (False, math.nan, math.nan, False),
        (True, 1.0, None, True),
        (True, math.nan, None, False),
    ],
)
def test_better_values_by_direction_and_never_nan(lower, value, best, expected):
    other = None if best is None else Score("a", best)
    assert Score("a", value, lower_is_better=lower).better_than(other) is expected


def test_a_run_names_a_score_and_what_it_is_over_by_split_and_evaluator():
    items = Items("accuracy", np.ones(1), np.ones(1))
    average = Score("average", 1.0, items=["a", ["b", items]]).within("test/mine/")
    assert (average.name, average.items) == ("test/mine/average", ["test/mine/a", ["test/mine/b", items]])


def test_a_mean_is_modified_with_any_of_its_scores():
    mean = mean_of("average", [Score("a", 1.0, rows=2), Score("b", 2.0, rows=3, modified=True)])
    assert (mean.value, mean.rows, mean.modified, mean.items) == (1.5, 5, True, ["a", "b"])


@pytest.mark.parametrize("limit", [None, 0])
def test_no_texts_and_texts_of_any_kind_have_rows(limit):
    vectors = MemoizedEncode(check_encode(lambda texts: [[len(text), 1.0] for text in texts]), limit)
    assert vectors([]).shape == (0, 2)
    assert vectors(text for text in ("a", "bb")).tolist() == vectors(np.array(["a", "bb"])).tolist() == [[1, 1], [2, 1]]
    assert vectors([]).shape == (0, 2)


@pytest.mark.parametrize("limit", [None, 0])
def test_an_encoder_is_constant_if_all_texts_have_one_vector(limit):
    upper = MemoizedEncode(lambda texts: np.array([[ord(text[0].lower()), 0.0] for text in texts]), limit)
    upper(["a", "A"])
    with pytest.raises(UserError, match="same vector for each of 2 texts"):
        upper.check_varied()
    upper(["b", "B"])
    upper.check_varied()


def test_vectors_of_zeros_are_counted_and_one_width_is_needed(caplog):
    vectors = MemoizedEncode(lambda texts: np.array([[float(text)] * len(texts) for text in texts]))
    vectors(["0", "00", "1"])
    vectors.warn_of_zeros()
    assert "2 of 3 texts" in caplog.text
    with pytest.raises(UserError, match="the same width"):
        vectors(["5"])
