"""benchmarks/study: what its pages say of overlap, power and Holm's p, computed again."""

import re
from pathlib import Path

import pytest

from cse.eval.files import DataFolder
from cse.eval.senteval.data import read_subset, read_table
from cse.lab.report.numbers.statistics import smallest_difference
from cse.sources.senteval import SUBSETS

STUDY = Path(__file__).resolve().parents[2] / "benchmarks" / "study"
RESULTS, PROTOCOL = ((STUDY / name).read_text() for name in ("RESULTS.md", "PROTOCOL.md"))


def test_the_smallest_differences():
    def points(sd, seeds):
        return f"{smallest_difference(sd, seeds, 0.05 / 8):.2f}".lstrip("0")

    assert f"after Holm at {points(0.20, 8)} ({points(0.39, 8)} at the upper end)" in PROTOCOL
    assert f"80 % is reached at {points(0.20, 5)} ({points(0.39, 5)} at the upper end)" in PROTOCOL
    assert f"{points(0.36, 5)} to {points(1.31, 5)} points" in RESULTS


def test_corrected_p_is_holms_of_the_raw_one():
    known = [(float(raw), float(p)) for raw, p in re.findall(r"\| (\.\d+), (\.\d+) \|", RESULTS)]
    assert len(known) == 5  # the other three are the smallest
    most = 0.0
    for rank, (raw, corrected) in enumerate(sorted(known)):
        most = max(most, raw * (5 - rank))
        assert corrected == pytest.approx(most, abs=0.01)


def test_the_pairs_that_selection_and_tests_share(shared):
    folder = DataFolder(str(shared / "data" / "senteval"), "paths.senteval", "SentEval")
    dev = set(zip(*read_table(folder, "STS-B", "dev").sentences, strict=True))
    in_tests = set()
    for task, names in SUBSETS.items():
        pairs = [pair for name in names for pair in zip(*read_subset(folder, task, name).sentences, strict=True)]
        both = [pair for pair in pairs if pair in dev or pair[::-1] in dev]
        in_tests |= {pair for pair in dev if pair in both or pair[::-1] in both}
        assert re.search(rf"{100 * len(both) / len(pairs):.1f} %\s+of\s+{task}'s", RESULTS)
    whole = read_table(folder, "STS-B", "dev").sentences
    shared_pairs = sum(pair in in_tests for pair in zip(*whole, strict=True))
    assert f"{shared_pairs:,} of its {len(whole[0]):,} pairs ({100 * shared_pairs / len(whole[0]):.1f} %)" in RESULTS
