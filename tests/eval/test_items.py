"""items.npz: what every score rests on comes back as it was, and gives the score again; the cosines for pictures."""

import json

import numpy as np
import pytest
from scipy.stats import spearmanr

from cse.eval.declutr import Declutr
from cse.eval.demo import Demo
from cse.eval.items import FILE, keep_cosines, keep_items, read_items, under
from cse.provenance import Items
from cse.types import Evaluator


class Twofold(Evaluator):
    """Scores by items that are given, and pairs for pictures."""

    splits = ("dev", "test")

    def __init__(self, items):
        self.given = items

    def items(self, split):
        return self.given if split == "test" else {}

    def cosines(self, encode, split):
        return np.array([0.25, 0.5], np.float32), np.array([0.0, 5.0])


def test_items_come_back_without_a_pickle(tmp_path):
    rng = np.random.default_rng(0)
    pairs = Items("spearman", rng.normal(size=40), rng.uniform(0, 5, 40), np.stack([np.arange(40), np.arange(40) // 2]))
    rows = Items("accuracy", rng.integers(0, 3, 300), rng.integers(0, 3, 300))
    given = {"a/spearman": pairs, "b/accuracy": rows, "average": ["a/spearman", ["b/accuracy", "b/f1"]]}
    said = keep_items(tmp_path, {"both": Twofold(given)}, {"both": ["dev", "test"]})
    assert said == {"file": FILE, "version": 1, "scores": 2}
    found = read_items(tmp_path)
    assert found["test/both/average"] == ["test/both/a/spearman", ["test/both/b/accuracy", "test/both/b/f1"]]
    assert found["test/both/a/spearman"].values_N == pytest.approx(pairs.values_N, abs=1e-6)
    assert (found["test/both/a/spearman"].units_UN == pairs.units_UN).all()
    assert (found["test/both/b/accuracy"].gold_N == rows.gold_N).all()
    with np.load(tmp_path / FILE, allow_pickle=False) as arrays:  # reads all of them, or raises
        assert all(arrays[name].dtype != object for name in arrays)
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_a_damaged_file_is_named_and_a_missing_one_is_nothing(tmp_path):
    assert read_items(tmp_path) == {}
    keep_items(
        tmp_path, {"both": Twofold({"a/spearman": Items("spearman", np.ones(3), np.ones(3))})}, {"both": ["test"]}
    )
    (tmp_path / FILE).write_bytes((tmp_path / FILE).read_bytes()[:200])
    with pytest.raises(ValueError, match=f"{FILE} is damaged"):
        read_items(tmp_path)


@pytest.mark.parametrize("change", [
    {"0.gold": np.zeros(20 << 20)}, {"0.gold": np.ones(2)}, {"0.values": np.ones(0), "0.gold": np.ones(0)},
    {"0.units": np.full((1, 3), 2**40)}, {"about": np.frombuffer(b"[" * 10**5, np.uint8)},
    {"about": np.frombuffer(b'{"version": 1, "averages": {"a": 1}, "scores": {}}', np.uint8)},
    {"about": np.frombuffer(b'{"version": 1, "averages": {}, "scores": []}', np.uint8)},
    {"about": np.frombuffer(b'{"version": 1, "averages": {"a": ["b"], "b": [["a"]]}, "scores": {}}', np.uint8)},
])  # fmt: skip
def test_a_strangers_file_is_refused_before_it_takes_memory(tmp_path, change):
    keep_items(
        tmp_path, {"both": Twofold({"a/spearman": Items("spearman", np.ones(3), np.ones(3))})}, {"both": ["test"]}
    )
    with np.load(tmp_path / FILE) as arrays:
        np.savez_compressed(tmp_path / FILE, **(dict(arrays) | change))
    with pytest.raises(ValueError, match=f"{FILE} is damaged"):
        read_items(tmp_path)


def test_the_demos_items_give_its_scores_again(tmp_path, bag_of_letters):
    demo = Demo()
    scores = demo(bag_of_letters, "dev")
    keep_items(tmp_path, {"demo": demo}, {"demo": ["dev"]})
    found = read_items(tmp_path)
    for name in ("lee", "simlex", "wordsim"):
        items = found[f"dev/demo/{name}/spearman"]
        assert 100 * spearmanr(items.values_N, items.gold_N)[0] == pytest.approx(scores[f"{name}/spearman"], abs=0.05)
    assert found["dev/demo/average"] == [f"dev/demo/{name}/spearman" for name in ("lee", "simlex", "wordsim")]
    assert len(np.unique(found["dev/demo/lee/spearman"].units_UN)) == 50


def test_declutrs_averages_name_the_scores_they_are_the_means_of(bag_of_letters):
    part = Twofold({"CR/accuracy": Items("accuracy", np.zeros(2), np.ones(2))})
    row = Declutr({"transfer": part})
    row.last = bag_of_letters, {"transfer/CR/accuracy": 0.0, "transfer/MRPC/accuracy": 1.0, "transfer/MRPC/f1": 1.0}
    items = row.items("test")
    (name,) = (name for name in items if name.startswith("downstream_without_MR_"))
    assert items[name] == [["transfer/CR/accuracy"], ["transfer/MRPC/accuracy", "transfer/MRPC/f1"]]
    assert items["transfer/CR/accuracy"] is part.given["CR/accuracy"]
    assert row.items("dev") == {}


def test_names_are_put_under_a_prefix_at_every_depth():
    assert under("dev/x/", {"average": ["a", ["b", ["c"]]]}) == {"dev/x/average": ["dev/x/a", ["dev/x/b", ["dev/x/c"]]]}


@pytest.mark.parametrize(("when", "splits"), [("before", ["dev"]), ("after", ["dev", "test"])])
def test_only_pairs_are_stored_and_before_training_only_those_of_the_first_split(tmp_path, when, splits):
    class Unpaired(Evaluator):
        splits = ("test",)

    keep_cosines(tmp_path, when, {"pairs": Twofold({}), "other": Unpaired()}, encode=lambda texts: None)
    stored = json.loads((tmp_path / "plots" / f"cosines_{when}.json").read_text())
    assert stored == {"pairs": {split: [[0.25, 0.5], [0.0, 5.0]] for split in splits}}
