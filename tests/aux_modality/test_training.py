"""Images and sound in whole runs: in other orders, with other heads, on two processes."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from killed import logged
from run_folders import results_of
from safetensors.torch import load_file


def metrics(folder: Path) -> list[dict]:
    return [event for event in logged(folder) if "train/loss" in event]


@pytest.mark.parametrize(
    ("modality", "kind", "name"), [("images", "images", "VisualCSE"), ("sounds", "clips", "AudioCSE")]
)
def test_what_a_run_learned_from_is_on_record(modality, kind, name, small_run, tmp_path, cse_train, request, capsys):
    """Under the folder's own name, with the digest of its content: the same in a copy elsewhere."""
    words = request.getfixturevalue(modality)
    (folder,) = (Path(word.partition("=")[2]) for word in words if word.startswith("paths."))
    copy = shutil.copytree(folder, tmp_path / "copy")
    records = []
    for place in (folder, copy):
        line = [*small_run, *words, f"paths.{modality if kind == 'images' else 'audio'}={place}", "trainer.max_steps=1"]
        assert cse_train([*line, f"hydra.run.dir={tmp_path}/{place.name}-run"]) == 0
        records.append(results_of(tmp_path / f"{place.name}-run")["training_data"])
    first, second = (about["aux_modality"] for about in records)
    assert first == {"source": folder.name, "kind": kind, "items": 16, "classes": 4, "labels": "true",
                     "digest": second["digest"], "loss": "supcon"}  # fmt: skip
    assert second["source"] == "copy"
    assert records[0]["digest"] == records[1]["digest"] != first["digest"]
    card = (tmp_path / "copy-run/best/README.md").read_text()
    assert f"# {name} from " in card
    assert f"16 {kind} of 4 classes, with true labels, from `copy` (digest `{first['digest']}`)" in card
    assert re.search(r"^step 1/1  loss \S+  aux loss \d\S+ .* \S+ s/step", capsys.readouterr().out, re.M)


def test_a_folder_of_broken_pictures_is_refused_before_any_work(small_run, images, tmp_path, cse_train, capsys):
    folder = next(Path(word.partition("=")[2]) for word in images if word.startswith("paths.images="))
    for path in list(shutil.copytree(folder, tmp_path / "broken").rglob("*.*"))[::4]:
        path.write_bytes(b"no image at all")
    for more in ("dry_run=true", "dry_run=false"):
        assert cse_train([*small_run, *images, f"paths.images={tmp_path}/broken", more]) == 2
        assert "4 of the 16 images" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("changes", [
    ["aux_modality.optimizer=joint", "aux_modality.head_mode=shared"],
    ["aux_modality.head_mode=text_then_own", "aux_modality.order=text_first", "trainer.chunk=3"],
])  # fmt: skip
def test_images_in_other_orders_and_with_other_heads(changes, small_run, images, tmp_path, cse_train):
    assert cse_train([*small_run, *images, *changes, "trainer.max_steps=2"]) == 0
    steps = metrics(tmp_path / "run")
    assert len(steps) == 2
    assert all(np.isfinite(step["train/aux/loss"]) for step in steps)


@pytest.mark.parametrize("order", ["aux_first", "text_first"])
def test_without_weight_the_text_learns_what_it_learns_alone(order, small_run, images, tmp_path, cse_train):
    """The same dropout of the text too, so that a run without images is what one with them is compared with."""
    line = [*small_run, "trainer.max_steps=3"]
    assert cse_train([*line, f"hydra.run.dir={tmp_path}/alone"]) == 0
    assert cse_train([*line, *images, "aux_modality.weight=0", f"aux_modality.order={order}"]) == 0
    alone, beside = (load_file(tmp_path / name / "last/state.safetensors") for name in ("alone", "run"))
    assert {name.partition("/")[0] for name in alone} == {"encoder", "objective", "optimizer", "random"}
    for name, tensor in alone.items():
        assert torch.equal(tensor, beside[name]), name


def test_the_weight_scales_the_gradient_of_the_second_modality(small_run, images, tmp_path, cse_train):
    norms = []
    for weight in (1.0, 3.0):
        folder = tmp_path / str(weight)
        line = [*small_run, *images, "trainer.max_steps=1", f"aux_modality.weight={weight}", f"hydra.run.dir={folder}"]
        assert cse_train(line) == 0
        norms.append(metrics(folder)[0]["train/aux/grad_norm"])
    assert norms[1] == pytest.approx(3 * norms[0], rel=1e-4)


@pytest.mark.nightly
def test_two_processes_have_the_text_gradient_of_one(small_run, images, tmp_path, cse_train):
    """But not its auxiliary gradient: as published, each process has an auxiliary loss of its own."""
    still = [*small_run, *images, "augmentation=shuffle", "augmentation.model_dropout=0.0", "trainer.max_steps=1",
             "aux_modality.order=text_first"]  # fmt: skip
    assert cse_train(still) == 0
    command = [Path(sys.executable).parent / "cse-train", *still, "trainer.devices=2", f"hydra.run.dir={tmp_path}/two"]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    one, two = metrics(tmp_path / "run")[0], metrics(tmp_path / "two")[0]
    for same in ("train/loss", "train/grad_norm", "train/aux/loss"):  # rank 0 has the first batch of images
        assert two[same] == pytest.approx(one[same], rel=1e-5), same
    assert two["train/aux/grad_norm"] != pytest.approx(one["train/aux/grad_norm"], rel=1e-2)
