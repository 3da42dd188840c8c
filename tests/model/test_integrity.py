"""Broken or hostile checkpoints are refused with the name of the tensor or file."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import damaged
import pytest
import torch
from safetensors.torch import load_file, save_file

from cse.errors import UserError
from cse.model.load import load_encoder
from cse.model.recorded import recorded_modules
from cse.run.subject import folder_of


@pytest.fixture
def checkpoint(tmp_path, tiny_bert) -> Path:
    return Path(shutil.copytree(tiny_bert, tmp_path / "checkpoint"))


def edit(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def change_json(file: Path, **settings: object) -> None:
    file.write_text(json.dumps((json.loads(file.read_text()) if file.exists() else {}) | settings))


LAYER, BEYOND = "bert.encoder.layer.1.output.dense.weight", "bert.encoder.layer.2.output.dense.weight"


@pytest.mark.parametrize(("change", "named"), [
    (lambda t: [t.pop(key) for key in list(t) if ".layer.1." in key], r"layer\.1\."),
    (lambda t: t.pop(LAYER), r"layer\.1\.output\.dense\.weight"),
    (lambda t: t.update({LAYER: torch.zeros(2, 3)}), r"layer\.1\.output\.dense\.weight \(2, 3\) for \(32"),
    (lambda t: t[LAYER][0].fill_(torch.nan), r"NaN .*layer\.1\.output\.dense\.weight"),
    (lambda t: t[LAYER][0, 0].fill_(torch.inf), r"infinity .*layer\.1\.output\.dense\.weight"),
    (lambda t: t.update({LAYER: t[LAYER].to(torch.int8)}), r"whole numbers .*layer\.1\.output\.dense\.weight"),
    (lambda t: t.update({BEYOND: torch.zeros(1)}), r"layer\.2\.output"),
])  # fmt: skip
@pytest.mark.parametrize("mlm", [False, True])
def test_missing_misshapen_or_damaged_tensors_are_refused(checkpoint, change, named, mlm):
    edit(checkpoint, change)
    with pytest.raises(UserError, match=named):
        load_encoder(str(checkpoint), "cls", mlm=mlm)


def test_layers_left_out_on_purpose_and_an_unused_head_are_no_damage(checkpoint):
    assert len(load_encoder(str(checkpoint), "cls", num_layers=1).backbone.encoder.layer) == 1


def no_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def nothing_of_a_tokenizer(folder: Path) -> None:
    no_tokenizer(folder)
    (folder / "tokenizer_config.json").unlink()


def a_tokenizer_in_python(folder: Path) -> None:
    no_tokenizer(folder)
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "ByT5Tokenizer"}')


def another_models_tokenizer(folder: Path) -> None:
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    vocabulary |= {f"new{i}": len(vocabulary) + i for i in range(5)}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))


@pytest.mark.parametrize(
    "spoil", [no_tokenizer, nothing_of_a_tokenizer, a_tokenizer_in_python, another_models_tokenizer]
)
def test_a_missing_slow_or_foreign_tokenizer_is_refused(checkpoint, spoil):
    spoil(checkpoint)
    with pytest.raises(UserError, match=f"{re.escape(str(checkpoint))}.* tokenizer"):
        load_encoder(str(checkpoint), "cls")


@pytest.mark.parametrize("length", [-1, 2, "x"])
@pytest.mark.parametrize(("file", "key"), [("sentence_bert_config.json", "max_seq_length"),
                                           ("tokenizer_config.json", "model_max_length")])  # fmt: skip
def test_a_length_that_leaves_no_room_for_text_is_refused(checkpoint, file, key, length):
    modules = [{"type": "models.Transformer", "path": ""}, {"type": "models.Pooling", "path": "1_Pooling"}]
    (checkpoint / "modules.json").write_text(json.dumps(modules))
    (checkpoint / "1_Pooling").mkdir()
    change_json(checkpoint / "1_Pooling" / "config.json", pooling_mode_cls_token=True)
    change_json(checkpoint / file, **{key: 3})
    assert load_encoder(str(checkpoint), None).tokenizer.longest == 3
    change_json(checkpoint / file, **{key: length})
    with pytest.raises(UserError, match=re.escape(str(checkpoint))):
        load_encoder(str(checkpoint), None)


@pytest.mark.parametrize("kinds", [
    "Pooling Transformer", "Transformer Pooling Pooling", "Transformer Pooling CNN", "Transformer Dense Pooling",
    "Transformer", "",
])  # fmt: skip
def test_unknown_or_misordered_modules_are_refused(tmp_path, kinds):
    modules = [{"type": f"models.{kind}", "path": f"{place}_{kind}"} for place, kind in enumerate(kinds.split())]
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    for module in modules:
        (tmp_path / module["path"]).mkdir()
        change_json(tmp_path / module["path"] / "config.json", pooling_mode_cls_token=True)
    with pytest.raises(UserError, match=r"modules\.json"):
        recorded_modules(tmp_path)


def test_an_adapter_beside_the_weights_is_refused(checkpoint):
    """One in adapter/ is an export's, and merged into the weights already."""
    (checkpoint / "adapter").mkdir()
    change_json(checkpoint / "adapter" / "adapter_config.json", peft_type="LORA", base_model_name_or_path="no/model")
    assert load_encoder(str(checkpoint), "cls")
    shutil.copy(checkpoint / "adapter" / "adapter_config.json", checkpoint)
    with pytest.raises(UserError, match=r"checkpoint/adapter_config\.json"):
        load_encoder(str(checkpoint), "cls")


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
    checkpoint.rename(tmp_path / "stranger" / "weights")
    assert load_encoder("package://stranger/weights", "cls").dim == 32
    assert folder_of("package://stranger/weights") == "package://stranger/weights"
    assert not ran.exists()


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
@pytest.mark.parametrize("content", [b"", b"[]", b'{"hidden_size": "x"}'])
def test_a_damaged_file_is_one_sentence(checkpoint, name, content):
    (checkpoint / name).write_bytes(content)
    with pytest.raises(UserError, match=re.escape(f"model.name={checkpoint}")) as raised:
        load_encoder(str(checkpoint), "cls")
    assert len(str(raised.value).splitlines()) == 1


