"""Search in BEIR's layout: the measures against pytrec_eval, equal cosines, sides, what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from run_folders import results_of
from toys import ready
from typed import exit_code

from cse.errors import MissingResource, UserError
from cse.eval.beir import Beir, measures, ranking
from cse.lab.report.numbers.resampling import OVER_ITEMS, resample, score_on
from cse.model.export import save_encoder
from cse.model.load import load_encoder
from cse.score import values
from cse.types import Document, Query

CORPUS = {"a": "dogs", "b": "cats", "c": "birds of the sea", "d": "cats"}
QUERIES = {"1": "dog", "2": "cat", "3": "sea bird", "4": "of no split"}
HEADER = "query-id\tcorpus-id\tscore\n"


@pytest.fixture
def folder(tmp_path) -> Path:
    """Four documents and queries; query 3 is of dev, the others of test, but 4 is of none."""
    (tmp_path / "qrels").mkdir()
    corpus = [{"_id": key, "title": "", "text": text} for key, text in CORPUS.items()]
    corpus[2] |= {"title": "birds", "text": "of the sea"}
    del corpus[0]["title"]
    queries = [{"_id": key, "text": text, "metadata": {}} for key, text in QUERIES.items()]
    for name, rows in (("corpus", corpus), ("queries", queries)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "qrels/dev.tsv").write_text(HEADER + "3\tc\t2\n")
    (tmp_path / "qrels/test.tsv").write_text(HEADER + "1\ta\t1\n2\tb\t1\n2\ta\t0\n")
    (tmp_path / "qrels/train.tsv").write_text("not read")
    return tmp_path


def made() -> tuple[np.ndarray, np.ndarray, list[dict[int, int]]]:
    """Queries and documents of four ones in twelve numbers, whose cosines are quarters; 40 judged documents a query."""
    rng = np.random.default_rng(0)

    def fours(n: int) -> np.ndarray:
        return np.array([np.isin(np.arange(12), rng.choice(12, 4, replace=False)) for _ in range(n)], np.float32)

    queries, corpus = fours(6), fours(130)
    judged = [{int(i): int(rng.integers(-1, 4)) for i in rng.choice(130, 40, replace=False)} for _ in range(5)]
    return queries, corpus, [*judged, {3: 0, 4: 0}]


PYTREC = [
    [0.071567, 0.25, 0.038462, 0.769231],
    [0.159359, 0.333333, 0.071429, 0.785714],
    [0.124333, 0.166667, 0.08, 0.8],
    [0.212226, 1.0, 0.074074, 0.666667],
    [0.315163, 0.5, 0.166667, 0.708333],
    [0.0, 0.0, 0.0, 0.0],
]
"""ndcg_cut_10, recip_rank of the first ten, recall_10 and recall_100 by pytrec_eval-terrier 0.5.11, of documents named
d0 to d129, each query's cosines as its run."""


@pytest.mark.parametrize("cosines", [1, 300, 2**20])
def test_the_measures_are_those_of_pytrec_eval(monkeypatch, cosines):
    monkeypatch.setattr("cse.eval.geometry.MAX_COSINES", cosines)
    queries, corpus, judged = made()
    order = sorted(range(130), key=lambda i: f"d{i}", reverse=True)
    place = {i: number for number, i in enumerate(order)}
    found = ranking(queries, corpus[order])
    scored = measures(found, [{place[i]: score for i, score in one.items()} for one in judged])
    np.testing.assert_allclose(np.transpose([*scored.values()]), PYTREC, atol=1e-6)


def test_a_folder_is_scored_by_split(folder, bag_of_letters, caplog):
    caplog.set_level("INFO")
    evaluator = ready(Beir(str(folder)))
    assert evaluator.splits == ("dev", "test")
    assert "test: 2 queries; 2 more" in caplog.text
    assert list(evaluator.corpus) == ["d", "c", "b", "a"]
    assert evaluator.corpus["c"] == CORPUS["c"]
    scores = evaluator(bag_of_letters, "test")
    found = values(scores)
    assert found == pytest.approx({"ndcg@10": 100 * (1 + 1 / np.log2(3)) / 2, "mrr@10": 75, "recall@10": 100,
                                   "recall@100": 100})  # fmt: skip
    assert {score.rows for score in scores} == {2}
    for score in scores:
        assert score_on(score.items, np.arange(2)) == pytest.approx(score.value)
    assert resample(scores[0].items, 0).std() > 0
    assert values(evaluator(bag_of_letters, "dev"))["mrr@10"] == 100
    assert {*evaluator.texts()} == {*CORPUS.values(), *QUERIES.values()}
    rows = {name: file["rows"] for name, file in evaluator.source()["files"].items()}
    assert rows == {"corpus.jsonl": 4, "queries.jsonl": 4, "qrels/dev.tsv": 1, "qrels/test.tsv": 3}  # without headers
    assert "empty" not in caplog.text
    (folder / "qrels/dev.tsv").unlink()
    assert Beir(str(folder)).splits == ("test",)


def test_each_side_is_encoded_as_what_it_is(folder, bag_of_letters):
    asked = []
    ready(Beir(str(folder)))(lambda texts: asked.extend(texts) or bag_of_letters(texts), "test")
    assert asked == [Query("dog"), Query("cat"), *map(Document, [CORPUS[key] for key in "dcba"])]
    assert Query("a") != "a" != Document("a") != Query("a")
    assert len({"a", Query("a"), Document("a"), Document("a")}) == 3


