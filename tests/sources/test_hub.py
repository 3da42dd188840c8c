"""The hub, asked by the real clients: first time, from the cache, broken off, refused."""

import io
import json
import logging
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import torch
from safetensors.torch import load_file, save

from cse.errors import MissingResource, UserError
from cse.model.load import load_encoder
from cse.sources import hub

TEXTS = {"lines.txt": b"a line\n" * 1000, "README.md": b"# about\n"}


def corpus(name: str = "lab/corpus", **more) -> hub.Repo:
    return hub.Repo(name, "dataset", "data=corpus", "use data=text", **more)


def parquet(**columns) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), file)
    return file.getvalue()


def test_first_time_then_from_the_cache_then_offline(toy_hub, monkeypatch, caplog):
    from huggingface_hub import constants

    caplog.set_level(logging.INFO)
    toy_hub.add("datasets/lab/corpus", TEXTS)
    first = hub.file(corpus(), "lines.txt")
    assert first.read_bytes() == TEXTS["lines.txt"]
    assert "hub        lab/corpus: fetching lines.txt, 7 KB" in caplog.text
    asked = len(toy_hub.requests)
    caplog.clear()
    assert hub.file(corpus(), "lines.txt") == first
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert hub.file(corpus(), "lines.txt") == first
    assert len(toy_hub.requests) == asked
    assert not caplog.text


def test_what_the_hub_says_is_said(toy_hub, monkeypatch):
    from huggingface_hub import constants

    toy_hub.add("datasets/lab/corpus", TEXTS)
    toy_hub.add("datasets/lab/gated", TEXTS)
    toy_hub.gated.add("datasets/lab/gated")

    def told(repo: hub.Repo, path: str = "lines.txt") -> str:
        with pytest.raises(MissingResource) as raised:
            hub.file(repo, path)
        message = str(raised.value)
        assert message.startswith(f"data=corpus: the dataset {repo.name} ")
        assert message.endswith("; use data=text")
        return message

    assert "does not exist on the hub, or is private" in told(corpus("lab/nothing"))
    gated = told(corpus("lab/gated"))
    assert f"is gated: accept its terms at {toy_hub.url}/datasets/lab/gated and log in" in gated
    assert "has no file other.txt" in told(corpus(), "other.txt")
    for status, words in ((429, "rate limit is reached"), (503, "trouble of its own (503)"), (403, "log in")):
        toy_hub.status = status
        assert words in told(corpus())
    toy_hub.status = None
    assert "HF_HOME" in hub.refusal(corpus(), OSError(28, "No space left on device"))
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", "http://127.0.0.1:9/{repo_id}/{revision}/{filename}")
    assert "cannot be reached" in told(corpus())
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE is set" in told(corpus())


def test_datasets_come_through_datasets(toy_hub):
    toy_hub.add("datasets/lab/table", {"data/train-0.parquet": parquet(text=["one", "two", "three"])})
    assert list(hub.dataset(corpus("lab/table"))["text"]) == ["one", "two", "three"]
    assert [row["text"] for row in hub.stream(corpus("lab/table"))] == ["one", "two", "three"]


def test_datasets_that_are_refused(toy_hub):
    toy_hub.add("datasets/lab/script", {"script.py": b"x = 1\n", "README.md": b"# about\n"})
    with pytest.raises(MissingResource, match="the dataset lab/script needs a script, which no client runs any more"):
        hub.dataset(corpus("lab/script"))
    with pytest.raises(MissingResource, match="the dataset lab/nothing does not exist on the hub"):
        hub.dataset(corpus("lab/nothing"))
    toy_hub.add("datasets/lab/gated", {"data/train-0.parquet": parquet(text=["one"])})
    toy_hub.gated.add("datasets/lab/gated")
    with pytest.raises(MissingResource, match="the dataset lab/gated is gated: accept its terms"):
        hub.dataset(corpus("lab/gated"))


def model(name: str = "lab/tiny-bert") -> hub.Repo:
    return hub.Repo(name, "model", f"model.name={name}", "use model=minilm")


def test_a_model_comes_in_one_format_and_without_extras(toy_hub, tiny_bert):
    toy_hub.add("models/lab/tiny-bert", Path(tiny_bert))
    extras = {"pytorch_model.bin": b"x", "pytorch_model.generator.bin": b"x", "model.fp16.safetensors": b"x",
              "onnx/model.onnx": b"x", "tf_model.h5": b"x", "onnx/config.json": b"{}"}  # fmt: skip
    toy_hub.repos["models/lab/tiny-bert"] |= extras
    folder = hub.model(model())
    assert {p.name for p in folder.iterdir()} == {p.name for p in Path(tiny_bert).iterdir()}
    asked = len(toy_hub.downloads())
    assert hub.model(model()) == folder
    assert len(toy_hub.downloads()) == asked


