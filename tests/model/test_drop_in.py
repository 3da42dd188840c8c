"""best/ in the place of the encoder that it came from: sentence-transformers reads the same from both, and so does cse.

The base is MiniLM with the modules, prompts and lengths of other published encoders.
"""

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from tiny_encoders import tokens_of
from torch import nn

from cse.errors import UserError
from cse.model.encoder import in_batches
from cse.model.export import save_encoder
from cse.model.heads import MLPHead
from cse.model.load import load_encoder
from cse.types import Document

TEXTS = ["kadan lofel migor", "Perzu", "stamon " * 60, ""]
E5 = {"query": "query: ", "passage": "passage: "}
QWEN = {"query": "Instruct: find it\nQuery:", "document": ""}

Base = Callable[..., Path]


@pytest.fixture(scope="module")
def plain(tiny_bert, tmp_path_factory) -> Path:
    """What a run of a plain encoder leaves."""
    folder = tmp_path_factory.mktemp("plain") / "best"
    save_encoder(load_encoder(tiny_bert, "mean"), folder)
    return folder


@pytest.fixture
def base(plain, tmp_path) -> Base:
    """base(*modules, longest, prompts, ...): a folder that sentence-transformers wrote. Settings are its attributes."""

    def made(*modules: nn.Module, longest: int = 20, **settings: object) -> Path:
        model = SentenceTransformer(str(plain), device="cpu")
        for name, value in settings.items():
            setattr(model, name, value)
        for module in modules:
            model.append(module)
        model.max_seq_length = longest
        model.save(str(tmp_path / "base"))
        return tmp_path / "base"

    return made


def read(folder: Path) -> SentenceTransformer:
    return SentenceTransformer(str(folder), device="cpu")


def assert_drop_in(folder: Path, best: Path, **settings: object) -> SentenceTransformer:
    """Export, and check that everybody makes the folder's vectors. Returns the export."""
    encoder, before = load_encoder(str(folder), None, **settings).eval(), read(folder)
    save_encoder(encoder, best)
    after = read(best)
    for way in ("encode", "encode_query", "encode_document"):
        np.testing.assert_allclose(getattr(after, way)(TEXTS), getattr(before, way)(TEXTS), atol=1e-5, err_msg=way)
    np.testing.assert_allclose(encoder.encode(TEXTS), before.encode(TEXTS), atol=1e-5)
    np.testing.assert_allclose(load_encoder(str(best), None).encode(TEXTS), before.encode(TEXTS), atol=1e-5)
    assert after.max_seq_length == before.max_seq_length
    assert after.similarity_fn_name == before.similarity_fn_name
    assert after.truncate_dim == before.truncate_dim
    return after


def dense(width: int, out: int, activation: nn.Module | None = None, **more: bool) -> nn.Module:
    from sentence_transformers.sentence_transformer.modules import Dense

    torch.manual_seed(width + out)
    return Dense(width, out, activation_function=activation or nn.Tanh(), **more)


def modules_of(kind: str) -> list[nn.Module]:
    from sentence_transformers.sentence_transformer.modules import Dropout, LayerNorm, Normalize

    return {
        "normalize": [Normalize()],
        "dense": [dense(32, 32)],
        "narrower, unit length": [dense(32, 9, nn.Identity(), bias=False), Normalize()],
        "two": [dense(32, 48, nn.Identity(), bias=False), dense(48, 12, nn.GELU()), Normalize()],
        "norm": [LayerNorm(32), Dropout(0.5), dense(32, 8, nn.ReLU())],
    }[kind]


@pytest.mark.parametrize("kind", ["normalize", "dense", "narrower, unit length", "two", "norm"])
def test_modules_after_the_pooling_are_kept(base, tmp_path, kind):
    after = assert_drop_in(base(*modules_of(kind)), tmp_path / "best")
    ends = [type(one).__name__ for one in after][2:]
    assert ends == [type(one).__name__ for one in modules_of(kind)]