def pickled(folder: Path, _: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({"bert.embeddings.word_embeddings.weight": damaged.Payload()}, folder / "pytorch_model.bin")


def programmed(folder: Path, ran: Path) -> None:
    change_json(
        folder / "config.json", auto_map={"AutoConfig": "own.Config", "AutoModel": "own.Model"}, model_type="own"
    )
    (folder / "own.py").write_text(f"open({str(ran)!r}, 'w')\n")


def programmed_where_transformers_has_none(folder: Path, ran: Path) -> None:
    programmed(folder, ran)
    change_json(folder / "config.json", auto_map={"AutoModel": "own.Model"}, model_type="trocr")


@pytest.mark.parametrize("plant", [pickled, programmed, programmed_where_transformers_has_none])
def test_code_in_a_checkpoint_does_not_run(checkpoint, tmp_path, monkeypatch, plant):
    """And nobody is asked whether it may."""
    monkeypatch.setattr("builtins.input", lambda _: "y")
    monkeypatch.chdir(tmp_path)
    plant(checkpoint, tmp_path / "ran")
    with pytest.raises(UserError, match=r"model\.name="):
        load_encoder(str(checkpoint), "cls")
    assert not (tmp_path / "ran").exists()


def test_a_checkpoint_cannot_choose_its_attention(checkpoint):
    """transformers would have the package `kernels`, if installed, fetch code from the hub and run it."""
    change_json(checkpoint / "config.json", attn_implementation="thief/kernel")
    assert load_encoder(str(checkpoint), "cls").backbone.config._attn_implementation == "sdpa"