def test_a_moved_model_is_followed(toy_hub, tiny_bert):
    """The public hub answers old names (bert-base-uncased) with 307 and the new address."""
    toy_hub.moved["bert-base-uncased"] = "google-bert/bert-base-uncased"
    toy_hub.add("models/google-bert/bert-base-uncased", Path(tiny_bert))
    encoder = load_encoder("bert-base-uncased", "cls")
    assert any("/bert-base-uncased/resolve" in line and line.endswith("307") for line in toy_hub.requests)
    np.testing.assert_array_equal(encoder.encode(["kadan"]), load_encoder(tiny_bert, "cls").encode(["kadan"]))


class Harmful:
    """What a .bin file must not hold: unpickling it runs code."""

    def __reduce__(self):
        return print, ("run",)


def test_an_old_repository_without_safetensors_and_tokenizer_json(toy_hub, tiny_bert, tmp_path):
    """pytorch_model.bin and vocab.txt, as of 2019: weights are read as weights only, the tokenizer is made anew."""
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
    torch.save(state | {"extra": Harmful()}, tmp_path / "weights.bin")
    toy_hub.add("models/lab/bad-bert", old | {"pytorch_model.bin": (tmp_path / "weights.bin").read_bytes()})
    with pytest.raises(UserError, match=r"model\.name=lab/bad-bert"):
        load_encoder("lab/bad-bert", "cls")


def test_a_tokenizer_that_is_sentencepiece_alone_is_read(toy_hub, tiny, tmp_path):
    """deberta-v3-base: pytorch_model.bin, the generator that it was trained beside, and spm.model."""
    pytest.importorskip("sentencepiece", reason="needs sentencepiece (pip install .)")
    from sentencepiece import sentencepiece_model_pb2 as spm

    folder = Path(tiny("deberta-v2"))
    rows = load_file(folder / "model.safetensors")["deberta.embeddings.word_embeddings.weight"].shape[0]
    model = spm.ModelProto()
    special = [("[PAD]", 3), ("[CLS]", 3), ("[SEP]", 3), ("[UNK]", 2)]  # 3: control, 2: unknown, 1: a piece
    for piece, kind in [*special, *((piece, 1) for piece in ("\u2581", "\u2581kadan", *"abcdefghijklmnopqrstuvwxyz"))]:
        model.pieces.add(piece=piece, score=-float(len(model.pieces)), type=kind)
    for name, number in (("pad", 0), ("bos", 1), ("eos", 2), ("unk", 3)):
        setattr(model.trainer_spec, f"{name}_id", number)
    model.trainer_spec.unk_piece = "[UNK]"
    assert len(model.pieces) < rows
    torch.save(load_file(folder / "model.safetensors"), tmp_path / "weights.bin")
    files = {
        "config.json": (folder / "config.json").read_bytes(),
        "pytorch_model.bin": (tmp_path / "weights.bin").read_bytes(),
        "pytorch_model.generator.bin": b"another model",
        "spm.model": model.SerializeToString(),
        "tokenizer_config.json": b'{"do_lower_case": false, "vocab_type": "spm"}',
    }
    toy_hub.add("models/lab/deberta", files)
    encoder = load_encoder("lab/deberta", "cls")
    assert encoder.tokenizer.hf.tokenize("kadan ab") == ["\u2581kadan", "\u2581", "a", "b"]
    assert not [path for path in toy_hub.downloads() if "generator" in path]


def test_what_is_wrong_with_a_model_of_the_hub_names_the_hub(toy_hub, tiny_bert):
    """Not a folder of hashes in the cache."""
    toy_hub.add("models/lab/part", Path(tiny_bert))
    state = load_file(Path(tiny_bert, "model.safetensors"))
    lost = next(name for name in state if "layer.1.attention" in name)
    toy_hub.repos["models/lab/part"]["model.safetensors"] = save({k: v for k, v in state.items() if k != lost})
    with pytest.raises(UserError) as error:
        load_encoder("lab/part", "cls")
    assert "lab/part" in str(error.value)
    assert "snapshots" not in str(error.value)
    toy_hub.add("models/lab/whole", Path(tiny_bert))
    with pytest.raises(UserError, match=r"model\.pooling=pooler: lab/whole has no pooler of its own"):
        load_encoder("lab/whole", "pooler")


def test_a_model_offline_comes_from_the_cache(toy_hub, tiny_bert, monkeypatch):
    from huggingface_hub import constants

    toy_hub.add("models/lab/tiny-bert", Path(tiny_bert))
    folder = hub.model(model())
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert hub.model(model()) == folder
    with pytest.raises(MissingResource, match="lab/other is not in the cache"):
        hub.model(model("lab/other"))
    (folder / "model.safetensors").unlink()
    with pytest.raises(MissingResource, match="is not in the cache"):
        hub.model(model())


@pytest.mark.parametrize(("value", "offline"), [("1", True), ("true", True), ("0", False), ("no", False), ("", False)])
def test_words_for_offline(value, offline):
    assert hub.is_offline({"HF_HUB_OFFLINE": value}) == offline
