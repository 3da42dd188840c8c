"""Search and recall among captions, against loops over all pairs."""

import gzip
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from toys import ready

from cse.errors import MissingResource, UserError
from cse.eval.retrieval import Retrieval, ranks_of_same_image, top_k
from cse.score import values

WORDS = ["dog", "cat", "bus", "tree", "boat", "hat"]


@pytest.fixture
def folder(tmp_path) -> Path:
    """Six images of three captions in one plain file, four of two in a packed one."""
    lines = [f"{i}.jpg\t{j}\t{WORDS[i] * (j + 1)} in the park" for i in range(6) for j in range(3)]
    (tmp_path / "val.tsv").write_text("\n".join(lines) + "\n")
    lines = [f"t{i}.jpg\t{j}\t{'a' * j}{WORDS[i]} by the sea" for i in range(4) for j in range(2)]
    (tmp_path / "test.tsv.gz").write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))
    return tmp_path


def evaluator(folder: Path | None, **changes) -> Retrieval:
    options = dict(
        rows={"val.tsv": 18, "test.tsv.gz": 8},
        parts={"dev": ["val.tsv"], "test": ["test.tsv.gz"]},
        ks=[1, 5],
        search=["val.tsv", "test.tsv.gz"],
        queries=["a dog in a park", "sea"],
        top_k=2,
    )
    return Retrieval(None if folder is None else str(folder), **(options | changes))


def cosine(x: np.ndarray, y: np.ndarray) -> float:
    return float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))


def test_captions_of_which_no_image_has_two_are_refused(folder):
    (folder / "val.tsv").write_text("".join(f"{i}.jpg\t0\t{word}\n" for i, word in enumerate(WORDS)))
    with pytest.raises(UserError, match=r"val\.tsv .* no image has two captions"):
        ready(evaluator(folder, rows={}))


@pytest.mark.parametrize("chunk", [1, 40, 2**20])
def test_ranks_are_those_of_a_loop_for_any_chunk(monkeypatch, chunk):
    monkeypatch.setattr("cse.eval.geometry.MAX_COSINES", chunk)
    rng = np.random.default_rng(0)
    images = np.array([0, 1, 0, 2, 1, 0, 3, 2])
    vectors = rng.standard_normal((8, 4))
    expected = {}
    for i in range(8):
        same = [cosine(vectors[i], vectors[j]) for j in range(8) if j != i and images[j] == images[i]]
        other = [cosine(vectors[i], vectors[j]) for j in range(8) if images[j] != images[i]]
        if same:  # image 3 has one caption: no positive, no query
            expected[i] = 1 + sum(value >= max(same) for value in other)
    ranks = ranks_of_same_image(vectors, images)
    assert {i: ranks[i] for i in expected} == expected


def test_a_perfect_encoder_has_rank_1_and_a_collapsed_one_the_worst():
    images = np.repeat(np.arange(5), 3)
    assert (ranks_of_same_image(np.eye(5)[images], images) == 1).all()
    assert (ranks_of_same_image(np.ones((15, 4)), images) == 13).all()  # behind all 12 captions of other images


def test_the_nearest_texts_are_those_of_a_loop():
    rng = np.random.default_rng(1)
    queries, corpus = rng.standard_normal((3, 4)), rng.standard_normal((9, 4))
    names = [f"text {i}" for i in range(9)]
    found = top_k(queries, corpus, ["p", "q", "r"], names, 4)
    for query, vector in zip("pqr", queries, strict=True):
        expected = sorted(((cosine(vector, row), name) for row, name in zip(corpus, names, strict=True)), reverse=True)
        assert [name for _, name in found[query]] == [name for _, name in expected[:4]]
        assert [value for value, _ in found[query]] == pytest.approx([value for value, _ in expected[:4]])


