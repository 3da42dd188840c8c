"""Where images come from: broken files, subsets, lists, small and transparent images, hub datasets."""

import io
import logging
import os
import re
import shutil
import tracemalloc
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from zlib import crc32

import numpy as np
import pyarrow.parquet
import pytest
from made_up_images import equal, images
from PIL import Image

from cse.data import cache
from cse.data.images import subset
from cse.errors import MissingResource, UserError


def test_a_few_broken_files_are_skipped_by_name_and_more_are_refused(tmp_path, caplog):
    for label in ("a", "b"):
        (tmp_path / label).mkdir()
        for number in range(60):
            Image.new("RGB", (40, 40), (number, 0, 0)).save(tmp_path / label / f"{number:02}.png")
    (tmp_path / "b" / "00.png").write_bytes(b"no image at all")
    stream = images(tmp_path, batch_size=24, workers=1)
    with caplog.at_level(logging.WARNING):
        batches = list(islice(stream.batches(0), 10))
    counted, named = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert stream.provenance()["items"] == 119
    assert re.search(r"\b1\b.*00\.png \(cannot identify image file\)", counted)
    assert "00.png" in named  # once, though both passes meet it
    assert all(batch.labels_B.shape == (24,) for batch in batches)
    assert sum(len(batch.skipped) for batch in batches) == 2
    assert all(equal(a, b) for a, b in zip(batches[5:], islice(stream.batches(5), 5), strict=False))
    streams = [images(tmp_path, batch_size=24, workers=workers) for workers in (0, 1)]
    for name in ("10.png", "20.png"):
        path = tmp_path / "b" / name
        path.write_bytes(path.read_bytes()[:60])
    for stream in streams:  # while a run trains
        with pytest.raises(UserError, match=r"of the 120 images .*00\.png"):
            list(islice(stream.batches(0), 5))


def test_images_that_have_not_changed_are_not_read_again(tmp_path, monkeypatch):
    """Also a broken file, which stays unusable."""
    monkeypatch.setattr(cache, "SETTLED", 0)
    (tmp_path / "all" / "a").mkdir(parents=True)
    for number in range(8):
        Image.new("RGB", (40, 40), (number, 0, 0)).save(tmp_path / "all" / "a" / f"{number}.png")
    (tmp_path / "all" / "a" / "3.png").write_bytes(b"no image at all")
    first = images(tmp_path / "all")
    monkeypatch.setattr("cse.data.images.check_image", None)
    again = images(tmp_path / "all")
    assert (again.inputs, again.unreadable) == (first.inputs, first.unreadable)
    assert first.unreadable == 1


