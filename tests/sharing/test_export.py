"""`cse-export`: what the folder holds, who can load it, what the hub gets, and that no token is in it."""

import json
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from huggingface_hub import ModelCard, parse_eval_result_entries
from typed import exit_code

from cse.config.groups import choices
from cse.model.export import save_encoder
from cse.model.load import load_encoder
from cse.sharing import card

TEXTS = ["kadan lofel", "migor perzu", "nudan"]
TOKEN = "hf_" + "planted" * 5


@pytest.fixture
def run(tmp_path, tiny_bert, monkeypatch) -> Path:
    """A finished run with an encoder, scores and mteb's files."""
    monkeypatch.setenv("CSE_CACHE", str(tmp_path))
    folder, cache = tmp_path / "run", tmp_path / "mteb"
    save_encoder(load_encoder(tiny_bert, "cls"), folder / "best", card="old")
    kept = cache / "results" / "cse__encoder" / "abc"
    kept.mkdir(parents=True)
    (kept / "run_settings.jsonl").write_text('{"task": "STS13"}\n')
    (kept / "STS13.json").write_text("{}")
    task = {"dataset": "mteb/sts13-sts", "revision": "7e90", "metric": "cosine_spearman"}
    mteb = {"model": {"name": "cse/encoder", "revision": "abc"}, "tasks": {"STS13": task}, "protocol": "mteb 2"}
    config = {
        "model": {"name": "lab/tiny", "pooling": "cls"},
        "data": {"name": "wiki1m"},
        "objective": {"_target_": "cse.objective.barlow.BarlowTwins"},
        "aux_modality": {"_target_": "cse.aux_modality.visual.Visual"},
    }
    metrics = {
        "dev/stsb/spearman": 80.123,
        "test/sts/STS12/spearman": 70.5,
        "test/sts/STS12/spearman_mean": 71.0,
        "test/sts/SICK-R/spearman": 69.0,
        "test/mteb/STS13/cosine_spearman": 75.25,
        "test/sts/average": None,
    }
    command = "cse-train objective=barlow paths.cache=/home/me/c tracker.wandb.entity=me hydra.run.dir=/x seed=3"
    record = {"status": "done", "config": config, "seed": 3, "best_step": 125, "git_commit": "abc", "command": command,
              "metrics": metrics, "data": {"mteb": mteb}}  # fmt: skip
    (folder / "results.json").write_text(json.dumps(record))
    return folder


cse_export = partial(exit_code, "cse-export")


def change(run: Path, **fields: object) -> None:
    """Replace keys of results.json."""
    record = json.loads((run / "results.json").read_text())
    (run / "results.json").write_text(json.dumps(record | fields))