@pytest.mark.parametrize(("file", "text", "said"), [
    ("qrels/test.tsv", "1\ta\t1\n", r"test\.tsv, line 1: the header"),
    ("qrels/test.tsv", HEADER + "1\ta\n", r"test\.tsv, line 2"),
    ("qrels/test.tsv", HEADER + "1\ta\t1\n1\tb\t0.5\n", r"test\.tsv, line 3"),
    ("qrels/test.tsv", HEADER + "1\tx\t1\n", r"line 2: corpus\.jsonl has no _id x"),
    ("qrels/dev.tsv", HEADER + "9\ta\t1\n", r"dev\.tsv, line 2: queries\.jsonl has no _id 9"),
    ("corpus.jsonl", '{"_id": "a", "text": "x"}\n{"_id": "a", "text": "y"}\n', r"corpus\.jsonl, line 2: .*a occurs tw"),
    ("corpus.jsonl", '{"idkey": "b", "text": "x"}\n', r"corpus\.jsonl, line 1: .*_id.*idkey, text"),
    ("corpus.jsonl", '{"_id": "a", "contents": "x"}\n', r"corpus\.jsonl, line 1: .*text.*_id, contents"),
    ("corpus.jsonl", '{"_id": "a"\n', r"corpus\.jsonl, line 1: not JSON"),
    ("queries.jsonl", '{"_id": "1", "text": 3}\n', r"queries\.jsonl, line 1"),
    ("queries.jsonl", "[]\n", r"queries\.jsonl, line 1"),
])  # fmt: skip
def test_a_file_that_is_not_of_the_layout_is_named_with_its_line(folder, file, text, said):
    (folder / file).write_text(text)
    with pytest.raises(UserError, match=said):
        ready(Beir(str(folder)))


def test_documents_without_text_are_counted_and_the_first_is_named(folder, caplog):
    lines = (folder / "corpus.jsonl").read_text() + '{"_id": "e", "title": "", "text": " "}\n{"_id": "f", "text": ""}\n'
    (folder / "corpus.jsonl").write_text(lines)
    assert ready(Beir(str(folder))).corpus["e"] == ""
    (said,) = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert "2 of 6, the first: line 5, _id e" in said


def test_what_is_missing_is_named(folder, tmp_path):
    with pytest.raises(UserError, match="folder"):
        Beir(None)
    (folder / "qrels/dev.tsv").write_text(HEADER)
    with pytest.raises(MissingResource, match=r"dev\.tsv holds 0"):
        ready(Beir(str(folder)))
    with pytest.raises(MissingResource, match="there is no such folder"):
        ready(Beir(str(tmp_path / "none")))
    (folder / "queries.jsonl").unlink()
    with pytest.raises(MissingResource, match=r"queries\.jsonl is missing"):
        ready(Beir(str(folder)))


def test_a_search_whose_prompts_the_pooling_leaves_out_is_refused_before_the_folder(
    small_run, cse_train, folder, tiny_bert, tmp_path, capfd
):
    save_encoder(load_encoder(tiny_bert, "mean"), base := tmp_path / "base")
    changes = {"config_sentence_transformers.json": {"prompts": {"query": "a: ", "document": ""}}}
    changes["1_Pooling/config.json"] = {"include_prompt": False}
    for name, change in changes.items():
        (base / name).write_text(json.dumps(json.loads((base / name).read_text()) | change))
    searched = ["eval=beir", f"eval.folder={folder}"]
    trained = [*small_run, f"model.name={base}", "model.pooling=null", "trainer.select=null"]
    scored = [f"checkpoint={base}", "tracker=none", f"hydra.run.dir={tmp_path}/scored"]
    assert cse_train([*trained, *searched]) == exit_code("cse-eval", *scored, *searched) == 2
    assert capfd.readouterr().err.count("include_prompt") >= 2
    assert not (tmp_path / "run").exists()
    assert not (tmp_path / "scored").exists()
    assert cse_train([*trained, "dry_run=true"]) == 0


def test_a_score_without_a_measure_is_refused_before_the_folder(small_run, cse_train, folder, tmp_path, capfd):
    words = ["eval=beir", f"eval.folder={folder}", "trainer.select=dev/beir/map"]
    assert cse_train([*small_run, *words]) == 2
    assert "dev/beir/ndcg@10" in capfd.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_run_is_selected_and_compared_by_it(small_run, cse_train, folder, tmp_path, capfd):
    words = ["eval=beir", f"eval.folder={folder}", "trainer.select=beir"]
    assert cse_train([*small_run, *words]) == 0
    assert "beir" in capfd.readouterr().out
    results = results_of(tmp_path / "run")
    assert results["config"]["trainer"]["select"] == "dev/beir/ndcg@10"
    assert {"dev/beir/ndcg@10", "test/beir/recall@100"} <= results["metrics"].keys()
    assert results["overlap"]["sets"].keys() == {"beir"}
    assert "test/beir/ndcg@10" in (tmp_path / "run/best/README.md").read_text()
    other = ["model=minilm", "eval=beir", f"eval.folder={folder}", "tracker=none"]
    for pooling in ("cls", "mean"):
        assert exit_code("cse-eval", *other, f"pooling={pooling}", f"hydra.run.dir={tmp_path}/evals/{pooling}") == 0
    report = [f"runs={tmp_path}/evals", "metrics=[test/beir/ndcg@10]", f"out={tmp_path}/report"]
    assert exit_code("cse-report", *report) == 0
    assert OVER_ITEMS in (tmp_path / "report/differences.csv").read_text()
