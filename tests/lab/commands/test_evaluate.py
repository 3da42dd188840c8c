"""cse-eval as one uses it: any encoder, and the same scores in every file."""

import csv
import json
import re
import shutil
from collections.abc import Callable

import datasets
import numpy as np
import pytest
import torch
from huggingface_hub import constants
from made_up import Rows, pairs
from run_folders import results_of
from scipy.stats import spearmanr
from typed import exit_code

from cse.eval.items import read_items
from cse.lab.folder.facts import data_digest
from cse.lab.run.evaluation import load_subject
from cse.lab.settings.compose import composed
from cse.score import in_short


def spearman(rows: Rows, encode: Callable[[list[str]], np.ndarray]) -> float:
    """Pair by pair, from the definition: cosine of the two vectors, rank correlation with the scores."""
    cosines = []
    for first, second, _ in rows:
        x_D, y_D = (np.asarray(encode([text])[0], np.float64) for text in (first, second))
        cosines.append(x_D @ y_D / (np.linalg.norm(x_D) * np.linalg.norm(y_D)))
    return 100 * spearmanr(cosines, [gold for _, _, gold in rows])[0]


def test_a_run_scores_as_it_did_when_it_ended(small_run, cse_train, cse_eval, tmp_path, capsys):
    """The run's folder and its best/ are the same encoder; pooling comes with it."""
    assert cse_train([*small_run, "seed=7"]) == 0
    assert cse_eval(f"checkpoint={tmp_path}/run") == 0
    assert cse_eval(f"checkpoint={tmp_path}/run/best", f"hydra.run.dir={tmp_path}/again") == 0
    assert [results_of(tmp_path / name)["seed"] for name in ("eval", "again")] == [7, 7]
    trained, metrics = results_of(tmp_path / "run")["metrics"], results_of(tmp_path / "eval")["metrics"]
    assert set(metrics) == {f"{split}/stsb/{kind}" for split in ("dev", "test") for kind in ("spearman", "pearson")}
    assert metrics == pytest.approx({name: trained[name] for name in metrics}, abs=1e-3)
    assert metrics == results_of(tmp_path / "again")["metrics"]
    assert "cls pooling" in results_of(tmp_path / "eval")["encoder"]
    assert results_of(tmp_path / "eval")["overlap"]["texts"] == 200
    assert results_of(tmp_path / "eval")["overlap"] == results_of(tmp_path / "run")["overlap"]
    shutil.rmtree(tmp_path / "cache" / "text")
    assert cse_eval(f"checkpoint={tmp_path}/run", f"hydra.run.dir={tmp_path}/third") == 0
    assert results_of(tmp_path / "third")["overlap"] is None
    assert results_of(tmp_path / "third")["metrics"] == metrics
    assert re.search(r"^overlap +not known", capsys.readouterr().out, re.MULTILINE)


def test_one_error_names_all_that_a_machine_without_a_hub_lacks(toy_hub, cse_eval, monkeypatch, capsys):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert cse_eval("checkpoint=lab/nothing", "eval=stsb_multi", "eval.stsb_multi.languages=[de,ru]") == 2
    said = " ".join(capsys.readouterr().err.split())
    assert said.count("cannot be reached") == 1
    assert "lacks lab/nothing, stsb_multi:de, stsb_multi:ru. " in said
    assert "cse-data fetch cse-eval" in said
    assert "checkpoint=PLACE paths.stsb_multi=PLACE. " in said