def test_recall_of_each_split_and_the_hits_of_the_search(folder, bag_of_letters):
    encode, found = Mock(wraps=bag_of_letters), ready(evaluator(folder))
    dev, test = values(of_dev := found(encode, "dev")), values(found(encode, "test"))
    (captions,), (searched,) = (call.args for call in encode.call_args_list)
    assert set(dev) == {"recall@1", "recall@5", "median_rank"}
    ranks = ranks_of_same_image(bag_of_letters(captions), np.repeat(np.arange(6), 3))
    assert dev["recall@1"] == 100 * np.mean(ranks <= 1)
    assert dev["recall@5"] == 100 * np.mean(ranks <= 5) >= dev["recall@1"]
    assert len(searched) == 8 + 26 + 2
    assert test["recall@5"] > 0
    assert ({one.rows for one in of_dev}, found.source()["searched"]) == ({18}, 26)
    assert [len(hits) for hits in found.source()["top"].values()] == [2, 2]


def test_the_captions_of_an_image_are_one_unit_and_one_alone_is_no_query(folder, bag_of_letters):
    (folder / "val.tsv").write_text((folder / "val.tsv").read_text() + "alone.jpg\t0\ta caption\n")
    recall, *_ = ready(evaluator(folder, rows={"val.tsv": 19, "test.tsv.gz": 8}))(bag_of_letters, "dev")
    assert (recall.rows, len(recall.items.values_N)) == (18, 18)
    assert recall.items.units_UN.shape == (1, 18)
    assert len(np.unique(recall.items.units_UN)) == 6


def test_missing_and_damaged_captions_are_named(folder):
    with pytest.raises(MissingResource, match=r"captions"):
        evaluator(None).prepare()
    with pytest.raises(UserError, match=r"val\.tsv .*20"):
        evaluator(folder, rows={"val.tsv": 20, "test.tsv.gz": 8}).prepare()
    packed = folder / "test.tsv.gz"
    packed.write_bytes(packed.read_bytes()[:20])
    with pytest.raises(UserError, match=r"test\.tsv\.gz"):
        evaluator(folder).prepare()
    (folder / "val.tsv").write_text("1.jpg\tno caption\n")
    with pytest.raises(UserError, match=r"val\.tsv, line 1"):
        evaluator(folder).prepare()


def test_own_files_of_captions_and_missing_ones_left_out(folder, bag_of_letters):
    mine = ready(evaluator(folder, rows={}, ks=[3], parts={"test": ["test.tsv.gz"]}, search=["val.tsv"]))
    assert set(values(mine(bag_of_letters, "test"))) == {"recall@3", "median_rank"}
    assert mine.source()["searched"] == 18
    (folder / "val.tsv").unlink()
    with pytest.raises(MissingResource, match=r"val\.tsv"):
        evaluator(folder).prepare()
    rest = ready(evaluator(folder, allow_partial=True))
    assert rest.splits == ("test",)
    assert "recall@1" in values(rest(bag_of_letters, "test"))
    assert "val.tsv" in rest.source()["problems"][0]
    unsearched = ready(evaluator(folder, search=[], parts={"test": ["test.tsv.gz"]}))
    assert "recall@1" in values(unsearched(bag_of_letters, "test"))
    assert unsearched.source()["top"] == {}


def test_files_of_as_many_captions_have_other_items(folder, bag_of_letters):
    """Every item's right answer is a hit, so only the texts and the images say which items they are."""
    found = {}
    for name, swap in (("same", ("", "")), ("texts", ("park", "sea")), ("images", ("1.jpg\t2", "0.jpg\t2"))):
        (own := folder / name).mkdir()
        (own / "val.tsv").write_text((folder / "val.tsv").read_text().replace(*swap))
        recall, *_ = ready(evaluator(own, parts={"dev": ["val.tsv"]}, search=[]))(bag_of_letters, "dev")
        found[name] = recall.items.digest
    recall, *_ = ready(evaluator(folder))(bag_of_letters, "dev")
    assert found["same"] == recall.items.digest != ""
    assert len({*found.values()}) == 3


def test_files_that_are_not_read_need_not_be_there(folder, bag_of_letters):
    found = ready(evaluator(folder, parts={"test": ["test.tsv.gz"]}, search=["none.tsv"], queries=[]))
    assert found(bag_of_letters, "test")
