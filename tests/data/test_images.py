"""Batches of images: exact restarts, and the released augmentations."""

from itertools import islice

import numpy as np
import pytest
import torch
from made_up_images import PLAIN, colour, equal, images
from PIL import Image
from torchvision.transforms import v2

from cse.data.images import change_colours
from cse.errors import UserError


def test_every_pass_has_every_item_once_in_a_new_order_apart_from_an_incomplete_batch(image_folder):
    stream = images(image_folder)
    passes = [[row for number in range(5 * p, 5 * p + 5) for row in stream.items_of(number)] for p in range(3)]
    assert [sorted(rows) for rows in passes] == [list(range(20))] * 3
    assert passes[0] != passes[1] != passes[2]
    stream = images(image_folder, batch_size=6)
    assert len({row for number in range(3) for row in stream.items_of(number)}) == 18
    assert all(len(stream.items_of(number)) == 6 for number in range(9))


def test_restart_at_any_batch_is_bit_identical_and_leaves_the_runs_random_numbers_alone(image_folder):
    stream = images(image_folder)
    before = torch.get_rng_state()
    straight = list(islice(stream.batches(0), 9))
    assert torch.equal(before, torch.get_rng_state())
    assert 0 < stream.seconds_waited < 600
    for first in (1, 6):
        again = list(islice(images(image_folder, workers=2).batches(first), 2))
        assert all(equal(a, b) for a, b in zip(straight[first : first + 2], again, strict=True))
    assert not equal(straight[0], straight[5])  # the same images may come again, in another order and otherwise cut
    assert not torch.equal(straight[0].pixels_NCHW, images(image_folder, seed=8)[0].pixels_NCHW)
    ranks = [list(islice(images(image_folder).batches(1, rank, 2), 2)) for rank in range(2)]  # two processes share them
    order = [ranks[0][0], ranks[1][0], ranks[0][1], ranks[1][1]]
    assert all(equal(a, b) for a, b in zip(straight[2:6], order, strict=True))


def test_both_views_and_the_label_are_of_the_same_image(image_folder):
    """Each image has one colour, so that a crop shows which file it comes from."""
    stream = images(image_folder, **PLAIN)
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


def test_shuffled_labels_are_the_same_classes_on_other_images_by_the_seed(image_folder):
    plain, shuffled, again, other = (
        images(image_folder, shuffle_labels=how, seed=seed) for how, seed in [(0, 7), (1, 7), (1, 7), (1, 8)]
    )
    assert torch.equal(plain[3].pixels_NCHW, shuffled[3].pixels_NCHW)
    assert sorted(plain.labels) == sorted(shuffled.labels)
    assert (plain.labels != shuffled.labels).mean() > 0.4
    assert (shuffled.labels == again.labels).all()
    assert (shuffled.labels != other.labels).any()
    assert (plain.provenance()["labels"], shuffled.provenance()["labels"]) == ("true", "shuffled")


@pytest.mark.parametrize(("normalize", "mean", "deviation"), [("imagenet", 0.485, 0.229), ("vit", 0.5, 0.5)])
def test_without_augmentation_a_view_is_the_normalised_image(image_folder, normalize, mean, deviation):
    stream = images(image_folder, crop_scale=[1.0, 1.0], normalize=normalize, **PLAIN)
    batch = stream[0]
    red = (batch.pixels_NCHW[0, 0, 0, 0].item() / 255 - mean) / deviation
    assert stream.views(batch, torch.device("cpu"))[0, 0].mean().item() == pytest.approx(red, abs=1e-5)


def test_colours_of_a_batch_change_as_torchvision_changes_each_image():
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


def test_gray_views_are_gray_and_the_others_are_not(image_folder):
    stream = images(image_folder, normalize="vit")
    batch = stream[0]._replace(gray_N=torch.arange(8) % 2 == 0)
    views = stream.views(batch, torch.device("cpu"))
    spread = (views.amax(1) - views.amin(1)).amax((1, 2))
    assert (spread[0::2] < 1e-5).all()
    assert (spread[1::2] > 1e-2).all()


def test_how_often_each_augmentation_happens(image_folder):
    """Probabilities .5 .8 .2, crops of 20 to 100 % of the area, factors within .4 .4 .4 .1 of neutral."""
    stream = images(image_folder, batch_size=20, size=16)
    batches = [stream[number] for number in range(12)]  # 480 views: a share of p has a deviation below .023
    assert torch.cat([b.jitter_N for b in batches]).float().mean().item() == pytest.approx(0.8, abs=0.07)
    assert torch.cat([b.gray_N for b in batches]).float().mean().item() == pytest.approx(0.2, abs=0.07)
    factors = torch.cat([b.factors_N4 for b in batches])
    low, high = torch.tensor([0.6, 0.6, 0.6, -0.1]), torch.tensor([1.4, 1.4, 1.4, 0.1])
    assert (factors >= low).all()
    assert (factors <= high).all()
    assert torch.allclose(factors.amin(0), low, atol=0.03)
    assert torch.allclose(factors.amax(0), high, atol=0.03)


def test_crops_and_flips_have_their_published_sizes_and_frequency(tmp_path):
    """A ramp from left to right and top to bottom shows which part was cut out, and whether it was mirrored."""
    (tmp_path / "ramp").mkdir()
    x, y = np.meshgrid(np.arange(100), np.arange(100))
    for number in range(4):
        Image.fromarray(np.stack([2 * x, 2 * y, x * 0], -1).astype(np.uint8)).save(tmp_path / "ramp" / f"{number}.png")
    stream = images(tmp_path, size=64, jitter_probability=0, gray_probability=0)
    pixels = [stream[number].pixels_NCHW for number in range(60)]
    assert not any(torch.equal(*pair) for batch in pixels for pair in zip(*batch.chunk(2), strict=True))  # cut apart
    crops = torch.cat(pixels).float() / 2
    across = crops[:, 0].mean(1)  # mean over rows of the crop: the column of the original
    flipped = across[:, -1] < across[:, 0]
    assert flipped.float().mean().item() == pytest.approx(0.5, abs=0.1)
    width = (across[:, -1] - across[:, 0]).abs() * 64 / 63
    height = (crops[:, 1].mean(2)[:, -1] - crops[:, 1].mean(2)[:, 0]).abs() * 64 / 63
    area = width * height / 100**2
    assert 0.17 < area.min() < 0.25
    assert 0.9 < area.max() < 1.03


@pytest.mark.parametrize(("classes", "is_flat"), [([""], True), (["cat", "dog"], False)])
def test_few_images_without_class_folders_are_refused_once_for_both_reasons(tmp_path, classes, is_flat):
    for name in classes:
        (tmp_path / name).mkdir(exist_ok=True)
        Image.new("RGB", (40, 40)).save(tmp_path / name / "0.png")
    with pytest.raises(UserError, match="batch_size=4") as refused:
        images(tmp_path)
    assert ("aux_modality.loss=simclr" in str(refused.value)) == is_flat
