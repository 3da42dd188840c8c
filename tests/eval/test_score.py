"""The checks of an evaluator before it scores, memoized encoding, and the natures of scores."""

import math
from unittest.mock import Mock

import numpy as np
import pytest

from cse.errors import UserError
from cse.eval.score import MemoizedEncode, check_class, check_provenance, nature
from cse.provenance import Nature
from cse.types import Evaluator


class Mine(Evaluator):
    splits = ("test",)
    natures = {"mean": Nature("a mean", lower_is_better=True)}

    def __init__(self, provenance):
        self.about = provenance

    def provenance(self):
        return self.about


def test_a_provenance_may_have_rows_or_parts_and_keys_of_its_own():
    check_provenance("mine", Mine({"protocol": "", "rows": {"task": {"dev": 3}, "average": 3}, "of_my_own": object()}))
    check_provenance("mine", Mine({"protocol": "", "parts": {"a": {"protocol": "", "rows": {"test": 1}}}}))


@pytest.mark.parametrize(
    ("provenance", "key"),
    [
        ({"protocol": ""}, "rows"),
        ({"protocol": "", "parts": {"a": {"protocol": "", "rows": 5}}}, "parts.*a.*rows.*=5"),
        (None, "None"),
    ],
)
def test_a_wrong_provenance_is_refused_by_class_and_key(provenance, key):
    with pytest.raises(UserError, match=rf"^eval\.mine: .*test_score\.Mine.*{key}") as caught:
        check_provenance("mine", Mine(provenance))
    assert "\n" not in str(caught.value)


def test_an_object_that_is_no_evaluator_is_refused():
    with pytest.raises(UserError, match=r"eval\.mine"):
        check_class("mine", object())


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


@pytest.mark.parametrize(
    ("key", "value", "best", "expected"),
    [
        ("dev/stsb/spearman", 2.0, 1.0, True),
        ("dev/stsb/spearman", 1.0, 1.0, False),
        ("dev/geometry/alignment", 1.0, 2.0, True),
        ("test/declutr/coco/i2t/median_rank", 1.0, 2.0, True),
        ("train/loss", 1.0, 2.0, True),
        ("test/of_nobody/score", 2.0, 1.0, True),
        ("dev/stsb/spearman", math.nan, 1.0, False),
        ("dev/stsb/spearman", 1.0, math.nan, True),
        ("dev/stsb/spearman", math.nan, math.nan, False),
    ],
)
def test_better_values_by_direction_and_never_nan(key, value, best, expected):
    assert nature(key).better(value, best) is expected


def test_which_scores_are_headlines():
    shown = ["test/sts/STS12/spearman", "test/sts/average", "test/transfer/MR/accuracy", "dev/demo/lee/spearman",
             "test/declutr/transfer/MR/dev_accuracy"]  # fmt: skip
    others = ["test/sts/STS12/pearson", "test/sts/STS12/spearman_mean", "test/transfer/MR/dev_accuracy"]
    assert [key for key in [*shown, *others] if nature(key).headline] == shown


def test_an_evaluator_in_a_users_folder_declares_its_scores(tmp_path, monkeypatch):
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "mine.yaml").write_text(f"_target_: {__name__}.Mine\n")
    (tmp_path / "eval" / "on_mine.yaml").write_text("defaults:\n  - mine\n  - _self_\n")
    (tmp_path / "eval" / "gone.yaml").write_text("_target_: no_such_module.Mine\n")
    assert not nature("test/mine/mean").lower_is_better
    monkeypatch.setenv("CSE_CONF", str(tmp_path))
    assert nature("test/mine/mean") == nature("test/on_mine/mean") == Mine.natures["mean"]
    assert not nature("test/gone/mean").lower_is_better