@pytest.mark.parametrize("settings", [
    {"prompts": E5}, {"prompts": QWEN}, {"prompts": E5 | {"document": "passage: "}, "default_prompt_name": "query"},
    {"similarity_fn_name": "dot"}, {"truncate_dim": 10}, {"longest": 7}, {},
    {"prompts": QWEN | {"default": "of no call: "}},
], ids=str)  # fmt: skip
def test_what_the_folder_says_is_kept(base, tmp_path, settings):
    folder = base(*modules_of("normalize"), **settings)
    after = assert_drop_in(folder, tmp_path / "best")
    assert after.prompts == read(folder).prompts
    assert after.default_prompt_name == settings.get("default_prompt_name")


@pytest.mark.parametrize("config", [{}, {"pooling_mode": ["mean"]}], ids=str)
def test_a_pooling_without_a_mode_is_the_mean_as_sentence_transformers_reads_it(base, tmp_path, config):
    folder = base()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"embedding_dimension": 32} | config))
    assert_drop_in(folder, tmp_path / "best")


def test_letters_are_exported_where_python_reads_them_as_ascii(base, tmp_path, monkeypatch):
    folder = base()
    file = folder / "tokenizer_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"made_for": "Gr\u00f6\u00dfen"}))
    encoder = load_encoder(str(folder), None)
    monkeypatch.setattr(io, "text_encoding", lambda encoding, *_: encoding or "ascii")
    save_encoder(encoder, tmp_path / "best")
    assert json.loads((tmp_path / "best" / file.name).read_bytes())["made_for"] == "Gr\u00f6\u00dfen"


def test_pooling_without_the_prompt_is_kept_and_takes_no_prefix(base, tmp_path):
    folder = base(prompts=E5)
    config = folder / "1_Pooling" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"include_prompt": False}))
    assert_drop_in(folder, tmp_path / "best")
    with pytest.raises(UserError, match="include_prompt"):
        load_encoder(str(folder), None, prefix="a: ")
    encoder = load_encoder(str(folder), None)
    assert encoder.prompts == {}
    with pytest.raises(UserError, match="include_prompt"):
        encoder.encode_query("a")


@pytest.mark.parametrize(("given", "query", "document"), [
    ({}, "my: ", "my: "),
    (E5, "query: ", "passage: "),
    (QWEN, QWEN["query"], ""),
    ({"query": "query: "}, "query: ", "my: "),
])  # fmt: skip
def test_a_prefix_reaches_every_way_to_encode(base, tmp_path, given, query, document):
    encoder = load_encoder(str(base(prompts=given)), None, prefix="my: ")
    save_encoder(encoder, tmp_path / "best")
    best = read(tmp_path / "best")
    np.testing.assert_allclose(best.encode(TEXTS), encoder.encode(TEXTS), atol=1e-5)
    np.testing.assert_array_equal(best.encode_query(TEXTS), best.encode(TEXTS, prompt=query))
    np.testing.assert_array_equal(best.encode_document(TEXTS), best.encode(TEXTS, prompt=document))
    assert given.items() <= best.prompts.items()
    other = load_encoder(str(tmp_path / "best"), None, prefix="other: ")
    save_encoder(other, tmp_path / "next")
    assert "my: " not in read(tmp_path / "next").prompts.values()
    assert given.items() <= read(tmp_path / "next").prompts.items()


BOTH = {"query": "kadan: ", "document": "lofel: "}


