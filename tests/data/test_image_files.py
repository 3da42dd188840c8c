"""Where images come from: broken files, subsets, lists, small and transparent ones, hub datasets."""

import io
import logging
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
import torch
from made_up_images import equal, images
from PIL import Image
from torchvision.transforms.v2 import functional

from cse.data.images import subset
from cse.errors import MissingResource, UserError


@pytest.fixture
def flawed(tmp_path):
    """flawed(n): 120 images of which n are broken."""

    def make(broken: int) -> Path:
        for label in ("a", "b"):
            (tmp_path / label).mkdir()
            for number in range(60):
                Image.new("RGB", (40, 40), (number, 0, 0)).save(tmp_path / label / f"{number:02}.png")
        for number in range(broken):
            path = tmp_path / "b" / f"{10 * number:02}.png"
            path.write_bytes(path.read_bytes()[:60] if number else b"no image at all")
        return tmp_path

    return make


@pytest.mark.parametrize("workers", [0, 1])
def test_a_broken_file_is_skipped_named_and_counted(flawed, workers, caplog):
    stream = images(flawed(1), batch_size=24, workers=workers)
    with caplog.at_level(logging.WARNING):
        batches = list(islice(stream.batches(0), 10))
    named = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert len(named) == 1  # once, though met in both passes
    assert "00.png" in named[0]
    assert len(stream.skipped) == 1
    assert all(batch.labels_B.shape == (24,) for batch in batches)
    assert sum(len(batch.skipped) for batch in batches) == 2
    assert all(equal(a, b) for a, b in zip(batches[5:], islice(stream.batches(5), 5), strict=False))


@pytest.mark.parametrize("workers", [0, 1])
def test_more_than_one_percent_broken_is_an_error_in_one_sentence(flawed, workers):
    stream = images(flawed(3), batch_size=24, workers=workers)
    with pytest.raises(UserError, match=r"of the 120 images of .*cannot be used, more than 1%.*00\.png") as caught:
        list(islice(stream.batches(0), 5))
    assert "Traceback" not in str(caught.value)


def test_subset_is_drawn_by_its_own_seed_alone():
    labels = np.repeat(np.arange(10), [5, 50, 50, 50, 50, 50, 50, 50, 50, 3])
    rows, kept = subset(labels, 6, 20, seed=0)
    assert all(np.array_equal(a, b) for a, b in zip((rows, kept), subset(labels, 6, 20, seed=0), strict=True))
    assert not np.array_equal(rows, subset(labels, 6, 20, seed=1)[0])
    assert len(set(rows)) == len(rows)
    assert sorted(set(kept)) == list(range(6))
    for new in range(6):
        (old,) = set(labels[rows[kept == new]])
        assert (kept == new).sum() == min(20, (labels == old).sum())
    everything, same = subset(labels, None, None, seed=0)
    assert np.array_equal(everything, np.arange(len(labels)))
    assert np.array_equal(same, labels)


def test_a_list_of_files_picks_them(image_folder, tmp_path):
    listed = tmp_path / "list.txt"
    listed.write_text("/datasets/sampled/bee/1.png\n/datasets/sampled/bee/2.png\ndog/0.bmp\ndog/3.png\n")
    stream = images(image_folder, files=str(listed))
    assert sorted(Path(name).parts[-2:] for name in stream.names) == [
        ("bee", "1.png"), ("bee", "2.png"), ("dog", "0.bmp"), ("dog", "3.png"),
    ]  # fmt: skip
    assert stream.labels.tolist() == [0, 0, 1, 1]
    listed.write_text("bee/1.png\nbee/9.png\n")
    with pytest.raises(UserError, match="1 of the images listed"):
        images(image_folder, files=str(listed))
    with pytest.raises(UserError, match=r"data.files=.*nowhere.txt cannot be read"):
        images(image_folder, files=str(tmp_path / "nowhere.txt"))


def test_small_images_are_enlarged_first(image_folder):
    """CIFAR (Appendix F): 32 x 32 images are resized to 224 before anything else."""
    assert images(image_folder, resize=224)._decoded(0).shape[1:] == (672, 224)  # the 30 x 90 image
    assert images(image_folder)._decoded(0).shape == (3, 90, 30)


