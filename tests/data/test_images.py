"""Batches of images: exact restarts, the released augmentations, broken files, folders and hub datasets."""

import logging
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from PIL import Image
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional

from cse.data.images import Images, change_colours, subset
from cse.errors import MissingResource, UserError

CONF = Path(__file__).parents[2] / "conf"
PLAIN = {"flip_probability": 0, "jitter_probability": 0, "gray_probability": 0}


def images(folder, **changes):
    """conf/aux_modality/visual.yaml's data, in this process, with some values changed."""
    node = OmegaConf.load(CONF / "aux_modality" / "visual.yaml").data
    assert node.pop("_target_") == "cse.data.images.Images"
    small = {"folder": str(folder) if folder else None, "batch_size": 4, "size": 32, "workers": 0, "seed": 7}
    return Images(**OmegaConf.merge(node, small, changes))


def colour(label: int, number: int) -> tuple[int, int, int]:
    return 40 * label + 20, 10 * number + 10, 200 - 30 * label


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Four classes of five images, each of one colour of its own, in sizes and file formats of many kinds."""
    root = tmp_path_factory.mktemp("images")
    for label, name in enumerate(["ant", "bee", "cat", "dog"]):
        (root / name).mkdir()
        for number in range(5):
            image = Image.new("RGB", (30 + 20 * number, 90 - 10 * label), colour(label, number))
            image.save(root / name / f"{number}{'.png' if number else '.bmp'}")
    return root


def equal(a, b) -> bool:
    return all(torch.equal(x, y) if isinstance(x, torch.Tensor) else x == y for x, y in zip(a, b, strict=True))


def test_every_pass_holds_every_item_once_in_a_new_order(folder):
    stream = images(folder)
    passes = [[row for number in range(5 * p, 5 * p + 5) for row in stream.rows(number)] for p in range(3)]
    assert [sorted(rows) for rows in passes] == [list(range(20))] * 3
    assert passes[0] != passes[1] != passes[2]


def test_the_last_incomplete_batch_of_a_pass_is_dropped(folder):
    stream = images(folder, batch_size=6)
    one_pass = [row for number in range(3) for row in stream.rows(number)]
    assert len(set(one_pass)) == 18
    assert all(len(stream.rows(number)) == 6 for number in range(9))


@pytest.mark.parametrize("workers", [0, 2])
def test_restart_at_any_batch_is_bit_identical(folder, workers):
    straight = list(islice(images(folder).batches(0), 9))
    for first in (1, 6):
        again = list(islice(images(folder, workers=workers).batches(first), 2))
        assert all(equal(a, b) for a, b in zip(straight[first : first + 2], again, strict=True))
    assert not equal(straight[0], straight[5])  # the same images may come again, in another order and otherwise cut
    assert not torch.equal(straight[0].pixels_NCHW, next(images(folder, seed=8).batches(0)).pixels_NCHW)


def test_two_processes_share_the_batches(folder):
    straight = list(islice(images(folder).batches(0), 6))
    first, second = (list(islice(images(folder).batches(1, rank, 2), 2)) for rank in range(2))
    order = [first[0], second[0], first[1], second[1]]
    assert all(equal(a, b) for a, b in zip(straight[2:], order, strict=True))


@pytest.mark.parametrize("workers", [0, 1])
def test_batches_leave_the_random_numbers_of_the_run_alone(folder, workers):
    torch.manual_seed(3)
    expected = torch.rand(3)
    torch.manual_seed(3)
    next(images(folder, workers=workers).batches(0))
    assert torch.equal(torch.rand(3), expected)


def test_waiting_is_counted(folder):
    stream = images(folder)
    assert stream.seconds_waited == 0
    list(islice(stream.batches(0), 2))
    assert 0 < stream.seconds_waited < 10


def test_views_and_labels_belong_together(folder):
    """Of images of one colour every crop tells which file it is from."""
    stream = images(folder, **PLAIN)
    seen = set()
    for batch in islice(stream.batches(0), 5):
        pixels = batch.pixels_NCHW
        assert pixels.shape == (8, 3, 32, 32)
        assert (pixels == pixels[:, :, :1, :1]).all()
        for item, label in enumerate(batch.labels_B.tolist()):
            view1, view2 = (tuple(pixels[row, :, 0, 0].tolist()) for row in (item, item + 4))
            assert view1 == view2
            assert view1 in {colour(label, number) for number in range(5)}
            seen.add(view1)
    assert len(seen) == 20


def test_without_augmentation_a_view_is_the_normalised_image(folder):
    stream = images(folder, crop_scale=[1.0, 1.0], **PLAIN)
    batch = stream[0]
    views = stream.views(batch, torch.device("cpu"))
    red = (batch.pixels_NCHW[0, 0, 0, 0].item() / 255 - 0.485) / 0.229  # ImageNet's mean and deviation of red
    assert views[0, 0].mean().item() == pytest.approx(red, abs=1e-5)
    vit = images(folder, crop_scale=[1.0, 1.0], normalize="vit", **PLAIN).views(batch, torch.device("cpu"))
    assert vit[0, 0].mean().item() == pytest.approx(batch.pixels_NCHW[0, 0, 0, 0].item() / 127.5 - 1, abs=1e-5)


def test_colours_change_as_torchvision_changes_them_image_by_image():
    torch.manual_seed(0)
    x_NCHW = torch.rand(12, 3, 16, 20)
    transform = v2.ColorJitter(0.4, 0.4, 0.4, 0.1)
    drawn = [transform.make_params([]) for _ in range(12)]
    order = torch.stack([draw["fn_idx"] for draw in drawn])
    factors = torch.tensor([[value for key, value in draw.items() if key.endswith("factor")] for draw in drawn])
    jitter = torch.arange(12) % 3 > 0
    found = change_colours(x_NCHW.clone(), order, factors, jitter)
    for n in range(12):
        expected = transform.transform(x_NCHW[n], drawn[n]) if jitter[n] else x_NCHW[n]
        assert torch.allclose(found[n], expected, atol=2e-6)
    assert len({tuple(draw["fn_idx"].tolist()) for draw in drawn}) > 6


def test_gray_views_are_gray_and_the_rest_is_not(folder):
    stream = images(folder, normalize="vit")
    batch = stream[0]._replace(gray_N=torch.arange(8) % 2 == 0)
    views = stream.views(batch, torch.device("cpu"))
    spread = (views.amax(1) - views.amin(1)).amax((1, 2))
    assert (spread[0::2] < 1e-5).all()
    assert (spread[1::2] > 1e-2).all()


def test_how_often_each_augmentation_happens(folder):
    """Probabilities .5 .8 .2, crops of 20 to 100 % of the area, factors within .4 .4 .4 .1 of neutral."""
    stream = images(folder, batch_size=20, size=16)
    batches = [stream[number] for number in range(12)]  # 480 views: a share of p has a deviation below .023
    assert torch.cat([b.jitter_N for b in batches]).float().mean().item() == pytest.approx(0.8, abs=0.07)
    assert torch.cat([b.gray_N for b in batches]).float().mean().item() == pytest.approx(0.2, abs=0.07)
    factors = torch.cat([b.factors_N4 for b in batches])
    low, high = torch.tensor([0.6, 0.6, 0.6, -0.1]), torch.tensor([1.4, 1.4, 1.4, 0.1])
    assert (factors >= low).all()
    assert (factors <= high).all()
    assert torch.allclose(factors.amin(0), low, atol=0.03)
    assert torch.allclose(factors.amax(0), high, atol=0.03)


def test_flips_and_crops(tmp_path):
    """A ramp from left to right and top to bottom shows which part was cut out and whether it was mirrored."""
    (tmp_path / "ramp").mkdir()
    x, y = np.meshgrid(np.arange(100), np.arange(100))
    for number in range(4):
        Image.fromarray(np.stack([2 * x, 2 * y, x * 0], -1).astype(np.uint8)).save(tmp_path / "ramp" / f"{number}.png")
    stream = images(tmp_path, size=64, jitter_probability=0, gray_probability=0)
    crops = torch.cat([stream[number].pixels_NCHW for number in range(60)]).float() / 2
    across = crops[:, 0].mean(1)  # mean over rows of the crop: the column of the original
    flipped = across[:, -1] < across[:, 0]
    assert flipped.float().mean().item() == pytest.approx(0.5, abs=0.1)
    width = (across[:, -1] - across[:, 0]).abs() * 64 / 63
    height = (crops[:, 1].mean(2)[:, -1] - crops[:, 1].mean(2)[:, 0]).abs() * 64 / 63
    area = width * height / 100**2
    assert 0.17 < area.min() < 0.25
    assert 0.9 < area.max() < 1.03


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
    with pytest.raises(UserError, match=r"of the 120 files of .*cannot be used, more than the 1%.*00\.png") as caught:
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


def test_a_list_of_files_picks_them(folder, tmp_path):
    listed = tmp_path / "list.txt"
    listed.write_text("/datasets/sampled/bee/1.png\n/datasets/sampled/bee/2.png\ndog/0.bmp\ndog/3.png\n")
    stream = images(folder, files=str(listed))
    assert sorted(Path(name).parts[-2:] for name in stream.names) == [
        ("bee", "1.png"), ("bee", "2.png"), ("dog", "0.bmp"), ("dog", "3.png"),
    ]  # fmt: skip
    assert stream.labels.tolist() == [0, 0, 1, 1]
    listed.write_text("bee/1.png\nbee/9.png\n")
    with pytest.raises(UserError, match="1 of the images listed"):
        images(folder, files=str(listed))
    with pytest.raises(UserError, match=r"data.files=.*nowhere.txt cannot be read"):
        images(folder, files=str(tmp_path / "nowhere.txt"))


def test_small_images_are_enlarged_first(folder):
    """CIFAR (Appendix F): 32 x 32 images are resized to 224 before anything else."""
    assert images(folder, resize=224)._decoded(0).shape[1:] == (672, 224)  # the 30 x 90 image
    assert images(folder)._decoded(0).shape == (3, 90, 30)


def test_gray_transparent_and_palette_files_become_rgb(tmp_path):
    (tmp_path / "all").mkdir()
    for mode in ("L", "RGBA", "P", "CMYK"):
        Image.new(mode, (40, 40)).save(tmp_path / "all" / f"{mode}.{'tif' if mode == 'CMYK' else 'png'}")
    assert images(tmp_path)[0].pixels_NCHW.shape == (8, 3, 32, 32)


def test_folders_that_will_not_do(folder, tmp_path):
    with pytest.raises(MissingResource, match=r"paths.images=.*nowhere: there is no such folder"):
        images(tmp_path / "nowhere")
    with pytest.raises(UserError, match="holds no folders"):
        images(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no image"):
        images(tmp_path)
    with pytest.raises(UserError, match=r"has 20 items, fewer than aux_modality.data.batch_size=48"):
        images(folder, batch_size=48)
    with pytest.raises(UserError, match="normalize=none is not one of imagenet, vit"):
        images(folder, normalize="none")


@pytest.fixture(scope="module")
def hub(tmp_path_factory) -> str:
    """A folder that `datasets` reads as it reads a hub's dataset, with CIFAR-100's column names."""
    import datasets

    rng = np.random.default_rng(0)
    pictures = [Image.fromarray(rng.integers(0, 255, (32, 32, 3), dtype=np.uint8)) for _ in range(12)]
    features = datasets.Features({"img": datasets.Image(), "fine_label": datasets.ClassLabel(num_classes=3)})
    rows = {"img": pictures, "fine_label": [0, 1, 2] * 4}
    root = tmp_path_factory.mktemp("hub")
    datasets.Dataset.from_dict(rows, features=features).to_parquet(root / "train.parquet")
    return str(root)


def test_a_dataset_of_the_hub(hub, monkeypatch, tmp_path):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path)
    columns = {"hub": hub, "image_column": "img", "label_column": "fine_label"}
    stream = images(None, per_class=3, workers=1, **columns)
    assert len(stream) == 9
    batch = next(stream.batches(0))
    assert batch.pixels_NCHW.shape == (8, 3, 32, 32)
    assert set(batch.labels_B.tolist()) <= {0, 1, 2}
    with pytest.raises(UserError, match=r"label_column=label: .* has img, fine_label"):
        images(None, **columns | {"label_column": "label"})


def test_a_hub_that_cannot_be_reached():
    with pytest.raises(MissingResource, match=r"ILSVRC/imagenet-1k \(train\) cannot be had.*paths.images=FOLDER"):
        images(None)


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