@pytest.mark.parametrize(("ending", "kept", "refused"), [
    ("jpg", 0, True), ("jpg", 0.9, True), ("png", 0.9, True), ("jpg", 1, False), ("bmp", 1, False),
])  # fmt: skip
def test_many_broken_files_are_refused_before_a_run(tmp_path, ending, kept, refused):
    """kept: the share of every second file that is left."""
    (tmp_path / "a").mkdir()
    for number in range(8):
        path = tmp_path / "a" / f"{number}.{ending}"
        pixels = np.random.default_rng(number).integers(0, 255, (40, 40, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(path)
        if number % 2:
            path.write_bytes(path.read_bytes()[: int(kept * path.stat().st_size)])
    with pytest.raises(UserError, match=r"4 of the 8 images .*1\.") if refused else nullcontext():
        images(tmp_path)[0]


def test_a_picture_that_is_a_program_is_not_run(image_folder, tmp_path, monkeypatch):
    """PostScript in a file named .png, which Pillow would hand to Ghostscript."""
    program = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 40 40\n%%EndComments\nshowpage\n%%EOF\n"
    (tmp_path / "gs").write_text(f"#!/bin/sh\ntouch {tmp_path / 'ran'}\n")
    (tmp_path / "gs").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr("PIL.EpsImagePlugin.gs_binary", None)
    folder = shutil.copytree(image_folder, tmp_path / "images")
    Path(images(folder).names[0]).write_bytes(program)
    with pytest.raises(OSError, match="identify"):
        images(folder)._decoded(0)
    assert not (tmp_path / "ran").exists()


def test_a_picture_that_claims_more_pixels_than_it_has_takes_no_memory(image_folder, tmp_path):
    """A PNG of a kilobyte whose header says 60,000 x 60,000: 10 GB of pixels."""
    root = shutil.copytree(image_folder, tmp_path / "images")
    file = root / "ant" / "1.png"
    content = bytearray(file.read_bytes())
    content[16:24] = (60_000).to_bytes(4, "big") * 2
    content[29:33] = crc32(content[12:29]).to_bytes(4, "big")
    file.write_bytes(content)
    stream = images(root)
    tracemalloc.start()
    row = stream.names.index(str(file))
    with pytest.raises(Image.DecompressionBombError):
        stream._decoded(row)
    assert tracemalloc.get_traced_memory()[1] < 2**22
    tracemalloc.stop()
    skipped: dict[str, str] = {}
    assert stream._readable(row, skipped)[0] == row + 1
    assert list(skipped) == [str(file)]


def test_a_subset_is_drawn_by_its_own_seed():
    labels = np.repeat(np.arange(10), [5, 50, 50, 50, 50, 50, 50, 50, 50, 3])
    (rows, kept), (again, _), (other, _) = (subset(labels, 6, 20, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(rows, again)
    assert not np.array_equal(rows, other)
    assert len(set(rows)) == len(rows)
    for new in range(6):
        (old,) = set(labels[rows[kept == new]])
        assert (kept == new).sum() == min(20, (labels == old).sum())
    assert [part.tolist() for part in subset(labels, None, None, seed=0)] == [list(range(408)), labels.tolist()]


def test_a_list_of_files_picks_them(image_folder, tmp_path):
    listed = tmp_path / "list.txt"
    listed.write_text("/datasets/sampled/bee/1.png\n/datasets/sampled/bee/2.png\ndog/0.bmp\ndog/3.png\n")
    stream = images(image_folder, files=str(listed))
    assert sorted(Path(name).parts[-2:] for name in stream.names) == [
        ("bee", "1.png"), ("bee", "2.png"), ("dog", "0.bmp"), ("dog", "3.png"),
    ]  # fmt: skip
    assert stream.labels.tolist() == [0, 0, 1, 1]
    shutil.copytree(image_folder, tmp_path / "copy")
    (tmp_path / "copy" / "bee" / "1.png").rename(tmp_path / "copy" / "bee" / "my 1.png")
    listed.write_text("bee/my 1.png\n\nbee/2.png \ndog/0.bmp\ndog/3.png\n")
    names = images(tmp_path / "copy", files=str(listed)).names
    assert sorted(Path(name).name for name in names) == ["0.bmp", "2.png", "3.png", "my 1.png"]
    listed.write_text("\ufeffbee/2.png\ndog/0.bmp\n")
    assert len(images(image_folder, files=str(listed), batch_size=2)) == 2
    listed.write_text("bee/1.png\nbee/9.png\n")
    (tmp_path / "latin1.txt").write_bytes(b"bee/gr\xf6\xdfe.png\n")
    for files in (listed, tmp_path / "nowhere.txt", tmp_path / "latin1.txt"):
        with pytest.raises(UserError, match=str(files)):
            images(image_folder, files=str(files))


def test_small_images_are_enlarged_first(image_folder):
    """CIFAR (Appendix F): 32 x 32 images are resized to 224 before anything else."""
    assert images(image_folder, resize=224)._decoded(0).shape[1:] == (672, 224)  # the 30 x 90 image
    assert images(image_folder)._decoded(0).shape == (3, 90, 30)


def test_gray_transparent_and_palette_files_become_rgb(tmp_path):
    (tmp_path / "all").mkdir()
    for mode in ("L", "RGBA", "P", "CMYK"):
        Image.new(mode, (40, 40)).save(tmp_path / "all" / f"{mode}.{'tif' if mode == 'CMYK' else 'png'}")
    assert images(tmp_path)[0].pixels_NCHW.shape == (8, 3, 32, 32)


def test_a_folder_without_images_is_refused(tmp_path):
    (tmp_path / "hollow" / "empty").mkdir(parents=True)
    for place in (tmp_path / "nowhere", tmp_path / "hollow" / "empty", tmp_path / "hollow"):
        with pytest.raises(UserError, match=rf"folder={place}"):
            images(place)


def test_a_folder_above_the_classes_is_refused_with_theirs(image_folder, tmp_path):
    shutil.copytree(image_folder, tmp_path / "birds" / "set")
    for place in (tmp_path, tmp_path / "birds"):
        with pytest.raises(UserError, match=rf"folder={place}: .*{tmp_path / 'birds'}"):
            images(place)


def jpeg(number: int) -> bytes:
    file = io.BytesIO()
    pixels = np.random.default_rng(number).integers(0, 255, (24, 32, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(file, "JPEG")
    return file.getvalue()


def shard(classes: int, *, with_bytes: bool = True) -> bytes:
    """A parquet file of 12 pictures as the hub has ImageNet's: each a struct of JPEG bytes and a file's name."""
    import datasets

    names = datasets.ClassLabel(names=[f"n{number:08}" for number in range(classes)])
    features = datasets.Features({"image": datasets.Image(), "label": names})
    pictures = [{"bytes": jpeg(i) if with_bytes else None, "path": f"{i}.JPEG"} for i in range(12)]
    labels = [i % classes for i in range(12)]
    file = io.BytesIO()
    rows = datasets.Dataset.from_dict({"image": pictures, "label": labels}, features=features)
    pyarrow.parquet.write_table(rows.data.table, file)  # to_parquet would look for the files
    return file.getvalue()


WHOLE = {"hub": "lab/pictures", "classes": None, "per_class": None}


@pytest.fixture
def hub(toy_hub):
    toy_hub.add("datasets/lab/pictures", {"data/train-0.parquet": shard(3)})
    return toy_hub


def test_all_of_a_hub_dataset_is_kept_and_identified_by_its_content(hub, tmp_path):
    """A resume notices other pictures with the same labels."""
    asked = WHOLE | {"cache": str(tmp_path)}
    stream = images(None, workers=1, **asked)
    assert stream.labels.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert next(stream.batches(0)).pixels_NCHW.shape == (8, 3, 32, 32)
    assert images(None, **asked).inputs == stream.inputs
    Path(stream.names[0]).write_bytes(jpeg(99))
    other = images(None, **asked)
    assert other.inputs.keys() == stream.inputs.keys()
    assert other.inputs != stream.inputs


def test_a_subset_is_streamed_once_and_nothing_else_is_kept(hub, tmp_path):
    asked = WHOLE | {"classes": 2, "per_class": 3, "cache": str(tmp_path)}
    assert images(None, **asked).labels.tolist() == [0, 0, 0, 1, 1, 1]
    kept = {path.read_bytes() for path in (tmp_path / "images").rglob("*.jpg")}
    assert len(kept & set(map(jpeg, range(12)))) == len(kept) == 6
    requests = len(hub.requests)
    images(None, **asked)
    assert len(hub.requests) == requests
    for more in (asked, asked | WHOLE):
        with pytest.raises(UserError, match="label_column=fine"):
            images(None, **more | {"label_column": "fine"})


def test_images_that_are_files_of_the_repository_are_streamed_too(toy_hub, tmp_path):
    """One folder per class, as `datasets` reads without a script."""
    files = {f"train/{label}/{i}.jpg": jpeg(i) for label in ("ant", "bee", "cow") for i in range(4)}
    toy_hub.add("datasets/lab/files", files)
    images(None, hub="lab/files", classes=None, per_class=3, cache=str(tmp_path / "cache"))
    kept = [path.read_bytes() for path in (tmp_path / "cache" / "images").rglob("*.jpg")]
    assert (len(kept), set(kept)) == (9, {jpeg(i) for i in range(3)})
    fetched = {path for path in toy_hub.downloads() if path.endswith(".jpg")}
    assert len(fetched) == 9  # of the rest only the names were read


def test_a_dataset_that_the_hub_refuses_names_the_folder_to_use_instead(hub, tmp_path):
    hub.gated.add("datasets/lab/pictures")
    with pytest.raises(MissingResource, match=r"lab/pictures is gated.*paths\.images=FOLDER"):
        images(None, cache=str(tmp_path), **WHOLE)
    with pytest.raises(MissingResource, match=r"hub=ILSVRC/imagenet-1k: .*paths\.images=FOLDER"):
        images(None, cache=str(tmp_path))


def test_rows_without_images_are_refused(toy_hub, tmp_path):
    toy_hub.add("datasets/lab/names", {"data/train-0.parquet": shard(2, with_bytes=False)})
    rows = "".join(f'{{"image": "{i}.jpg", "label": {i % 2}}}\n' for i in range(12))
    toy_hub.add("datasets/lab/lines", {"train.jsonl": rows.encode()})  # says of no column what it is
    for name, told in (("lab/names", "0.JPEG"), ("lab/lines", "label_column")):
        with pytest.raises(UserError, match=told):
            images(None, hub=name, classes=None, per_class=3, cache=str(tmp_path / "cache"))
