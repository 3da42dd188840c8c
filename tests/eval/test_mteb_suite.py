"""MTEB on local data, without a network: scores, resuming, and no encoder gets another one's cached scores."""

import json
from pathlib import Path

import numpy as np
import pytest
from toys import ready

from cse.errors import MissingResource, UserError
from cse.eval import mteb_suite
from cse.eval.mteb_suite import Mteb, encoder_digest
from cse.score import values
from cse.types import Document, Query


def evaluator(cache: Path, **changes) -> Mteb:
    options = dict(benchmark=None, tasks=["STSBenchmark"], languages=["eng"], name="cse/test", batch_size=16)
    return Mteb(cache=str(cache), **(options | changes))


def test_a_digest_knows_the_prefixes_of_queries_and_documents(bag_of_letters):
    def with_prefix(side, prefix):
        return lambda texts: bag_of_letters([f"{prefix}{text}" if type(text) is side else str(text) for text in texts])

    plain = encoder_digest(bag_of_letters)
    others = [encoder_digest(with_prefix(side, p)) for side in (Query, Document) for p in ("kadan: ", "lofel: ")]
    assert encoder_digest(with_prefix(Document, "")) == plain
    assert len({plain, *others}) == 5


def test_queries_and_documents_of_a_search_are_encoded_as_such(bag_of_letters):
    pytest.importorskip("mteb", reason="needs mteb (pip install .[mteb])")
    from mteb.types import PromptType

    sides = {}

    def encode(texts):
        sides.update({str(text): type(text) for text in texts})
        return bag_of_letters([str(text) for text in texts])

    model = mteb_suite._adapter(encode, "cse/test", "1")
    for side, texts in ((PromptType.query, ["who"]), (PromptType.document, ["what"]), (None, ["a", "b"])):
        assert model.encode([{"text": texts}], prompt_type=side).shape == (len(texts), 26)
    assert sides == {"who": Query, "what": Document, "a": str, "b": str}


def test_a_benchmark_and_tasks_exclude_each_other(tmp_path):
    with pytest.raises(UserError, match=r"benchmark=MTEB\(eng, v1\) and tasks="):
        evaluator(tmp_path, benchmark="MTEB(eng, v1)")
    assert evaluator(tmp_path, tasks=None).benchmark == "MTEB(eng, v1)"


def test_mteb_is_named_when_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(mteb_suite.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingResource, match=r"\.\[mteb\]"):
        evaluator(tmp_path).prepare()


def test_a_digest_tells_encoders_and_their_lengths_apart(bag_of_letters):
    """Encoders that truncate at different lengths differ only on long texts."""

    def cut_at(words):
        return encoder_digest(lambda texts: bag_of_letters([" ".join(text.split()[:words]) for text in texts]))

    found = [encoder_digest(bag_of_letters), encoder_digest(lambda texts: bag_of_letters(texts) * (1 + 1e-6))]
    found += map(cut_at, (31, 32, 127, 128, 511, 512, 4096, 8192))
    assert len(set(found)) == len(found)
    assert encoder_digest(bag_of_letters) == found[0]


@pytest.fixture(scope="module")
def local_task():
    """A task of mteb's over local data: made-up pairs scored by the letters they share."""
    pytest.importorskip("mteb", reason="needs mteb (pip install .[mteb])")
    from datasets import Dataset, DatasetDict
    from mteb.abstasks.sts import AbsTaskSTS
    from mteb.abstasks.task_metadata import TaskMetadata

    rng = np.random.default_rng(0)
    first = ["".join(rng.choice(list("abcdef"), 8)) for _ in range(40)]
    second = ["".join(rng.choice(list("abcdef"), 8)) for _ in range(40)]
    gold = [len(set(a) & set(b)) + 0.01 * i for i, (a, b) in enumerate(zip(first, second, strict=True))]

    class LocalSTS(AbsTaskSTS):
        metadata = TaskMetadata(
            name="LocalSTS",
            description="made-up pairs",
            dataset={"path": "local/pairs", "revision": "1"},
            type="STS",
            category="t2t",
            eval_splits=["test"],
            eval_langs=["eng-Latn"],
            main_score="cosine_spearman",
            reference=None, date=None, domains=None, task_subtypes=None, license=None, annotations_creators=None,
            dialect=None, sample_creation=None, bibtex_citation=None, modalities=["text"],
        )  # fmt: skip

        def load_data(self, **_):
            columns = {"sentence1": first, "sentence2": second, "score": gold}
            self.dataset = DatasetDict({"test": Dataset.from_dict(columns)})
            self.data_loaded = True

    return LocalSTS()


