"""Broken or hostile checkpoints are refused with the name of the tensor or file."""

import json
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import damaged
import numpy as np
import pytest
import torch
from safetensors.torch import save
from sentence_transformers import SentenceTransformer
from tiny_encoders import exported

from cse.errors import UserError
from cse.lab.run.needs import encoder_folder
from cse.model.export import save_encoder
from cse.model.load import load_encoder
from cse.model.recorded import recorded_modules

CLS = {"pooling_mode_cls_token": True}


@pytest.fixture
def checkpoint(tmp_path, tiny_bert) -> Callable[[dict], Path]:
    """A function that makes a small BERT with some of its files changed, as damaged.py says."""
    return partial(damaged.copy, tiny_bert, tmp_path / "checkpoint")


def refused(folder: Path, pooling: str | None, named: str = "", **more: bool) -> None:
    """Assert that the checkpoint is refused by name, in one sentence."""
    with pytest.raises(UserError, match=rf"{re.escape(str(folder))}.*{named}") as error:
        load_encoder(str(folder), pooling, **more)
    assert len(str(error.value).splitlines()) == 1


LAYER, BEYOND = "bert.encoder.layer.1.output.dense.weight", "bert.encoder.layer.2.output.dense.weight"


@pytest.mark.parametrize(("change", "named"), [
    (lambda t, _: [t.pop(key) for key in list(t) if ".layer.1." in key], r"layer\.1\."),
    (lambda t, _: t.pop(LAYER), r"layer\.1\.output\.dense\.weight"),
    (lambda t, _: t.update({LAYER: torch.zeros(2, 3)}), r"layer\.1\.output\.dense\.weight \(2, 3\) for \(32"),
    (lambda t, _: t[LAYER][0].fill_(torch.nan), r"NaN .*layer\.1\.output\.dense\.weight"),
    (lambda t, _: t[LAYER][0, 0].fill_(torch.inf), r"infinity .*layer\.1\.output\.dense\.weight"),
    (lambda t, _: t.update({LAYER: t[LAYER].to(torch.int8)}), r"integers .*layer\.1\.output\.dense\.weight"),
    (lambda t, _: t.update({BEYOND: torch.zeros(1)}), r"layer\.2\.output"),
])  # fmt: skip
@pytest.mark.parametrize("mlm", [False, True])
def test_missing_misshapen_or_damaged_tensors_are_refused(checkpoint, change, named, mlm):
    refused(checkpoint({"model.safetensors": change}), "cls", named, mlm=mlm)


def test_layers_left_out_on_purpose_and_an_unused_head_are_no_damage(tiny_bert):
    assert len(load_encoder(tiny_bert, "cls", num_layers=1).backbone.encoder.layer) == 1


def five_more_words(text: str) -> str:
    tokenizer = json.loads(text)
    vocabulary = tokenizer["model"]["vocab"]
    vocabulary |= {f"new{i}": len(vocabulary) + i for i in range(5)}
    return json.dumps(tokenizer)


@pytest.mark.parametrize("changes", [
    {"tokenizer.json": None}, {"tokenizer.json": None, "tokenizer_config.json": None},
    {"tokenizer.json": None, "tokenizer_config.json": '{"tokenizer_class": "ByT5Tokenizer"}'},
    {"tokenizer.json": five_more_words},
], ids=["missing", "nothing of it", "in Python", "another model's"])  # fmt: skip
def test_a_missing_slow_or_foreign_tokenizer_is_refused(checkpoint, changes):
    refused(checkpoint(changes), "cls", " tokenizer")


def layout(*modules: str, **configs: dict) -> dict:
    """The files of a sentence-transformers layout. configs: by folder (2_Dense), CLS for the others."""
    folders = ["" if kind == "Transformer" else f"{n}_{kind}" for n, kind in enumerate(modules)]
    places = enumerate(zip(modules, folders, strict=True))
    listed = [
        {"idx": n, "name": f"{n}", "type": f"sentence_transformers.models.{kind}", "path": folder}
        for n, (kind, folder) in places
    ]
    files = {f"{folder}/config.json": configs.get(folder, CLS) for folder in folders if folder}
    return {"modules.json": json.dumps(listed)} | files


