"""items.npz is read back as written and reproduces the scores; damaged files are refused; the cosines for plots."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr
from toys import ready

from cse.eval.demo import Demo
from cse.eval.items import FILE, keep_cosines, keep_items, read_items
from cse.score import Items, Score, digest_of, values


def test_items_are_read_back_without_a_pickle(tmp_path):
    rng = np.random.default_rng(0)
    pairs = Items("spearman", rng.normal(size=40), rng.uniform(0, 5, 40), np.stack([np.arange(40), np.arange(40) // 2]))
    rows = Items("accuracy", rng.integers(0, 3, 300), rng.integers(0, 3, 300))
    given = [Score("a/spearman", 1.0, items=pairs), Score("b/accuracy", 1.0, items=rows), Score("none", 1.0)]
    given.append(Score("average", 1.0, items=["a/spearman", ["b/accuracy", ["b/f1"]]]))
    entry = keep_items(tmp_path, [one.within("test/both/") for one in given])
    assert entry == {"file": FILE, "version": 1, "scores": 2}
    found = read_items(tmp_path)
    assert set(found) > {"test/both/a/spearman", "test/both/b/accuracy", "test/both/average"}
    assert leaves(found, "test/both/average") == ["test/both/a/spearman", "test/both/b/accuracy", "test/both/b/f1"]
    assert found["test/both/a/spearman"].values_N == pytest.approx(pairs.values_N, abs=1e-6)
    assert (found["test/both/a/spearman"].units_UN == pairs.units_UN).all()
    assert (found["test/both/b/accuracy"].gold_N == rows.gold_N).all()
    with np.load(tmp_path / FILE, allow_pickle=False) as arrays:  # reads all of them, or raises
        assert all(arrays[name].dtype != object for name in arrays)
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def leaves(items, name: str) -> list[str]:
    """The scores below a name, through the averages inside an average."""
    if not isinstance(items.get(name), list):
        return [name]
    return [leaf for part in items[name] for leaf in leaves(items, part)]


def test_items_inside_an_average_are_kept(tmp_path):
    subsets = [Items("cosines", np.arange(3.0), np.arange(3.0)), Items("cosines", np.ones(4), np.ones(4))]
    keep_items(tmp_path, [Score("test/sts/STS12/spearman_mean", 1.0, items=subsets)])
    found = read_items(tmp_path)
    assert [len(found[name].gold_N) for name in found["test/sts/STS12/spearman_mean"]] == [3, 4]


@pytest.fixture
def kept(tmp_path) -> Path:
    """items.npz of one score."""
    keep_items(tmp_path, [Score("test/both/a/spearman", 1.0, items=Items("spearman", np.ones(3), np.ones(3)))])
    return tmp_path / FILE


def test_a_truncated_file_is_refused_and_a_missing_one_is_empty(kept):
    kept.write_bytes(kept.read_bytes()[:200])
    with pytest.raises(ValueError, match=FILE):
        read_items(kept.parent)
    kept.unlink()
    assert read_items(kept.parent) == {}


def test_the_demos_items_reproduce_its_scores(tmp_path, bag_of_letters):
    scores = [one.within("dev/demo/") for one in ready(Demo())(bag_of_letters, "dev")]
    keep_items(tmp_path, scores)
    expected = values(scores)
    found = read_items(tmp_path)
    for name in ("lee", "simlex", "wordsim"):
        items = found[f"dev/demo/{name}/spearman"]
        again = 100 * spearmanr(items.values_N, items.gold_N)[0]
        assert again == pytest.approx(expected[f"dev/demo/{name}/spearman"], abs=0.05)
    assert found["dev/demo/average"] == [f"dev/demo/{name}/spearman" for name in ("lee", "simlex", "wordsim")]
    assert len(np.unique(found["dev/demo/lee/spearman"].units_UN)) == 50


def test_cosines_of_the_first_pairs_of_each_evaluator_are_kept(tmp_path):
    pairs = Items("cosines", np.array([0.25, 0.5]), np.array([0.0, 5.0]))
    other = Items("accuracy", np.ones(2), np.ones(2))
    behind = {"dev/mine/f1": other, "dev/mine/a": pairs, "dev/mine/b": other, "test/mine/a": pairs}
    scores = [Score(name, 1.0, items=items) for name, items in behind.items()]
    keep_cosines(tmp_path, "after", scores)
    stored = json.loads((tmp_path / "plots" / "cosines_after.json").read_text())
    assert stored == {"mine": {split: [[0.25, 0.5], [0.0, 5.0]] for split in ("dev", "test")}}


def test_cosines_have_the_name_of_the_task_that_they_are_of(tmp_path):
    names = ("STS12/spearman", "STS12/spearman_mean", "STS13/spearman")
    pairs = Items("cosines", np.array([0.25, 0.5]), np.array([0.0, 5.0]))
    keep_cosines(tmp_path, "after", [Score(f"test/sts/{name}", 1.0, items=pairs) for name in names])
    stored = json.loads((tmp_path / "plots" / "cosines_after.json").read_text())
    assert stored == {"sts/STS12": {"test": [[0.25, 0.5], [0.0, 5.0]]}}


@pytest.mark.parametrize("gold", [[-2, -1, 0, 2], [-1, 1, 1, -1], [0, 300, 2, 1], []])
def test_whole_numbers_are_kept_as_they_are(tmp_path, gold):
    items = Items("spearman", np.arange(len(gold)) / 4, np.array(gold, int))
    keep_items(tmp_path, [Score("test/mine/a", 1.0, items=items)])
    assert read_items(tmp_path)["test/mine/a"].gold_N.tolist() == gold


def test_items_keep_a_digest_of_their_texts(tmp_path):
    pairs = Items("cosines", np.ones(2), np.ones(2), digest=digest_of(["a b", "c"]))
    keep_items(tmp_path, [Score("test/mine/a", 1.0, items=pairs)])
    assert read_items(tmp_path)["test/mine/a"].digest == pairs.digest
    others = [["a", "b c"], ["c", "a b"], ["a b"], ["a bc"]]
    units = [np.array([[0, 0]]), np.array([[0, 1]])]
    assert len({pairs.digest, *map(digest_of, others), *(digest_of(["a b", "c"], unit) for unit in units)}) == 7