def test_a_sentence_transformers_folder(cse_eval, tiny_bert, tmp_path, senteval):
    """Made by sentence-transformers itself, and scored by its own encode, pair by pair."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules as models

    transformer = models.Transformer(tiny_bert)
    made = SentenceTransformer(modules=[transformer, models.Pooling(32, pooling_mode="mean"), models.Normalize()])
    made.save(str(tmp_path / "st"))
    assert cse_eval(f"checkpoint={tmp_path}/st") == 0
    found = results_of(tmp_path / "eval")
    assert found["metrics"]["test/stsb/spearman"] == pytest.approx(spearman(pairs(senteval, "test"), made.encode))
    assert "mean pooling, unit length" in found["encoder"]


def test_a_configured_encoder(cse_eval, tiny_bert, tmp_path):
    assert cse_eval("model=bert", f"model.name={tiny_bert}", "model.pooling=mean", "model.num_layers=1") == 0
    assert cse_eval(f"checkpoint={tiny_bert}", "pooling=mean", f"hydra.run.dir={tmp_path}/two_layers") == 0
    assert results_of(tmp_path / "eval")["metrics"] != results_of(tmp_path / "two_layers")["metrics"]
    assert cse_eval(f"checkpoint={tiny_bert}", "pooling=mean", "model.pooling=cls") == 2


def test_word_vectors(cse_eval, word_vectors, tmp_path, senteval):
    assert cse_eval(f"checkpoint={word_vectors}") == 0
    lines = [line.split() for line in word_vectors.read_text().splitlines()[1:]]
    table = {word: np.array(numbers, float) for word, *numbers in lines}

    def encode(texts: list[str]) -> list[np.ndarray]:
        return [np.mean([table[word] for word in text.split() if word in table], axis=0) for text in texts]

    expected = spearman(pairs(senteval, "test"), encode)
    assert results_of(tmp_path / "eval")["metrics"]["test/stsb/spearman"] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(("kind", "components"), [("pca", 6), ("zca", 5)])
def test_whitening_is_fitted_on_the_text_given(cse_eval, tiny_bert, tmp_path, senteval, sentences, kind, components):
    """Against the eigendecomposition written out: y = (x - mean) U S^(-1/2)."""
    from cse.model.load import load_encoder

    whitening = [f"whitening.kind={kind}", f"whitening.components={components}", f"whitening.fit={sentences}"]
    assert cse_eval(f"checkpoint={tiny_bert}", "pooling=mean", *whitening) == 0
    encoder = load_encoder(tiny_bert, pooling="mean")
    x_ND = encoder.encode(sentences.read_text().splitlines()).astype(np.float64)
    values_D, u_DD = np.linalg.eigh(np.cov(x_ND.T))
    whiten_Dn = u_DD[:, -components:] / np.sqrt(values_D[-components:])

    def encode(texts: list[str]) -> np.ndarray:
        return (encoder.encode(texts) - x_ND.mean(0)) @ whiten_Dn

    found = results_of(tmp_path / "eval")
    assert found["metrics"]["test/stsb/spearman"] == pytest.approx(spearman(pairs(senteval, "test"), encode), abs=0.05)
    assert f"{kind} whitening" in found["encoder"]


def test_all_files_and_the_terminal_have_the_same_scores(cse_eval, tiny_bert, tmp_path, capsys):
    """results.json, scores.csv, scores.md, items and the terminal: the same scores, and what each rests on."""
    assert cse_eval(f"checkpoint={tiny_bert}", "pooling=mean", "eval.stsb.with_sickr=true") == 0
    folder, content = tmp_path / "eval", results_of(tmp_path / "eval")
    source, metrics = content["data"]["stsb"], content["metrics"]
    with open(folder / "scores.csv") as file:
        table = {row["name"]: row for row in csv.DictReader(file)}
    told, page = (re.sub(" +", " ", text) for text in (capsys.readouterr().out, (folder / "scores.md").read_text()))
    assert list(table) == list(metrics)
    for name, row in table.items():
        assert float(row["value"]) == pytest.approx(metrics[name], abs=5e-5)
        kept = {key: str(value) for key, value in content["scores"][name].items()}
        assert {key: row[key] for key in kept} == kept
        assert (row["modified"], row["dtype"], row["protocol"]) == ("True", "fp32", source["protocol"])
        assert row["sha256"] == data_digest(source)
        assert f"torch={content['versions']['torch']}" in row["versions"]
        assert f"| {name} † | {row['value']} | {row['rows']} |" in page
        shown = f"{name} † {in_short(metrics[name])} {row['rows']}"
        assert (shown in told) == name.endswith(("/spearman", "/average"))
    assert f" & {metrics['test/stsb/spearman']:.2f}" in (folder / "scores.tex").read_text()
    items = read_items(folder)["test/stsb/spearman"]  # of every pair, for intervals over them and the histograms
    again = 100 * spearmanr(items.values_N, items.gold_N)[0]
    assert again == pytest.approx(metrics["test/stsb/spearman"], abs=0.1)
    cosines = json.loads((folder / "plots" / "cosines_after.json").read_text())["stsb"]["test"][0]
    assert cosines == pytest.approx(items.values_N.tolist(), abs=1e-6)


def test_a_failure_is_recorded_and_what_was_scored_is_kept(cse_eval, word_vectors, tmp_path, monkeypatch):
    from cse.eval.demo import Demo

    def fails(self, encode, split):
        raise RuntimeError("no more memory")

    monkeypatch.setattr(Demo, "__call__", fails)
    with pytest.raises(RuntimeError):
        cse_eval(f"checkpoint={word_vectors}", "eval=[stsb,demo]", "allow_partial=true")
    found = results_of(tmp_path / "eval")
    assert found["status"] == "failed"
    assert "no more memory" in found["error"]
    assert "test/stsb/spearman" in found["metrics"]


def test_with_m_finished_scores_are_kept(cse_eval, word_vectors, tmp_path, capsys):
    several = ["-m", f"checkpoint={word_vectors}", f"hydra.sweep.dir={tmp_path}/sweep"]
    assert cse_eval(*several) == 0
    (scores,) = (tmp_path / "sweep").glob("*/scores.csv")
    before = scores.stat().st_mtime_ns
    assert cse_eval(*several) == 0
    assert "done before" in capsys.readouterr().out
    assert list((tmp_path / "sweep").glob("*/scores.csv")) == [scores]
    assert scores.stat().st_mtime_ns == before


def test_data_of_splits_that_are_not_chosen_is_not_needed(cse_eval, word_vectors, tmp_path, senteval):
    """demo has no test split, transfer no dev split, and no data here."""
    shutil.copytree(senteval, tmp_path / "copy")
    (tmp_path / "copy" / "STS" / "STSBenchmark" / "sts-test.csv").unlink()
    moved = [f"checkpoint={word_vectors}", "allow_partial=true"]
    for split, other, place in (("dev", "transfer", tmp_path / "copy"), ("test", "demo", senteval)):
        folder = tmp_path / split
        words = [f"splits={split}", f"eval=[stsb,{other}]", f"paths.senteval={place}", f"hydra.run.dir={folder}"]
        assert cse_eval(*moved, *words) == 0
        assert {name.partition("/")[0] for name in results_of(folder)["metrics"]} == {split}
        assert not [one for one in results_of(folder)["data"]["stsb"]["problems"] if "missing" in one]


def test_a_smoke_test_lists_problems_of_given_data_but_not_of_synthetic_data(tmp_path, monkeypatch, senteval):
    words = ["smoke=true", "model=minilm", "eval=stsb", f"paths.cache={tmp_path}/cache"]
    monkeypatch.setenv("CSE_SENTEVAL", str(senteval))  # a smoke test reads only a folder that the command gives
    for name, more in (("synthetic", []), ("given", [f"paths.senteval={senteval}"])):
        assert exit_code("cse-eval", *words, *more, f"hydra.run.dir={tmp_path / name}") == 0
        assert results_of(tmp_path / name)["data"]["stsb"]["problems"]
        assert ("partial: stsb: " in (tmp_path / name / "scores.md").read_text()) is (name == "given")


@pytest.mark.parametrize("kind", ["llama", "modernbert"])
def test_half_precision_leaves_rotary_frequencies_in_float32(tiny, kind):
    """As transformers' from_pretrained(dtype=...) does: rounded, positions of long texts would be off."""
    cfg = composed("evaluate", [f"checkpoint={tiny(kind)}", "pooling=mean", "dtype=bf16", "eval=[]"])
    backbone = load_subject(cfg).encode.func.__self__.backbone
    assert {weight.dtype for weight in backbone.parameters()} == {torch.bfloat16}
    assert {one.dtype for name, one in backbone.named_buffers() if "inv_freq" in name} == {torch.float32}


