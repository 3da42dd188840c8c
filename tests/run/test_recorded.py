"""Training that uses a checkpoint otherwise than its folder records says so, and scores the recorded use too."""

import json
from pathlib import Path

import pytest
from typed import exit_code

from cse.model.export import save_encoder
from cse.model.load import load_encoder


@pytest.fixture
def tuned(tiny_bert, tmp_path) -> Path:
    """A sentence-transformers folder of the tiny encoder, which records the mean."""
    save_encoder(load_encoder(tiny_bert, "mean"), tmp_path / "tuned", None, "")
    return tmp_path / "tuned"


def trained(small_run: list[str], folder: Path, *words: str) -> dict:
    """results.json of a run of two steps in folder, with its curve and its log."""
    steps = ["trainer.max_steps=2", "trainer.log_every=1", f"hydra.run.dir={folder}"]
    assert exit_code("cse-train", *small_run, *steps, *words) == 0
    events = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    curve = [(e["step"], {k: v for k, v in e.items() if k in ("train/loss", "dev/stsb/spearman")}) for e in events
             if e["event"] == "metrics"]  # fmt: skip
    more = {"curve": curve, "log": (folder / "train.log").read_text()}
    return json.loads((folder / "results.json").read_text()) | more


def test_the_recorded_use_is_scored_and_changes_no_number_of_the_run(small_run, tuned, tmp_path):
    plain = trained(small_run, tmp_path / "plain", "model.pooling=cls")
    found = trained(small_run, tmp_path / "cls", f"model.name={tuned}", "model.pooling=cls")
    assert plain["recorded"] is None
    assert found["curve"] == plain["curve"]
    assert found["recorded"]["use"] == "mean pooling"
    scored = [f"checkpoint={tuned}", "eval=stsb", *(word for word in small_run if word.startswith("paths.")),
              "allow_partial=true", "splits=[dev]", f"hydra.run.dir={tmp_path}/eval"]  # fmt: skip
    assert exit_code("cse-eval", *scored) == 0
    theirs = json.loads((tmp_path / "eval/results.json").read_text())["metrics"]
    assert found["recorded"]["scores"] == pytest.approx(theirs, abs=1e-4)
    shown = f"{theirs['dev/stsb/spearman']:.2f}"
    line = next(line for line in found["log"].splitlines() if "dev/stsb/spearman " in line and shown in line)
    before = f"{found['curve'][0][1]['dev/stsb/spearman']:.2f}"
    assert line.split()[2:4] == [shown, before]
    assert "recorded   mean pooling" in found["log"]


@pytest.mark.parametrize(("words", "use"), [
    ("model.pooling=mean", None), ("model.pooling=null", None),
    ("model.pooling=mean model.num_layers=1", "mean pooling, all layers as they are"),
])  # fmt: skip
def test_the_recorded_use_is_reported_only_if_it_is_another(small_run, tuned, tmp_path, words, use):
    recorded = trained(small_run, tmp_path / "run", f"model.name={tuned}", *words.split())["recorded"]
    assert (recorded and recorded["use"]) == use


@pytest.mark.parametrize(("file", "content", "said"), [
    ("1_Pooling/config.json", '{"pooling_mode": "weightedmean"}', "weightedmean"),  # which cannot be used
    ("sentence_bert_config.json", '{"max_seq_length": 1}', "max_seq_length"),  # nor this be loaded
])  # fmt: skip
def test_a_record_that_cse_cannot_use_does_not_stop_training(small_run, tuned, tmp_path, file, content, said):
    (tuned / file).write_text(content)
    found = trained(small_run, tmp_path / "run", f"model.name={tuned}", "model.pooling=cls")
    assert (found["status"], found["recorded"]) == ("done", None)
    assert said in found["log"]


def test_a_resumed_run_keeps_the_recorded_scores_and_the_cards_facts(small_run, tuned, tmp_path):
    (tuned / "README.md").write_text("---\nlicense: mit\nlanguage: en\n---\n")
    words = [f"model.name={tuned}", "model.pooling=cls", "trainer.max_steps=1"]
    folder = tmp_path / "run"
    assert exit_code("cse-train", *small_run, *words) == 0
    first = json.loads((folder / "results.json").read_text())
    assert first["weights"] == {"license": "mit", "language": "en"}
    (tuned / "README.md").unlink()
    assert exit_code("cse-train", f"resume={folder}", "trainer.max_steps=2") == 0
    again = json.loads((folder / "results.json").read_text())
    assert (again["recorded"], again["weights"]) == (first["recorded"], first["weights"])
