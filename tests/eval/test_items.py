"""items.npz is read back as written and reproduces the scores; damaged files are refused; the cosines for plots."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from cse.eval.declutr import Declutr
from cse.eval.demo import Demo
from cse.eval.items import FILE, keep_cosines, keep_items, read_items
from cse.provenance import Items
from cse.types import Evaluator


class Given(Evaluator):
    """An evaluator with given items on test, and two pairs for plots."""

    splits = ("dev", "test")

    def __init__(self, items):
        self.given = items

    def items(self, split):
        return self.given if split == "test" else {}

    def cosines(self, encode, split):
        return np.array([0.25, 0.5], np.float32), np.array([0.0, 5.0])


def test_items_are_read_back_without_a_pickle(tmp_path):
    rng = np.random.default_rng(0)
    pairs = Items("spearman", rng.normal(size=40), rng.uniform(0, 5, 40), np.stack([np.arange(40), np.arange(40) // 2]))
    rows = Items("accuracy", rng.integers(0, 3, 300), rng.integers(0, 3, 300))
    given = {"a/spearman": pairs, "b/accuracy": rows, "average": ["a/spearman", ["b/accuracy", ["b/f1"]]]}
    entry = keep_items(tmp_path, {"both": Given(given)}, {"both": ["dev", "test"]})
    assert entry == {"file": FILE, "version": 1, "scores": 2}
    found = read_items(tmp_path)
    assert found["test/both/average"] == ["test/both/a/spearman", ["test/both/b/accuracy", ["test/both/b/f1"]]]
    assert found["test/both/a/spearman"].values_N == pytest.approx(pairs.values_N, abs=1e-6)
    assert (found["test/both/a/spearman"].units_UN == pairs.units_UN).all()
    assert (found["test/both/b/accuracy"].gold_N == rows.gold_N).all()
    with np.load(tmp_path / FILE, allow_pickle=False) as arrays:  # reads all of them, or raises
        assert all(arrays[name].dtype != object for name in arrays)
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


@pytest.fixture
def kept(tmp_path) -> Path:
    """items.npz of one score."""
    one = Given({"a/spearman": Items("spearman", np.ones(3), np.ones(3))})
    keep_items(tmp_path, {"both": one}, {"both": ["test"]})
    return tmp_path / FILE


def test_a_truncated_file_is_refused_and_a_missing_one_is_empty(kept):
    kept.write_bytes(kept.read_bytes()[:200])
    with pytest.raises(ValueError, match=FILE):
        read_items(kept.parent)
    kept.unlink()
    assert read_items(kept.parent) == {}


@pytest.mark.parametrize("change", [
    {"0.gold": np.zeros(20 << 20)}, {"0.gold": np.ones(2)}, {"0.values": np.ones(0), "0.gold": np.ones(0)},
    {"0.units": np.full((1, 3), 2**40)}, {"about": np.frombuffer(b"[" * 10**5, np.uint8)},
    {"about": np.frombuffer(b'{"version": 1, "averages": {"a": 1}, "scores": {}}', np.uint8)},
    {"about": np.frombuffer(b'{"version": 1, "averages": {}, "scores": []}', np.uint8)},
    {"about": np.frombuffer(b'{"version": 1, "averages": {"a": ["b"], "b": [["a"]]}, "scores": {}}', np.uint8)},
])  # fmt: skip
def test_a_strangers_file_is_refused_before_it_takes_memory(kept, change):
    with np.load(kept) as arrays:
        np.savez_compressed(kept, **(dict(arrays) | change))
    with pytest.raises(ValueError, match=FILE):
        read_items(kept.parent)


def test_the_demos_items_reproduce_its_scores(tmp_path, bag_of_letters):
    demo = Demo()
    scores = demo(bag_of_letters, "dev")
    keep_items(tmp_path, {"demo": demo}, {"demo": ["dev"]})
    found = read_items(tmp_path)
    for name in ("lee", "simlex", "wordsim"):
        items = found[f"dev/demo/{name}/spearman"]
        assert 100 * spearmanr(items.values_N, items.gold_N)[0] == pytest.approx(scores[f"{name}/spearman"], abs=0.05)
    assert found["dev/demo/average"] == [f"dev/demo/{name}/spearman" for name in ("lee", "simlex", "wordsim")]
    assert len(np.unique(found["dev/demo/lee/spearman"].units_UN)) == 50


def test_declutrs_averages_name_the_scores_that_they_are_over(bag_of_letters):
    part = Given({"CR/accuracy": Items("accuracy", np.zeros(2), np.ones(2))})
    row = Declutr({"transfer": part})
    row.last = bag_of_letters, {"transfer/CR/accuracy": 0.0, "transfer/MRPC/accuracy": 1.0, "transfer/MRPC/f1": 1.0}
    items = row.items("test")
    (name,) = (name for name in items if name.startswith("downstream_without_MR_"))
    assert items[name] == [["transfer/CR/accuracy"], ["transfer/MRPC/accuracy", "transfer/MRPC/f1"]]
    assert items["transfer/CR/accuracy"] is part.given["CR/accuracy"]
    assert row.items("dev") == {}


@pytest.mark.parametrize(("when", "splits"), [("before", ["dev"]), ("after", ["dev", "test"])])
def test_cosines_of_pairs_are_kept_before_training_only_of_the_first_split(tmp_path, when, splits):
    class Unpaired(Evaluator):
        splits = ("test",)

    keep_cosines(tmp_path, when, {"pairs": Given({}), "other": Unpaired()}, encode=lambda texts: None)
    stored = json.loads((tmp_path / "plots" / f"cosines_{when}.json").read_text())
    assert stored == {"pairs": {split: [[0.25, 0.5], [0.0, 5.0]] for split in splits}}
