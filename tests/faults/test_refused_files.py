"""A damaged or unfit file is refused by name by the part that reads it.

More of them: tests/data/test_readers.py, tests/model/test_integrity.py, test_vectors.py; score sets: each evaluator's
tests.
"""

import json
import re
from pathlib import Path

import damaged
import pytest
import torch
from safetensors.torch import save

import cse
from cse.data.text import Text
from cse.errors import UserError
from cse.run.build import make

TEXTS = {  # {columns: files, some with the line that has to be named}
    "": "empty folder.txt unreadable.txt loop",
    "a": "bom16.csv nan.jsonl:2 twice.jsonl norows.parquet mixed",
}
PICTURES = ["F/plain.txt", "F/few_images"]
SSAST = ["F/plain.txt", "F/empty.txt", "F/code.pth", "F/list.pth", "F/shapes.pth", "F/text.pth"]


def st(*modules: str, **files: object) -> dict:
    """A sentence-transformers layout of these modules; `files` are the contents of NUMBER_NAME/config.json."""
    folders = ["" if kind == "Transformer" else f"{n}_{kind}" for n, kind in enumerate(modules)]
    listed = [
        {"idx": n, "name": str(n), "path": folder, "type": f"st.models.{kind}"}
        for n, (kind, folder) in enumerate(zip(modules, folders, strict=True))
    ]
    return {"modules.json": json.dumps(listed)} | {f"{name}/config.json": what for name, what in files.items()}


def dense(settings: dict, **weights: torch.Tensor) -> dict:
    layout = st("Transformer", "Pooling", "Dense", **{"1_Pooling": CLS, "2_Dense": settings})
    return layout | ({"2_Dense/model.safetensors": save({"linear.weight": weights["linear"]})} if weights else {})


CLS = {"pooling_mode_cls_token": True}
DENSE = {"in_features": 32, "out_features": 8, "bias": False, "activation_function": "torch.nn.modules.activation.Tanh"}
POOLED = st("Transformer", "Pooling", **{"1_Pooling": CLS})
INDEX = {"metadata": {}, "weight_map": {"a": "model-00001-of-00002.safetensors"}}
CHECKPOINTS = {  # more in tests/model/test_integrity.py
    "no_config": {"config.json": None},
    "config_vit": {"config.json": {"model_type": "vit"}},
    "no_weights": {"model.safetensors": None},
    "index_missing": {"model.safetensors": None, "model.safetensors.index.json": INDEX},
    "st_modules_dict": {"modules.json": "{}"},
    "st_pooling_max": st("Transformer", "Pooling", **{"1_Pooling": {"pooling_mode_max_tokens": True}}),
    "st_dense_config": dense({}, linear=torch.zeros(8, 32)),
    "st_dense_width": dense(DENSE | {"in_features": 40}, linear=torch.zeros(8, 40)),
    "st_dense_nan": dense(DENSE, linear=torch.full((8, 32), torch.nan)),
    "st_dense_announced": dense(DENSE | {"in_features": 10**7, "out_features": 10**7}, linear=torch.zeros(8, 32)),
    "st_length_text": POOLED | {"sentence_bert_config.json": {"max_seq_length": "long"}},
    "st_prompts_list": POOLED | {"config_sentence_transformers.json": {"prompts": ["a"]}},
}


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    """F: the files of damaged.py."""
    folder = tmp_path_factory.mktemp("refused") / "F"
    damaged.write_files(folder)
    return folder


@pytest.mark.parametrize(("columns", "file"), [(columns, one) for columns, all in TEXTS.items() for one in all.split()])
def test_a_text_file_is_named_with_its_line(files, tmp_path, file, columns):
    name, _, line = file.partition(":")
    text = Text("text", str(tmp_path), path=str(files / name), columns=[columns] if columns else None)
    with pytest.raises(UserError, match=rf"(?s){re.escape(name)}{f', line {line}' if line else ''}\b") as refused:
        text.prepare()
    assert len(str(refused.value).splitlines()) == 1
    assert not list(tmp_path.rglob("*.npy"))


@pytest.mark.parametrize("change", CHECKPOINTS)
def test_a_damaged_checkpoint_is_named(tiny_bert, tmp_path, change):
    folder = damaged.copy(tiny_bert, tmp_path / change, CHECKPOINTS[change])
    with pytest.raises(UserError, match=change) as refused:
        cse.load(folder, None if change.startswith("st_") else "cls")
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(("modality", "key", "place"),
                         [("visual", "paths.images", place) for place in PICTURES]
                         + [("audio", "paths.audio", place) for place in ("F/plain.txt", "F/broken_sounds")]
                         + [("audio aux_modality.init=ssast", "aux_modality.weights", place) for place in SSAST]
                         + [("visual aux_modality.init=vit", "aux_modality.weights", "F/empty")])  # fmt: skip
def test_unfit_images_sounds_and_their_weights_are_named(request, files, tmp_path, monkeypatch, modality, key, place):
    monkeypatch.chdir(tmp_path)
    name, *more = modality.split()
    whole = request.getfixturevalue("images" if name == "visual" else "sounds")
    place = place.replace("F/", f"{files}/")
    words = [*whole, *more, f"{key}={place}", f"paths.cache={tmp_path}", "aux_modality.data.batch_size=8"]
    with pytest.raises(UserError, match=re.escape(place)):
        make(cse.compose(*words).aux_modality, dim=32)
    assert not (tmp_path / "ran").exists()
