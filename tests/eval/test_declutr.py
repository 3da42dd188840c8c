"""DeCLUTR's averages: the published ones follow from the published columns, and missing tasks are named."""

import pytest

from cse.errors import MissingResource
from cse.eval.declutr import DOWNSTREAM, PROBING, Declutr, average_of, averaged
from cse.score import Score, values
from cse.types import Evaluator

# DeCLUTR v1, Tables S3 and S4, test, and Table 1's Downstream, Probing, Avg. MRPC is (accuracy, F1).
TASKS = [
    "CR", "MR", "MPQA", "SUBJ", "SST2", "SST5", "TREC", "MRPC", "SNLI", "SICK-E", "SICK-R", "STS-B", "CapRet",
    "STS12", "STS13", "STS14", "STS15", "STS16",
]  # fmt: skip
ROWS = {
    "DeCLUTR-small": (
        [88.03, 82.54, 89.86, 94.94, 87.59, 48.42, 92.40, (75.54, 82.68), 73.72, 82.69, 78.35, 77.26, 61.22, 64.10,
         65.80, 67.89, 75.63, 72.84],
        [85.83, 74.51, 38.04, 73.78, 85.26, 87.72, 85.48, 83.08, 62.06, 62.61],
        (76.80, 73.84, 75.32),
    ),
    "DeCLUTR-base": (
        [90.15, 84.89, 89.39, 95.19, 89.68, 50.18, 93.60, (75.25, 82.80), 74.18, 82.95, 79.39, 78.84, 61.92, 64.21,
         70.40, 69.99, 77.51, 75.35],
        [79.74, 69.98, 37.25, 72.96, 87.50, 88.29, 85.72, 82.92, 65.60, 68.03],
        (78.16, 73.80, 75.98),
    ),
}  # fmt: skip


def scores_of(downstream: list, probing: list, column: int = 0) -> dict[str, float]:
    found = {}
    for table, column_of, names in ((DOWNSTREAM, downstream, TASKS), (PROBING, probing, PROBING)):
        for task, value in zip(names, column_of, strict=True):
            keys = table[task][column]
            found |= dict(zip(keys, value if isinstance(value, tuple) else (value,), strict=False))
    return found


def averages(scores: dict[str, float], split: str) -> dict[str, float]:
    return {name: average_of(average, scores) for name, average in averaged(scores, split).items()}


@pytest.mark.parametrize("row", ROWS)
def test_the_published_averages_follow_from_the_published_columns(row):
    downstream, probing, expected = ROWS[row]
    found = averages(scores_of(downstream, probing), "test")
    assert (found["downstream"], found["probing"], found["average"]) == pytest.approx(expected, abs=0.006)


def test_dev_averages_use_accuracy_for_mrpc_and_pearson_for_the_regressions():
    downstream = [float(i) for i in range(18)]
    found = averages(scores_of(downstream, [50.0] * 10, column=1), "dev")
    assert found["downstream"] == pytest.approx(sum(downstream) / 18)
    assert found["average"] == (found["downstream"] + 50) / 2
    assert found["all"] == pytest.approx((sum(downstream) + 500) / 28)
    snli = TASKS.index("SNLI")
    assert found["downstream_without_SNLI"] == pytest.approx((sum(downstream) - snli) / 17)
    assert DOWNSTREAM["SICK-R"][1] == ["transfer/SICKRelatedness/dev_pearson"]
    assert DOWNSTREAM["MRPC"][1] == ["transfer/MRPC/dev_accuracy"]


def test_an_average_is_named_by_the_tasks_that_it_lacks():
    downstream, probing, _ = ROWS["DeCLUTR-base"]
    whole = scores_of(downstream, probing)
    found = averages({key: value for key, value in whole.items() if "SNLI" not in key and "coco" not in key}, "test")
    assert "downstream" not in found
    assert "average" not in found
    rest = [sum(v) / 2 if isinstance(v, tuple) else v for v, task in zip(downstream, TASKS, strict=True)
            if task not in ("SNLI", "CapRet")]  # fmt: skip
    assert found["downstream_without_SNLI_CapRet"] == pytest.approx(sum(rest) / 16)
    assert "average_without_SNLI_CapRet" in found
    assert found["all_without_SNLI_CapRet"] == pytest.approx((sum(rest) + sum(probing)) / 26)
    assert "probing" in found
    assert averages({}, "test") == {}


class Part(Evaluator):
    splits = ("test",)

    def __init__(self, scores):
        self.given, self.seen = scores, []

    def prepare(self):
        self.seen.append("prepared")

    def __call__(self, encode, split):
        self.seen.append(encode(["", "a b"]))
        return self.given

    def source(self):
        return {"protocol": "mine", "files": {"a": {"sha256": "0"}}, "problems": ["x"]}


def test_parts_are_scored_once_for_both_splits_with_full_stops_for_empty_sentences():
    part = Part([Score(f"{task}/accuracy", 80.0, 2, "%", modified=task == "Depth", headline=False) for task in PROBING])
    suite = Declutr({"probing": part, "coco": None})
    suite.prepare()
    encode = list
    scores = {one.name: one for one in suite(encode, "test")}
    assert scores["probing/Depth/accuracy"].value == scores["probing"].value == 80
    assert scores["probing"].rows == 2 * len(PROBING)
    assert scores["probing"].modified
    assert scores["probing"].items == [[f"probing/{task}/accuracy"] for task in PROBING]
    assert all(one.headline for one in scores.values())
    assert "probing/Depth/accuracy" not in values(suite(encode, "dev"))
    assert part.seen == ["prepared", [".", "a b"]]
    assert suite.source()["problems"] == ["probing: x"]
    assert suite.source()["files"] == {"a": {"sha256": "0"}}


def test_one_error_names_the_keys_of_all_missing_parts():
    class Missing(Part):
        def prepare(self):
            raise MissingResource("`folder` is not set")

    suite = Declutr({name: Missing(name) for name in ("probing", "coco")})
    with pytest.raises(MissingResource, match=r"parts\.probing\.folder.*parts\.probing=null.*\n.*parts\.coco\.folder"):
        suite.prepare()