def dense(weight: torch.Tensor, **settings: object) -> dict:
    """A layout with a dense head."""
    about = {"in_features": 32, "out_features": 8, "bias": False, "activation_function": "torch.nn.Tanh"} | settings
    files = layout("Transformer", "Pooling", "Dense", **{"2_Dense": about})
    return files | {"2_Dense/model.safetensors": save({"linear.weight": weight})}


POOLED = layout("Transformer", "Pooling")
INDEX = {"metadata": {}, "weight_map": {"a": "model-00001-of-00002.safetensors"}}
BROKEN = {
    "no config": {"config.json": None},
    "a config of images": {"config.json": {"model_type": "vit"}},
    "no weights": {"model.safetensors": None},
    "a missing part": {"model.safetensors": None, "model.safetensors.index.json": INDEX},
    **{
        f"{name} is {content}": {name: content.encode()}
        for name in ("config.json", "tokenizer.json", "model.safetensors")
        for content in ("", "[]", '{"hidden_size": "x"}')
    },
}
RECORDED = {
    "modules are no list": {"modules.json": "{}"},
    "max pooling": layout("Transformer", "Pooling", **{"1_Pooling": {"pooling_mode_max_tokens": True}}),
    "dense: no width": dense(torch.zeros(8, 32), in_features=None),
    "dense: another width": dense(torch.zeros(8, 40), in_features=40),
    "dense: NaN": dense(torch.full((8, 32), torch.nan)),
    "dense: announced": dense(torch.zeros(8, 32), in_features=10**7, out_features=10**7),
    "dense: another activation": dense(torch.zeros(8, 32), activation_function="torch.nn.modules.activation.GLU"),
    "dense: of something else": dense(torch.zeros(8, 32), module_output_name="dense_embedding"),
    "two poolings": layout("Transformer", "Pooling", **{"1_Pooling": {"pooling_mode": ["cls", "mean"]}}),
    "weights in a folder": {**POOLED, "modules.json": POOLED["modules.json"].replace('"path": ""', '"path": "0_Deep"')},
    "fewer layers": POOLED | {"sentence_bert_config.json": {"config_kwargs": {"num_hidden_layers": 1}}},
    "no special tokens": POOLED
    | {"sentence_bert_config.json": {"processing_kwargs": {"text": {"add_special_tokens": False}}}},
    "dense: residual": dense(torch.zeros(32, 32), use_residual=True),
    "a class of one's own": {**POOLED, "modules.json": POOLED["modules.json"].replace("sentence_transformers", "my")},
    "a prompt that is not pooled": layout("Transformer", "Pooling", **{"1_Pooling": CLS | {"include_prompt": False}})
    | {"config_sentence_transformers.json": {"prompts": {"a": "b: "}, "default_prompt_name": "a"}},
    "prompts are a list": POOLED | {"config_sentence_transformers.json": {"prompts": ["a"]}},
}


@pytest.mark.parametrize(
    ("changes", "pooling"),
    [pytest.param(changes, "cls", id=name) for name, changes in BROKEN.items()]
    + [pytest.param(changes, None, id=name) for name, changes in RECORDED.items()],
)
def test_a_broken_file_is_refused(checkpoint, changes, pooling):
    refused(checkpoint(changes), pooling)


@pytest.mark.parametrize("length", [-1, 2, "x", 3])
@pytest.mark.parametrize(("file", "key"), [("sentence_bert_config.json", "max_seq_length"),
                                           ("tokenizer_config.json", "model_max_length")])  # fmt: skip
def test_a_length_that_leaves_no_room_for_text_is_refused(checkpoint, file, key, length):
    folder = checkpoint(POOLED | {file: {key: length}})
    if length == 3:
        assert load_encoder(str(folder), None).tokenizer.longest == 3
    else:
        refused(folder, None)


def test_lower_case_and_the_longest_text_are_read_as_sentence_transformers_reads_them(checkpoint, tmp_path):
    bert, tokenizer = {"do_lower_case": True, "max_seq_length": 8}, {"model_max_length": 4}
    pooled = layout("Transformer", "Pooling", **{"1_Pooling": CLS | {"word_embedding_dimension": 32}})
    folder = checkpoint(pooled | {"sentence_bert_config.json": bert, "tokenizer_config.json": tokenizer})
    texts = ["KADAN lofel migor", "perzu stamon triler nudan kafel"]
    encoder = load_encoder(str(folder), None)
    assert encoder.tokenizer.longest == 8
    expected = SentenceTransformer(str(folder), device="cpu").encode(texts)
    np.testing.assert_allclose(encoder.encode(texts), expected, atol=1e-5)
    np.testing.assert_allclose(exported(encoder, tmp_path / "best", texts), expected, atol=1e-5)