def test_the_folder_has_the_encoder_its_card_and_its_scores(run, tiny_bert, capfd):
    from sentence_transformers import SentenceTransformer

    assert cse_export(run, "--license", "mit") == 0
    folder = run / "export"
    about = ModelCard.load(folder / "README.md")
    assert about.data.base_model == "lab/tiny"
    assert about.data.datasets == ["princeton-nlp/datasets-for-simcse"]
    assert about.data.license == "mit"
    results = about.data.eval_results
    values = {(one.dataset_split, one.dataset_type, one.metric_type): one.metric_value for one in results}
    assert values["dev", "stsb", "spearman"] == 80.123
    assert values["test", "sts/STS12", "spearman"] == 70.5
    assert len(values) == 5  # the one without a number is left out
    assert "cse-train objective=barlow seed=3\n" in about.text
    assert "@inproceedings{pappadopulo2024barlow" in about.text
    assert "@inproceedings{jian2022visual" in about.text
    found = [parse_eval_result_entries(yaml.safe_load(f.read_text())) for f in (folder / ".eval_results").iterdir()]
    values = {(one.dataset_id, one.task_id): (one.value, one.dataset_revision) for (one,) in found}
    assert values == {
        ("mteb/sts12-sts", "STS12_default_test"): (70.5, None),
        ("mteb/sts13-sts", "STS13"): (75.25, "7e90"),
    }
    assert (folder / "mteb" / "run_settings.jsonl").read_text() == '{"task": "STS13"}\n'
    vectors = SentenceTransformer(str(folder), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(vectors, load_encoder(tiny_bert, "cls").eval().encode(TEXTS), atol=1e-6)
    assert cse_export(run) == 0
    assert "in place of the earlier export" in capfd.readouterr().out


def test_the_card_says_what_its_scores_rest_on_and_no_place_of_this_machine(run):
    """An altered score is in no format that a leaderboard reads; the licence is the trained weights' own."""
    problems = [{"split": "test", "task": "STS12", "problem": "x"}]
    record = json.loads((run / "results.json").read_text())
    change(
        run,
        git_commit=None,
        code="0123456789abcdef",
        versions={"cse-lab": "0.1.0"},
        weights={"license": "apache-2.0", "language": ["en"]},
        architecture="BertModel, 2 layers of 8",
        config=record["config"] | {"trainer": {"lr": 1e-5, "log_every": 3}},
        data=record["data"] | {"sts": {"problems": problems}},
        command=f"cse-train data=text 'data.path=[{run}/a b/x.txt,~/y.txt]' paths.senteval={run}/s --config-dir {run}",
    )
    assert cse_export(run, "--to", run / "export") == 0
    about = ModelCard.load(run / "export" / "README.md")
    names = {one.dataset_type for one in about.data.eval_results}
    assert "sts/STS12" not in names
    assert "sts/SICK-R" in names
    assert "| test/sts/STS12/spearman | 70.50 † |" in about.text
    assert [file.stem for file in (run / "export" / ".eval_results").iterdir()] == ["STS13"]
    assert (about.data.license, about.data.language) == ("apache-2.0", ["en"])
    assert all(
        words in about.text for words in ("cse 0.1.0 (code `0123456789abcdef`)", "trainer.lr: 1.0e-05", "2 layers")
    )
    assert "log_every" not in about.text
    assert "None" not in about.text
    assert str(run.parent) not in about.content
    assert "'data.path=[x.txt,y.txt]' paths.senteval=s" in about.text


def test_pushed_and_loaded_from_the_hub(run, toy_hub, tiny_bert, monkeypatch, capfd):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert cse_export(run, "--push", "lab/mine", "--to", run.parent / "shared") == 0
    assert toy_hub.tokens == [f"Bearer {TOKEN}"]
    pushed = toy_hub.repos["models/lab/mine"]
    assert {"README.md", "model.safetensors", ".eval_results/STS12.yaml", "mteb/run_settings.jsonl"} <= set(pushed)
    assert b'SentenceTransformer("lab/mine")' in pushed["README.md"]
    again = load_encoder("lab/mine", None).eval()
    np.testing.assert_allclose(again.encode(TEXTS), load_encoder(tiny_bert, "cls").eval().encode(TEXTS), atol=1e-6)
    assert not [name for name, content in pushed.items() if TOKEN.encode() in content]
    assert TOKEN not in "".join(capfd.readouterr())
    toy_hub.status = 403
    assert cse_export(run, "--push", "lab/mine") == 1
    assert "lab/mine" in capfd.readouterr().err


@pytest.mark.parametrize("token", [TOKEN, "of-another-form"])
def test_a_token_in_a_runs_command_is_refused(run, monkeypatch, capfd, token):
    monkeypatch.setenv("HF_TOKEN", token)
    change(run, command=f"cse-train data.path={token}")
    assert cse_export(run) == 2
    said = capfd.readouterr().err
    assert "README.md" in said
    assert token not in said
    assert not (run / "export").exists()


def test_the_adapter_alone(run, tiny_bert, tmp_path):
    pytest.importorskip("peft", reason="needs peft (pip install -e '.[lora]')")
    from sentence_transformers import SentenceTransformer

    encoder = load_encoder(tiny_bert, "mean", lora={"r": 2, "alpha": 4})
    for name, parameter in encoder.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.3)
    shutil.rmtree(run / "best")
    save_encoder(encoder, run / "best")
    config = json.loads((run / "results.json").read_text())["config"]
    change(run, config=config | {"model": {"name": tiny_bert, "pooling": "mean"}})
    assert cse_export(run, "--adapter", "--to", tmp_path / "adapter") == 0
    assert not (tmp_path / "adapter" / "model.safetensors").exists()
    vectors = SentenceTransformer(str(tmp_path / "adapter"), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(vectors, encoder.eval().encode(TEXTS), atol=1e-5)


@pytest.mark.parametrize("checkpoint", ["RUN", "RUN/best", "another"])
def test_further_scores_are_those_of_this_encoder(run, tmp_path, checkpoint):
    more = {"status": "done", "config": {"checkpoint": checkpoint.replace("RUN", str(run))}}
    (tmp_path / "scores").mkdir()
    (tmp_path / "scores" / "results.json").write_text(json.dumps(more | {"metrics": {"test/transfer/MR/accuracy": 80}}))
    assert cse_export(run, "--scores", tmp_path / "scores") == (2 if checkpoint == "another" else 0)
    if checkpoint != "another":
        assert "| test/transfer/MR/accuracy | 80.00 |" in (run / "export" / "README.md").read_text()


def test_a_mistake_ends_with_2_and_is_named(run, tmp_path, monkeypatch, capfd):
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    for words, named in (
        ([tmp_path], str(tmp_path)), ([run, "--push", "name-alone"], "--push name-alone"), ([run, "--to", run], "--to"),
        ([run, "--push", "lab/mine"], "HF_TOKEN"), ([run, "--adapter"], "model.lora"),
        ([run, "--onnx", "--adapter"], "--onnx"),
    ):  # fmt: skip
        assert cse_export(*words) == 2
        assert named in capfd.readouterr().err


def test_every_published_objective_is_cited():
    known = {choice for entry in card.references() for choice in entry["keywords"]}
    assert known == {*choices("objective"), *choices("aux_modality")} - {"mlm", "none"}


@pytest.mark.nightly
def test_onnx_gives_the_same_vectors(run, tiny_bert):
    runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime (pip install -e '.[onnx]')")
    assert cse_export(run, "--onnx") == 0
    session = runtime.InferenceSession(str(run / "export" / "onnx" / "model.onnx"))
    encoder = load_encoder(tiny_bert, "cls").eval()
    tokens = encoder.tokenizer.hf(TEXTS, padding=True, return_tensors="np")
    (hidden_BTD,) = session.run(None, {name: tokens[name] for name in ("input_ids", "attention_mask")})
    np.testing.assert_allclose(hidden_BTD[:, 0], encoder.encode(TEXTS), atol=1e-5)


@pytest.mark.nightly
def test_onnx_that_is_off_is_refused(run, monkeypatch, capfd):
    pytest.importorskip("onnxscript", reason="needs onnxscript (pip install -e '.[onnx]')")
    monkeypatch.setattr("cse.sharing.onnx.largest_difference", lambda *_: 2e-5)
    assert cse_export(run, "--onnx") == 1
    assert "--onnx" in capfd.readouterr().err
    assert not (run / "export").exists()