def test_max_length_and_dtype_reach_the_encoder(cse_eval, tiny_bert, tmp_path):
    found = {}
    for setting in ("max_length=null", "max_length=6", "dtype=bf16", "batch_size=3"):
        folder = tmp_path / setting.replace("=", "_")
        assert cse_eval(f"checkpoint={tiny_bert}", "pooling=mean", setting, f"hydra.run.dir={folder}") == 0
        results = results_of(folder)
        found[setting] = results["metrics"]["dev/stsb/spearman"]
        assert results["precision"] == ("bf16" if setting == "dtype=bf16" else "fp32")
    assert found["max_length=6"] != pytest.approx(found["max_length=null"], abs=1)
    assert found["dtype=bf16"] != found["max_length=null"]
    assert found["dtype=bf16"] == pytest.approx(found["max_length=null"], abs=3)
    assert found["batch_size=3"] == pytest.approx(found["max_length=null"], abs=1e-3)


def test_texts_that_reach_the_maximum_length_are_counted(small_run, cse_train, cse_eval, tiny_bert, tmp_path, senteval):
    """By a run, which encodes most texts before its end, and by cse-eval."""
    from transformers import AutoTokenizer

    from cse.model.export import save_encoder
    from cse.model.load import load_encoder

    encoder = load_encoder(tiny_bert, "mean")
    encoder.tokenizer.longest = 8
    save_encoder(encoder, tmp_path / "short")
    words = [f"model.name={tmp_path}/short", "model.pooling=null", "trainer.max_length=8"]
    assert cse_train([*small_run, *words, "trainer.eval_every=6"]) == 0
    assert cse_eval(f"checkpoint={tmp_path}/run") == 0
    texts = {text for split in ("dev", "test") for row in pairs(senteval, split) for text in row[:2]}
    lengths = [len(ids) for ids in AutoTokenizer.from_pretrained(tiny_bert)([*texts])["input_ids"]]
    expected = {"texts": len(texts), "reach_max_length": sum(length >= 8 for length in lengths)}
    assert 0 < expected["reach_max_length"] < len(texts)
    for name in ("run", "eval"):
        assert results_of(tmp_path / name)["truncation"] == {"stsb": expected}


