"""The rows of scores: the data behind each, how much there is, and whether it is whole."""

import pytest

from cse.record import scores

ABOUT = {"sha256": "", "protocol": "", "dtype": "fp32"}


def test_the_checksum_of_the_hubs_data_follows_their_revisions():
    first, second = ({"revisions": {"STS12": revision}} for revision in ("a1", "b2"))
    assert scores.checksum(first) != scores.checksum(second)
    assert scores.checksum({"files": {}}) == ""
    # printf 'aa  x.txt\nbb  y.txt\n' | sha256sum
    files = {"files": {"y.txt": {"sha256": "bb"}, "x.txt": {"sha256": "aa"}, "x.txt + y.txt": {"rows": 2}}}
    assert scores.checksum(files) == "3d6ca651ba2d032dcf64f44154e405b76624af6fed229900c8211d242fabea39"


@pytest.mark.parametrize(
    ("counts", "score", "split", "expected"),
    [
        ({"STS12": 3, "SICK-R": 4}, "STS12/spearman_wmean", "test", 3),
        ({"STS12": 3, "SICK-R": 4}, "average", "test", 7),
        ({"dev": {"STS-B": 5, "SICK-R": 1}, "test": {"STS-B": 6}}, "spearman", "dev", 5),
        ({"dev": {"STS-B": 5, "SICK-R": 1}, "test": {"STS-B": 6}}, "SICK-R/pearson", "dev", 1),
        ({"dev": {"STS-B": 5, "SICK-R": 1}, "test": {"STS-B": 6}}, "average", "dev", 6),
        ({"MR": {"all": 9}, "SST2": {"train": 5, "dev": 2, "test": 3}}, "MR/accuracy", "test", 9),
        ({"MR": {"all": 9}, "SST2": {"train": 5, "dev": 2, "test": 3}}, "SST2/accuracy", "test", 3),
        ({"MR": {"all": 9}, "SST2": {"train": 5, "dev": 2, "test": 3}}, "SST2/dev_accuracy", "test", 2),
        ({"TREC": {"train": 5, "test": 3}}, "TREC/dev_accuracy", "test", 5),
        ({"MR": {"all": 9}, "SST2": {"train": 5, "dev": 2, "test": 3}}, "average", "test", 12),
        ({"MR": {"all": 9}, "SST2": {"test": 3}, "average": {"MR": {"all": 9}}}, "average", "test", 9),
        ({"MR": {"all": 9}, "SST2": {"test": 3}, "average": {"MR": {"all": 9}}}, "dev_average", "test", 9),
        ({"alignment": {"dev": 3}, "dev": 8}, "alignment", "dev", 3),
        ({"alignment": {"dev": 3}, "dev": 8}, "uniformity", "dev", 8),
        ({"A": {"dev": 4}, "STS/average": 4, "average": 4}, "STS/average", "test", 4),
        ({"A": {"dev": 4}, "B": {"dev": 2}, "average": 4}, "average", "test", 4),
        ({}, "average", "test", ""),
        ({"parts": {"transfer": {"rows": {"MR": {"all": 9}}}}}, "transfer/MR/accuracy", "test", 9),
        ({"parts": {"sts": {"rows": {"STS12": 3, "STS13": 4}}}}, "sts/average", "test", 7),
        ({"parts": {"sts": {"rows": {"STS12": 3, "STS13": 4}}}}, "downstream", "test", ""),
    ],
)
def test_the_rows_behind_a_score(counts, score, split, expected):
    source = {**(counts if "parts" in counts else {"rows": counts}), **ABOUT}
    (row,) = scores.rows_of({f"{split}/x/{score}": 1.0}, {"x": source}, "an encoder", {})
    assert row["rows"] == str(expected)


def test_a_problem_marks_the_rows_that_it_concerns():
    problems = [{"split": None, "task": "STS12", "problem": "x"}, {"split": "dev", "task": None, "problem": "y"}]
    marked = {(split, task): scores.is_partial({"problems": problems}, split, {task} - {""})
              for split in ("dev", "test") for task in ("STS12", "STS13", "")}  # fmt: skip
    assert marked == {("dev", "STS12"): True, ("dev", "STS13"): True, ("dev", ""): True,
                      ("test", "STS12"): True, ("test", "STS13"): False, ("test", ""): True}  # fmt: skip
    metrics = ["dev/sts/average", "test/sts/STS13/spearman", "test/sts/STS12/spearman", "test/coco/r1", "odd"]
    assert scores.partial_scores(metrics, {"sts": {"problems": problems}}) == {metrics[0], metrics[2]}
    whole = {"parts": {"sts": {"problems": problems}, "coco": {}}}
    assert scores.is_partial(whole, "test", set())
    assert scores.problems_of("declutr", whole) == [
        "partial: declutr/sts: STS12: x", "partial: declutr/sts: dev: y",
    ]  # fmt: skip


def test_an_average_is_marked_by_its_own_tasks():
    rows = {"MR": {"all": 9}, "SST5": {"test": 3}, "average": {"MR": {"all": 9}}}
    problems = [{"split": None, "task": "SST5", "problem": "x"}]
    metrics = {f"test/x/{score}": 1.0 for score in ("average", "MR/accuracy", "SST5/accuracy")}
    found = scores.rows_of(metrics, {"x": {"rows": rows, "problems": problems, **ABOUT}}, "an encoder", {})
    assert [row["data"] for row in found] == ["whole", "whole", "partial"]


def test_a_score_of_leading_channels_rests_on_the_data_of_the_whole():
    source = {"rows": {"dev": 12}, "problems": [{"task": "STS12", "split": "dev", "problem": "holds 12 rows"}]}
    names = ["width96/spearman", "spearman", "width96/STS12/spearman", "width96/STS13/spearman"]
    assert [scores.is_altered(source, "dev", name) for name in names] == [True, True, True, False]


def test_a_suite_is_one_line_to_paste_with_the_average_last():
    tasks = ["STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R"]
    metrics = {"test/sts/average": 75.0} | {f"test/sts/{task}/spearman": 70.0 + n for n, task in enumerate(tasks)}
    metrics |= {"test/sts/width96/STS12/spearman": 60.0, "test/transfer/MR/accuracy": 80.0, "dev/stsb/spearman": 50.0}
    metrics |= {f"test/mteb/T{n}/accuracy": float(n) for n in range(20)}
    sources = {name: {"rows": {}, **ABOUT} for name in ("sts", "transfer", "stsb", "mteb")}
    sources["sts"]["problems"] = [{"split": None, "task": "STS13", "problem": "x"}]
    found = scores.suites(scores.rows_of(metrics, sources, "an encoder, mean pooling", {}))
    assert list(found) == ["sts, test", "transfer, test", "stsb, dev", "mteb, test"]
    sts = found["sts, test"]
    assert list(sts) == ["", *tasks, "Avg."]
    assert sts[""].tolist() == ["an encoder", "an encoder, 96 wide"]
    assert sts.iloc[0, 1:4].tolist() == ["70.0000", "71.0000 †", "72.0000"]
    assert sts.iloc[1, 1:].tolist() == ["60.0000", *[""] * 7]
    assert list(found["transfer, test"]) == ["", "MR"]
    assert found["mteb, test"].shape == (20, 2)  # too many for a page's width