@pytest.mark.parametrize("given", [{}, E5, QWEN, {"default": "of all: "}], ids=str)
def test_two_prefixes_are_read_by_sentence_transformers_as_by_cse(base, tmp_path, given):
    folder = base(prompts=given, **({"default_prompt_name": "default"} if "default" in given else {}))
    encoder = load_encoder(str(folder), None, prefix=BOTH)
    save_encoder(encoder, tmp_path / "best")
    again, best = load_encoder(str(tmp_path / "best"), None), read(tmp_path / "best")
    for ours in (encoder, again):
        assert ours.tokenizer.documents_follow
        assert "'lofel: ' before a document" in ours.described
        for way in ("encode", "encode_query", "encode_document"):
            np.testing.assert_allclose(getattr(ours, way)(TEXTS), getattr(best, way)(TEXTS), atol=1e-5, err_msg=way)
    np.testing.assert_array_equal(encoder.encode_query("Perzu"), encoder.encode("Perzu"))
    np.testing.assert_array_equal(encoder.encode_document("Perzu"), encoder.encode([Document("Perzu")])[0])
    assert abs(encoder.encode_document("Perzu") - encoder.encode("Perzu")).max() > 1e-3
    assert {**given, **BOTH}.items() <= best.prompts.items()


@pytest.mark.parametrize("settings", [
    {"prompts": E5}, {"prompts": QWEN},
    {"prompts": E5 | {"document": "of a document: "}, "default_prompt_name": "query"},
], ids=str)  # fmt: skip
def test_recorded_prompts_of_queries_and_documents_are_read_as_sentence_transformers_reads_them(base, settings):
    folder = base(**settings)
    encoder, theirs = load_encoder(str(folder), None), read(folder)
    for way in ("encode", "encode_query", "encode_document"):
        np.testing.assert_allclose(getattr(encoder, way)(TEXTS), getattr(theirs, way)(TEXTS), atol=1e-5, err_msg=way)
    assert encoder.tokenizer.documents_follow == ("default_prompt_name" in settings)
    prompts = settings["prompts"]
    sides = {"text": prompts.get(settings.get("default_prompt_name")), **{side: prompts.get(side) for side in BOTH}}
    assert encoder.prompts == {side: prompt for side, prompt in sides.items() if prompt}
    assert repr(prompts["query"]) in encoder.described
    plain = load_encoder(str(folder), None, prefix="query: ").tokenizer  # one prefix: before every column
    assert plain.key() == load_encoder(str(base()), None, prefix="query: ").tokenizer.key()
    assert plain.of_column(["a"], 1) == ["a"]


def test_a_long_prompt_is_shortened_where_the_encoder_is_described(base):
    prompt = "kadan " * 30
    encoder = load_encoder(str(base(prompts={"query": prompt, "document": ""})), None)
    assert encoder.prompts == {"query": prompt}
    assert "kadan kadan" in encoder.described
    assert prompt not in encoder.described


def pickled(folder: Path) -> None:
    for file in folder.rglob("model.safetensors"):
        torch.save(load_file(file), file.with_name("pytorch_model.bin"))
        file.unlink()


def halved(folder: Path) -> None:
    file = folder / "2_Dense" / "model.safetensors"
    save_file({name: value.bfloat16() for name, value in load_file(file).items()}, file)


def in_a_folder(folder: Path) -> None:
    (folder / "0_Transformer").mkdir()
    for file in [one for one in folder.iterdir() if one.is_file() and "sentence_transformers" not in one.name]:
        if file.name != "modules.json":
            shutil.move(file, folder / "0_Transformer" / file.name)
    file = folder / "modules.json"
    modules = json.loads(file.read_text())
    modules[0]["path"] = "0_Transformer"
    file.write_text(json.dumps(modules))


@pytest.mark.parametrize("change", [pickled, halved, in_a_folder])
def test_older_layouts_are_read(base, tmp_path, change):
    folder = base(dense(32, 32), *modules_of("normalize"))
    change(folder)
    assert_drop_in(folder, tmp_path / "best")


