"""A hub of our own, asked by the real clients: first time, from the cache, interrupted, refused."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from huggingface_hub import constants
from safetensors.torch import load_file, save
from toy_hub import parquet

from cse.errors import MissingResource, UserError
from cse.model.load import load_encoder
from cse.sources import hub

NOBODY = "http://127.0.0.1:9"
TEXTS = {"lines.txt": b"a line\n" * 1000, "README.md": b"# about\n"}


def corpus(name: str = "lab/corpus") -> hub.Repo:
    return hub.Repo(name, "dataset", "data=corpus", "use data=text")


def test_a_file_comes_through_a_broken_connection_then_from_the_cache_then_offline(toy_hub, monkeypatch, caplog):
    toy_hub.add("datasets/lab/corpus", TEXTS)
    toy_hub.breaks = 1  # the client continues where the connection broke
    first = hub.fetch_file(corpus(), "lines.txt")
    assert first.read_bytes() == TEXTS["lines.txt"]
    assert toy_hub.breaks == 0
    asked = len(toy_hub.requests)
    assert hub.fetch_file(corpus(), "lines.txt") == first
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert hub.fetch_file(corpus(), "lines.txt") == first
    with caplog.at_level("INFO", "cse"), pytest.raises(MissingResource, match="cannot be reached"):
        hub.fetch_file(corpus(), "README.md")
    assert "README.md" not in caplog.text  # nothing says that it is fetched
    assert len(toy_hub.requests) == asked


def test_every_refusal_of_the_hub_is_told_with_its_reason(toy_hub, monkeypatch):
    toy_hub.add("datasets/lab/corpus", TEXTS)
    toy_hub.add("datasets/lab/gated", TEXTS)
    toy_hub.gated.add("datasets/lab/gated")

    def told(repo: hub.Repo, path: str = "lines.txt") -> str:
        with pytest.raises(MissingResource) as raised:
            hub.fetch_file(repo, path)
        message = str(raised.value)
        assert message.startswith(f"data=corpus: the dataset {repo.name} ")
        assert message.endswith("; use data=text")
        assert "\n" not in message
        return message

    assert "does not exist" in told(corpus("lab/nothing"))
    assert f"{toy_hub.url}/datasets/lab/gated" in told(corpus("lab/gated"))
    assert "other.txt" in told(corpus(), "other.txt")
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: None)  # between its own retries
    for status in (429, 503, 403):
        toy_hub.status = status
        assert str(status) in told(corpus())
    toy_hub.status = None
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", "http://127.0.0.1:9/{repo_id}/{revision}/{filename}")
    assert "cannot be reached" in told(corpus())
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "cannot be reached" in told(corpus())


@pytest.mark.parametrize(("word", "offline"), {"1": True, "true": True, "0": False, "no": False, "": False}.items())
def test_hf_hub_offline_is_read_as_the_hubs_client_reads_it(word, offline, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", word)
    assert hub.is_offline() == offline


def test_a_dataset_is_loaded_streamed_or_refused_with_its_reason(toy_hub):
    toy_hub.add("datasets/lab/table", {"data/train-0.parquet": parquet(text=["one", "two", "three"])})
    assert list(hub.fetch_split(corpus("lab/table"))["text"]) == ["one", "two", "three"]
    assert [row["text"] for row in hub.stream_split(corpus("lab/table"))] == ["one", "two", "three"]
    toy_hub.add("datasets/lab/script", {"script.py": b"x = 1\n", "README.md": b"# about\n"})
    toy_hub.add("datasets/lab/gated", toy_hub.repos["datasets/lab/table"])
    toy_hub.gated.add("datasets/lab/gated")
    for name, said in (("script", "script"), ("nothing", "does not exist"), ("gated", "is gated")):
        with pytest.raises(MissingResource, match=f"the dataset lab/{name} .*{said}"):
            hub.fetch_split(corpus(f"lab/{name}"))


def model(name: str = "lab/tiny-bert") -> hub.Repo:
    return hub.Repo(name, "model", f"model.name={name}", "use model=minilm")


def test_a_model_is_fetched_in_one_format_without_extras_and_then_cached(toy_hub, tiny_bert, monkeypatch):
    toy_hub.add("models/lab/tiny-bert", Path(tiny_bert))
    extras = {"pytorch_model.bin": b"x", "pytorch_model.generator.bin": b"x", "model.fp16.safetensors": b"x",
              "onnx/model.onnx": b"x", "tf_model.h5": b"x", "onnx/config.json": b"{}"}  # fmt: skip
    needed = {"spm.model": b"x", "1_Pooling/config.json": b"{}"}  # a tokenizer, and sentence-transformers' pooling
    toy_hub.repos["models/lab/tiny-bert"] |= extras | needed
    folder = hub.fetch_model(model())
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert found == {p.name for p in Path(tiny_bert).iterdir()} | needed.keys()
    asked = len(toy_hub.downloads())
    assert hub.fetch_model(model()) == folder
    assert len(toy_hub.downloads()) == asked
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert hub.fetch_model(model()) == folder
    (folder / "model.safetensors").unlink()
    for repo in (model("lab/other"), model()):
        with pytest.raises(MissingResource, match=f"{repo.name} is not in the cache"):
            hub.fetch_model(repo)


def test_a_repository_with_only_pytorch_model_bin_and_vocab_txt_is_loaded(toy_hub, tiny_bert, tmp_path):
    """As of 2019: the tokenizer is made from the vocabulary."""
    state = load_file(Path(tiny_bert, "model.safetensors"))
    vocabulary = json.loads(Path(tiny_bert, "tokenizer.json").read_text())["model"]["vocab"]
    torch.save(state, tmp_path / "weights.bin")
    old = {
        "config.json": Path(tiny_bert, "config.json").read_bytes(),
        "pytorch_model.bin": (tmp_path / "weights.bin").read_bytes(),
        "vocab.txt": "\n".join(sorted(vocabulary, key=vocabulary.get)).encode(),
    }
    toy_hub.add("models/lab/old-bert", old)
    encoder = load_encoder("lab/old-bert", "cls")
    assert len(encoder.tokenizer.hf) == len(vocabulary)
    texts = ["kadan lofel", "perzu stamon"]
    np.testing.assert_allclose(encoder.encode(texts), load_encoder(tiny_bert, "cls").encode(texts), atol=1e-6)


def test_an_error_about_a_hub_model_names_the_repository(toy_hub, tiny_bert):
    """And not a folder of hashes in the cache."""
    toy_hub.add("models/lab/part", Path(tiny_bert))
    state = load_file(Path(tiny_bert, "model.safetensors"))
    lost = next(name for name in state if "layer.1.attention" in name)
    toy_hub.repos["models/lab/part"]["model.safetensors"] = save({k: v for k, v in state.items() if k != lost})
    with pytest.raises(UserError) as error:
        load_encoder("lab/part", "cls")
    assert "lab/part" in str(error.value)
    assert "snapshots" not in str(error.value)


@pytest.mark.parametrize(("words", "can_be_used"), [
    ("HF_ENDPOINT=HUB", True),
    ("HF_ENDPOINT=HUB HF_HUB_OFFLINE=no", True),
    ("HF_ENDPOINT=HUB HF_HUB_OFFLINE=1", False),
    ("", False),
    (f"https_proxy={NOBODY} HF_ENDPOINT=https://127.0.0.1:9", True),
    (f"HTTP_PROXY={NOBODY}", True),
    (f"all_proxy={NOBODY}", True),
    (f"HTTP_PROXY={NOBODY} no_proxy=127.0.0.1", False),
])  # fmt: skip
def test_the_hub_is_used_if_it_answers_or_there_is_a_proxy(monkeypatch, toy_hub, words, can_be_used):
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    settings = dict(word.split("=", 1) for word in words.replace("HUB ", f"{toy_hub.url} ").split())
    defaults = {"HF_ENDPOINT": NOBODY, "HF_HUB_OFFLINE": "", "HF_DATASETS_OFFLINE": ""}  # put back after the test
    for name, value in (defaults | settings).items():
        monkeypatch.setenv(name, toy_hub.url if value == "HUB" else value)
    assert hub.use_hub_if_it_answers() == can_be_used
    assert os.environ["HF_HUB_OFFLINE"] == ("1" if not can_be_used else settings.get("HF_HUB_OFFLINE", ""))


@pytest.mark.parametrize(("endpoint", "address"), [
    ("http://mirror", ("mirror", 80)),
    ("https://mirror/hub", ("mirror", 443)),
    ("http://mirror:8080", ("mirror", 8080)),
])  # fmt: skip
def test_a_mirror_is_asked_at_its_own_port(monkeypatch, endpoint, address):
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    assert hub.hub_address()[1:] == address


@pytest.mark.parametrize("endpoint", ["http://mirror:abc", "mirror", "mirror:8080", "ftp://mirror", "http://"])
def test_an_endpoint_that_is_no_address_is_refused(monkeypatch, endpoint):
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    with pytest.raises(UserError, match="HF_ENDPOINT"):
        hub.hub_address()