@pytest.fixture
def counted(bag_of_letters):
    """bag_of_letters with a little noise for each text, so that no cosines tie; counts the texts it encodes."""

    def encode(texts):
        encode.texts += len(texts)
        noise = [np.random.default_rng(list(text.encode())).standard_normal(26) for text in texts]
        return (bag_of_letters(list(texts)) + 0.3 * np.array(noise)).astype(np.float32)

    encode.texts = 0
    return encode


@pytest.fixture
def named(local_task, monkeypatch) -> str:
    """The name of the local task, which mteb knows like its own."""
    monkeypatch.setattr(mteb_suite, "find_task", lambda name, languages: {"LocalSTS": local_task}[name])
    return "LocalSTS"


def test_a_task_is_scored_cached_and_never_served_to_another_encoder(named, local_task, tmp_path, counted):
    from scipy.stats import spearmanr

    from cse.eval.sts import cosines

    suite = ready(evaluator(tmp_path, tasks=[named]))
    scores = values(suite(counted, "test"))
    local_task.load_data()
    rows = local_task.dataset["test"]
    expected = 100 * spearmanr(cosines(counted(rows["sentence1"]), counted(rows["sentence2"])), rows["score"])[0]
    assert scores["LocalSTS/cosine_spearman"] == pytest.approx(expected, abs=1e-3)
    assert scores["STS/average"] == scores["average"] == scores["LocalSTS/cosine_spearman"]

    # again: everything from the cache, except the probes that identify the encoder
    counted.texts = 0
    assert values(ready(evaluator(tmp_path, tasks=[named]))(counted, "test")) == scores
    assert counted.texts == len(mteb_suite.PROBES) + 2  # one of them as a query and as a document too

    # another encoder with the same evaluator and cache must get its own score
    other = values(suite(lambda texts: counted(texts)[:, ::3], "test"))
    assert other["average"] != scores["average"]
    kept = sorted((tmp_path / "results" / "cse__test").glob("*/LocalSTS.json"))
    assert len(kept) == 2
    assert all(json.loads(path.read_text())["task_name"] == "LocalSTS" for path in kept)
    assert suite.source()["model"]["revision"] in {path.parent.name for path in kept}


@pytest.mark.nightly
def test_an_own_task_is_scored_anew_each_time(local_task, tmp_path, counted):
    """Its data has no version, by which a changed row could be told."""
    suite = ready(evaluator(tmp_path, tasks=[local_task]))
    scores = values(suite(counted, "test"))
    counted.texts = 0
    assert values(suite(counted, "test")) == scores
    assert counted.texts > len(mteb_suite.PROBES)


@pytest.mark.nightly
def test_a_failing_encoder_does_not_pass_for_missing_data(local_task, tmp_path, counted):
    def fails(texts):
        if len(texts) > len(mteb_suite.PROBES):
            raise MemoryError
        return counted(texts)

    for preloaded in (True, False):
        suite = ready(evaluator(tmp_path, tasks=[local_task], allow_partial=True))
        if preloaded:  # else mteb loads it itself, as it does for its own tasks
            local_task.load_data()
        local_task.data_loaded = preloaded
        with pytest.raises(MemoryError):
            suite(fails, "test")


@pytest.mark.nightly
def test_a_named_task_has_the_benchmarks_splits_and_subsets(tmp_path):
    """Dev is not averaged into test, nor en-de into en."""
    mteb = pytest.importorskip("mteb", reason="needs mteb (pip install .[mteb])")
    tasks = list(mteb.get_benchmark("MTEB(eng, v1)").tasks)
    suite = ready(evaluator(tmp_path, tasks=[task.metadata.name for task in tasks]))
    assert [(list(t.eval_splits), list(t.hf_subsets)) for t in suite.tasks] == [
        (list(t.eval_splits), list(t.hf_subsets)) for t in tasks
    ]
    other = ready(evaluator(tmp_path, tasks=["STS22", "MTOPDomainClassification"], languages=["deu"]))
    assert [(list(t.eval_splits), list(t.hf_subsets)) for t in other.tasks] == [(["test"], ["de"])] * 2
    for unknown, key in (({"tasks": ["STSBenchmark"], "languages": ["deu"]}, r"tasks=.*STSBenchmark.*languages"),
                         ({"tasks": ["STSBenchmrk"]}, "tasks=.*STSBenchmrk"),
                         ({"tasks": None, "benchmark": "MTEB(eng, v9)"}, r"benchmark=MTEB\(eng, v9\)")):  # fmt: skip
        with pytest.raises(UserError, match=key):
            evaluator(tmp_path, **unknown).prepare()