def test_encoders_without_one_transformer_are_refused_by_what_they_are(tmp_path, plain):
    from sentence_transformers.sentence_transformer.modules import Router, StaticEmbedding

    tokenizer, parts = read(plain).tokenizer, [list(read(plain)) for _ in range(2)]
    static = StaticEmbedding(tokenizer, embedding_dim=4)
    router = Router.for_query_document(query_modules=parts[0], document_modules=parts[1])
    for name, module in (("StaticEmbedding", static), ("Router", router)):
        SentenceTransformer(modules=[module], device="cpu").save(str(tmp_path / name))
        with pytest.raises(UserError, match=name):
            load_encoder(str(tmp_path / name), None)
    (tmp_path / "m2v").mkdir()
    (tmp_path / "m2v" / "config.json").write_text('{"model_type": "model2vec"}')
    with pytest.raises(UserError, match="model2vec"):
        load_encoder(str(tmp_path / "m2v"), "mean")


def test_another_pooling_keeps_all_but_the_head_and_says_so(base, caplog):
    folder = base(dense(32, 8), *modules_of("normalize"), longest=9, prompts=E5, default_prompt_name="query")
    encoder = load_encoder(str(folder), "cls")
    assert (encoder.head, encoder.unit_length, encoder.tokenizer.longest) == (None, True, 9)
    assert (encoder.tokenizer.prefix, encoder.dim) == ("query: ", 32)
    assert "Dense" in caplog.text
    caplog.clear()
    load_encoder(str(base(*modules_of("normalize"))), "cls")
    assert "model.pooling" not in caplog.text


def test_a_recorded_head_is_trained_and_stays_under_one_that_the_objective_keeps(base, tmp_path):
    encoder = load_encoder(str(base(dense(32, 12))), None).eval()
    encoder(tokens_of(encoder, TEXTS[:2])).pooled_BD.sum().backward()
    assert all(weight.grad is not None for weight in encoder.head.parameters())
    head = MLPHead(12)
    save_encoder(encoder, tmp_path / "best", head)
    assert [type(one).__name__ for one in read(tmp_path / "best")] == ["Transformer", "Pooling", "Dense", "Dense"]
    np.testing.assert_allclose(read(tmp_path / "best").encode(TEXTS), encoder.encode(TEXTS, head=head), atol=1e-5)


def test_half_precision_weights_are_computed_with_in_float32_by_all(plain, tmp_path):
    encoder = load_encoder(str(plain), None, dtype="bf16")
    save_encoder(encoder, tmp_path / "best")
    ours = load_encoder(str(tmp_path / "best"), None).encode(TEXTS)
    np.testing.assert_allclose(read(tmp_path / "best").encode(TEXTS), ours, atol=1e-5)
    stored = load_file(tmp_path / "best" / "model.safetensors").values()
    assert {value.dtype for value in stored} == {torch.bfloat16}


def test_the_tokenizer_says_one_length_and_pads_nothing(minilm, tmp_path):
    """MiniLM's tokenizer.json pads to 128 tokens and cuts there; its makers encode up to 256."""
    save_encoder(load_encoder(minilm, "mean"), tmp_path / "best")
    config = json.loads((tmp_path / "best" / "tokenizer_config.json").read_text())
    rules = json.loads((tmp_path / "best" / "tokenizer.json").read_text())
    assert config["model_max_length"] == read(tmp_path / "best").max_seq_length == 256
    assert "max_length" not in config
    assert (rules["truncation"], rules["padding"]) == (None, None)
    assert np.linalg.norm(read(tmp_path / "best").encode("a b"), axis=-1) == pytest.approx(1, abs=1e-5)


def test_a_recorded_length_is_read_beyond_the_usual_one(tiny, tmp_path):
    save_encoder(load_encoder(tiny("bert", max_position_embeddings=700), "mean"), tmp_path / "best")
    file = tmp_path / "best" / "sentence_bert_config.json"
    assert json.loads(file.read_text())["max_seq_length"] <= 512
    file.write_text('{"max_seq_length": 600}')
    assert load_encoder(str(tmp_path / "best"), None).tokenizer.longest == 600


def test_batches_of_long_texts_have_fewer_of_them():
    keys = [bytes(4 * length) for length in (10, 512, 512, 1024, 1024, 4000)]
    assert [len(batch) for batch in in_batches(keys, 2, 0)] == [2, 1, 1, 1, 1]