def test_gray_transparent_and_palette_files_become_rgb(tmp_path):
    (tmp_path / "all").mkdir()
    for mode in ("L", "RGBA", "P", "CMYK"):
        Image.new(mode, (40, 40)).save(tmp_path / "all" / f"{mode}.{'tif' if mode == 'CMYK' else 'png'}")
    assert images(tmp_path)[0].pixels_NCHW.shape == (8, 3, 32, 32)


def test_folders_that_will_not_do(image_folder, tmp_path):
    with pytest.raises(MissingResource, match=r"paths.images=.*nowhere: there is no such folder"):
        images(tmp_path / "nowhere")
    with pytest.raises(UserError, match="holds no folders"):
        images(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no image"):
        images(tmp_path)
    with pytest.raises(UserError, match=r"has 20 items, fewer than aux_modality.data.batch_size=48"):
        images(image_folder, batch_size=48)


@pytest.fixture
def hub(toy_hub, tmp_path):
    """A hub with a data set of 12 pictures in 3 classes, with CIFAR-100's column names."""
    import datasets

    rng = np.random.default_rng(0)
    pictures = [Image.fromarray(rng.integers(0, 255, (32, 32, 3), dtype=np.uint8)) for _ in range(12)]
    features = datasets.Features({"img": datasets.Image(), "fine_label": datasets.ClassLabel(num_classes=3)})
    rows = {"img": pictures, "fine_label": [0, 1, 2] * 4}
    file = tmp_path / "train.parquet"
    datasets.Dataset.from_dict(rows, features=features).to_parquet(file)
    for name in ("uoft-cs/cifar100", "lab/gated"):
        toy_hub.add(f"datasets/{name}", {"data/train-00000.parquet": file.read_bytes()})
    toy_hub.gated.add("datasets/lab/gated")
    return toy_hub


CIFAR = {"hub": "uoft-cs/cifar100", "image_column": "img", "label_column": "fine_label"}


def test_a_dataset_of_the_hub(hub):
    stream = images(None, classes=None, per_class=None, workers=1, **CIFAR)
    assert len(stream) == 12
    batch = next(stream.batches(0))
    assert batch.pixels_NCHW.shape == (8, 3, 32, 32)
    assert set(batch.labels_B.tolist()) <= {0, 1, 2}
    with pytest.raises(UserError, match=r"label_column=label: .* has img, fine_label"):
        images(None, classes=None, per_class=None, **CIFAR | {"label_column": "label"})


def test_a_subset_is_streamed_once_and_nothing_else_is_kept(hub, tmp_path, caplog):
    caplog.set_level("INFO")
    stream = images(None, classes=2, per_class=3, cache=str(tmp_path / "cache"), **CIFAR)
    assert len(stream) == 6
    assert len(set(stream.labels.tolist())) == 2
    assert "uoft-cs/cifar100: keeping 6 images of 2 classes" in caplog.text
    assert len(list((tmp_path / "cache" / "images").rglob("*.jpg"))) == 6
    assert next(stream.batches(0)).pixels_NCHW.shape == (8, 3, 32, 32)
    asked = len(hub.requests)
    images(None, classes=2, per_class=3, cache=str(tmp_path / "cache"), **CIFAR)
    assert len(hub.requests) == asked
    with pytest.raises(UserError, match=r"label_column=label: .* has img, fine_label"):
        images(None, per_class=3, cache=str(tmp_path / "cache"), **CIFAR | {"label_column": "label"})


def jpeg(number: int) -> bytes:
    file = io.BytesIO()
    pixels = np.random.default_rng(number).integers(0, 255, (24, 32, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(file, "JPEG")
    return file.getvalue()


def shard(labels: list[int], classes: int, first: int, *, with_bytes: bool = True) -> bytes:
    """A parquet file as the public hub has ImageNet's: each image a struct of JPEG bytes and a file's name."""
    import datasets

    names = datasets.ClassLabel(names=[f"n{number:08}" for number in range(classes)])
    features = datasets.Features({"image": datasets.Image(), "label": names})
    images = [{"bytes": jpeg(first + i) if with_bytes else None, "path": f"{i}.JPEG"} for i in range(len(labels))]
    file = io.BytesIO()
    rows = datasets.Dataset.from_dict({"image": images, "label": labels}, features=features)
    pyarrow.parquet.write_table(rows.data.table, file)  # to_parquet would look for the files
    return file.getvalue()


def test_the_published_images_are_streamed_once_and_trained_on(toy_hub, small_run, cse_train, tmp_path):
    """60 of 64 classes out of four shards, ViT's patches, two steps; a second run reads what the first kept."""
    from transformers import ViTConfig, ViTModel

    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(64), 3)).reshape(4, -1).tolist()
    shards = {f"data/train-{i}-of-4.parquet": shard(part, 64, 100 * i) for i, part in enumerate(labels)}
    toy_hub.add("datasets/ILSVRC/imagenet-1k", shards)
    ViTModel(ViTConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, image_size=32)
             ).save_pretrained(tmp_path / "vit")  # fmt: skip
    toy_hub.add("models/google/vit-base-patch16-224-in21k", tmp_path / "vit")
    line = [*small_run, "aux_modality=visual", "aux_modality.data.per_class=2", "aux_modality.data.size=32",
            "aux_modality.data.batch_size=8", "aux_modality.data.workers=0", "trainer.max_steps=2"]  # fmt: skip
    assert cse_train(line) == 0
    kept = list((tmp_path / "cache" / "images").rglob("*.jpg"))
    assert len(kept) == 120
    assert len({path.parent for path in kept}) == 60
    assert kept[0].read_bytes() in [jpeg(100 * i + row) for i in range(4) for row in range(48)]
    fetched = len(toy_hub.downloads())
    assert cse_train([*line, f"hydra.run.dir={tmp_path}/again"]) == 0
    assert len(toy_hub.downloads()) == fetched


