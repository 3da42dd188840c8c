"""Cosines beside gold scores: whose are stored, and when."""

import json

import numpy as np
import pytest

from cse.eval.cosines import keep_cosines
from cse.types import Evaluator


class Paired(Evaluator):
    splits = ("dev", "test")

    def cosines(self, encode, split):
        return np.array([0.1, 0.9], np.float32), np.array([0.0, 5.0])


class Unpaired(Evaluator):
    splits = ("test",)


@pytest.mark.parametrize(("when", "splits"), [("before", ["dev"]), ("after", ["dev", "test"])])
def test_only_pairs_are_stored_and_before_training_only_those_of_the_first_split(tmp_path, when, splits):
    keep_cosines(tmp_path, when, {"pairs": Paired(), "other": Unpaired()}, encode=lambda texts: None)
    stored = json.loads((tmp_path / "plots" / f"cosines_{when}.json").read_text())
    assert stored == {"pairs": {split: [[pytest.approx(0.1), pytest.approx(0.9)], [0.0, 5.0]] for split in splits}}