@pytest.mark.nightly
@pytest.mark.parametrize(("tasks", "searches"), [
    (["STSBenchmark", "Banking77Classification"], False), (["STSBenchmark", "NFCorpus"], True),
    (["AskUbuntuDupQuestions"], True), (["CQADupstackRetrieval"], True),
])  # fmt: skip
def test_only_retrieval_and_reranking_encode_queries_and_documents(tmp_path, tasks, searches):
    pytest.importorskip("mteb", reason="needs mteb (pip install .[mteb])")
    assert ready(evaluator(tmp_path, tasks=tasks)).searches == searches


@pytest.mark.nightly
def test_a_task_without_data_is_named_and_the_others_are_kept(local_task, tmp_path, counted):
    tasks = [local_task, "STSBenchmark"]
    with pytest.raises(MissingResource, match=r"1 of 2 .*STSBenchmark.*allow_partial=true"):
        ready(evaluator(tmp_path, tasks=tasks))(counted, "test")
    with pytest.raises(MissingResource) as error:
        ready(evaluator(tmp_path, tasks=["STSBenchmark"], allow_partial=True))(counted, "test")
    assert "allow_partial" not in str(error.value)
    suite = ready(evaluator(tmp_path, tasks=tasks, allow_partial=True))
    assert set(values(suite(counted, "test"))) == {"LocalSTS/cosine_spearman"}
    assert [problem.partition(":")[0] for problem in suite.source()["problems"]] == ["STSBenchmark"]


@pytest.mark.nightly
def test_the_papers_56_datasets_and_their_metrics(tmp_path):
    pytest.importorskip("mteb", reason="needs mteb (pip install .[mteb])")
    suite = ready(evaluator(tmp_path, benchmark="MTEB(eng, v1)", tasks=None))
    kinds: dict[str, int] = {}
    metrics: dict[str, set[str]] = {}
    for task in suite.tasks:
        kind = task.metadata.type
        kinds[kind] = kinds.get(kind, 0) + 1
        metrics.setdefault(kind, set()).add(mteb_suite.metric(task))
    # Table 2's columns: Class12 Clust11 Pair3 Rer4 Retr15 STS10 Sum1
    assert kinds == {
        "Classification": 12, "Clustering": 11, "PairClassification": 3, "Reranking": 4, "Retrieval": 15, "STS": 10,
        "Summarization": 1,
    }  # fmt: skip
    assert metrics["PairClassification"] == {"cosine_ap"}
    assert metrics["Classification"] == {"accuracy"}
    assert metrics["Retrieval"] == {"ndcg_at_10"}
    assert metrics["STS"] == metrics["Summarization"] == {"cosine_spearman"}
    assert len(suite.groups()["average"]) == 56
    assert len(suite.groups()) == 8


@pytest.mark.nightly
def test_minilm_on_stsb_is_the_leaderboards(shared, minilm_encode, tmp_path):
    """mteb's own task with the shared copy of its data put in: 82.0325 on the public leaderboard."""
    mteb = pytest.importorskip("mteb", reason="needs mteb (pip install .[mteb])")
    from datasets import Dataset, DatasetDict

    from cse.eval.files import senteval_folder
    from cse.eval.senteval.data import read_table

    pairs = read_table(senteval_folder(str(shared / "data" / "senteval")), "STS-B", "test")
    task = mteb.get_task("STSBenchmark")
    first, second = pairs.sentences
    columns = {"sentence1": first, "sentence2": second, "score": pairs.labels_N.tolist()}
    task.dataset, task.data_loaded = DatasetDict({"test": Dataset.from_dict(columns)}), True
    scores = values(ready(evaluator(tmp_path, tasks=[task]))(minilm_encode("mean"), "test"))
    assert scores["STSBenchmark/cosine_spearman"] == pytest.approx(82.0325, abs=0.001)