def test_a_dry_run_shows_what_would_be_scored_and_scores_nothing(
    cse_eval, tiny_bert, tmp_path, sentences, capsys, monkeypatch
):
    from cse.eval.sts import Stsb

    monkeypatch.setattr(Stsb, "__call__", None)
    whitening = ["whitening.kind=pca", "whitening.components=6", f"whitening.fit={sentences}"]
    for more in ([], whitening):
        assert cse_eval(f"checkpoint={tiny_bert}", "pooling=mean", "dry_run=true", *more) == 0
        shown = capsys.readouterr().out
        assert f"{tiny_bert}, mean pooling" in shown
        assert "stsb: dev and test, 80 pairs" in shown
    assert cse_eval(f"checkpoint={tiny_bert}", "dry_run=true") == 2  # as without dry_run: no pooling
    assert cse_eval("-m", f"checkpoint={tiny_bert}", "pooling=mean,cls", "dry_run=true") == 0
    assert not (tmp_path / "eval").exists()


@pytest.mark.nightly
def test_minilm_has_the_published_figures(cse_eval, minilm, shared, tmp_path):
    """all-MiniLM-L6-v2 by its own mean pooling, from the model's own folder: the public leaderboard's 82.03."""
    real = [f"paths.senteval={shared}/data/senteval", "allow_partial=false"]
    assert cse_eval("model=minilm", *real) == 0
    found = results_of(tmp_path / "eval")
    assert found["metrics"]["dev/stsb/spearman"] == pytest.approx(86.7170, abs=1e-3)
    assert found["metrics"]["test/stsb/spearman"] == pytest.approx(82.0325, abs=1e-3)
    assert not found["data"]["stsb"]["problems"]