def test_images_that_are_files_of_the_repository_are_streamed_too(toy_hub, tmp_path):
    """A folder a class, as `datasets` reads without any script."""
    files = {f"train/{label}/{i}.jpg": jpeg(i) for label in ("ant", "bee", "cow") for i in range(4)}
    toy_hub.add("datasets/lab/files", files)
    stream = images(None, hub="lab/files", classes=None, per_class=3, batch_size=4, cache=str(tmp_path / "cache"))
    assert len(stream) == 9
    assert {path.read_bytes() for path in (tmp_path / "cache" / "images").rglob("*.jpg")} == {jpeg(i) for i in range(3)}
    fetched = [path for path in toy_hub.downloads() if path.endswith(".jpg")]
    assert len(set(fetched)) == 9  # of the rest only the names were read


def test_rows_that_only_name_images_are_refused(toy_hub, tmp_path):
    toy_hub.add("datasets/lab/names", {"data/train-0.parquet": shard([0, 1] * 6, 2, 0, with_bytes=False)})
    with pytest.raises(UserError, match=r"hub=lab/names: a row has no image, only 0.JPEG, .* paths.images=FOLDER"):
        images(None, hub="lab/names", classes=None, per_class=3, cache=str(tmp_path / "cache"))
    rows = "".join(f'{{"image": "{i}.jpg", "label": {i % 2}}}\n' for i in range(12))
    toy_hub.add("datasets/lab/lines", {"train.jsonl": rows.encode()})
    with pytest.raises(UserError, match=r"aux_modality.data.*lab/lines does not say"):
        images(None, hub="lab/lines", classes=None, per_class=3, cache=str(tmp_path / "cache"))


def test_a_hub_that_refuses(hub, tmp_path):
    with pytest.raises(MissingResource, match=r"lab/gated is gated: accept its terms at .*; give a folder"):
        images(None, **CIFAR | {"hub": "lab/gated"}, cache=str(tmp_path))
    with pytest.raises(MissingResource, match=r"hub=ILSVRC/imagenet-1k: .* does not exist .*paths.images=FOLDER"):
        images(None, cache=str(tmp_path))


def test_real_images(shared):
    stream = images(shared / "data" / "images" / "natural_small", size=224, batch_size=48)
    assert len(stream) == 1200
    assert len(set(stream.labels)) == 60
    batch = next(stream.batches(0))
    views = stream.views(batch, torch.device("cpu"))
    assert views.shape == (96, 3, 224, 224)
    assert abs(views.mean()) < 1  # photographs, normalised
    pairs = functional.resize(views, [8]).flatten(1)
    distance = torch.cdist(pairs[:48], pairs[48:])
    nearest = (distance.argmin(1) == torch.arange(48)).float().mean()
    assert nearest > 0.2  # views of one photograph resemble each other; chance is .02