def test_lower_case_is_exported_where_the_tokenizers_own_class_would_lose_it(tiny_bert, tmp_path):
    from transformers import BertTokenizerFast

    folder = Path(shutil.copytree(tiny_bert, tmp_path / "cased"))
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{one}" for one in letters)]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(vocab=str(tmp_path / "vocab.txt"), do_lower_case=False).save_pretrained(folder)
    save_encoder(load_encoder(str(folder), "cls"), tmp_path / "as_it_is")
    config = tmp_path / "as_it_is" / "sentence_bert_config.json"
    config.write_text(config.read_text().replace("false", "true"))
    encoder = load_encoder(str(tmp_path / "as_it_is"), None)
    upper, lower = exported(encoder, tmp_path / "best", ["KADAN lofel", "kadan LOFEL"])
    np.testing.assert_allclose(upper, lower, atol=1e-6)


@pytest.mark.parametrize("kinds", [
    "Pooling Transformer", "Transformer Pooling Pooling", "Transformer Pooling CNN", "Transformer Dense Pooling",
    "Transformer", "",
])  # fmt: skip
def test_unknown_or_misordered_modules_are_refused(checkpoint, kinds):
    with pytest.raises(UserError, match=r"modules\.json"):
        recorded_modules(checkpoint(layout(*kinds.split())))


@pytest.mark.parametrize("place", ["adapter/", ""])
def test_an_adapter_beside_the_weights_is_refused(checkpoint, place):
    """One in adapter/ is an export's, and merged into the weights already."""
    adapter = {"peft_type": "LORA", "base_model_name_or_path": "no/model"}
    folder = checkpoint({f"{place}adapter_config.json": adapter})
    if place:
        assert load_encoder(str(folder), "cls")
    else:
        refused(folder, "cls", r"adapter_config\.json")


@pytest.mark.parametrize("name", ["stranger.inside", "stranger", "bare", "__main__", "sys", "single", ".", ""])
def test_a_package_is_found_without_running_it(checkpoint, tmp_path, monkeypatch, name):
    """Only the plain name of a package is taken; a module or a bare folder is not one."""
    ran = tmp_path / "ran"
    for place in ("stranger/__init__.py", "stranger/inside/__init__.py", "bare/inside/__init__.py", "single.py"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(f"open({str(ran)!r}, 'w')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError, match=re.escape(f"package://{name}/model")):
        load_encoder(f"package://{name}/model", "cls")
    checkpoint({}).rename(tmp_path / "stranger" / "weights")
    assert load_encoder("package://stranger/weights", "cls").dim == 32
    assert encoder_folder("package://stranger/weights") == "package://stranger/weights"
    assert not ran.exists()


OWN = {"auto_map": {"AutoConfig": "own.Config", "AutoModel": "own.Model"}, "model_type": "own"}
OPENS = {"own.py": "open('ran', 'w')\n"}
PICKLE = damaged.torch_file({"bert.embeddings.word_embeddings.weight": damaged.Payload()})


@pytest.mark.parametrize("planted", [
    {"model.safetensors": None, "pytorch_model.bin": PICKLE}, OPENS | {"config.json": OWN},
    OPENS | {"config.json": OWN | {"auto_map": {"AutoModel": "own.Model"}, "model_type": "trocr"}},
], ids=["a pickle", "own classes", "own classes where transformers has none"])  # fmt: skip
def test_code_in_a_checkpoint_does_not_run(checkpoint, tmp_path, monkeypatch, planted):
    """And nobody is asked whether it may."""
    monkeypatch.setattr("builtins.input", lambda _: "y")
    monkeypatch.chdir(tmp_path)
    refused(checkpoint(planted), "cls")
    assert not (tmp_path / "ran").exists()


def test_a_checkpoint_cannot_choose_its_attention(checkpoint):
    """transformers would have the package `kernels`, if installed, fetch code from the hub and run it."""
    folder = checkpoint({"config.json": {"attn_implementation": "thief/kernel"}})
    assert load_encoder(str(folder), "cls").backbone.config._attn_implementation == "sdpa"
