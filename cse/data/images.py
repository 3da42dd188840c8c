"""Batches of labelled images with two augmented views each (VisualCSE), from one folder per class or a hub dataset.

A batch has N = 2B views: view 1 of all B images, then view 2. A view has C = 3 channels, and height H = width W = size.
Workers decode, crop and flip in uint8. `views` changes the colours of the whole batch at once, on any device.
"""

import hashlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import torch
from annotated_types import Ge, Le
from torch import Tensor

from cse.data.cache import read_once
from cse.data.hub_images import ImageSubset, image_needs
from cse.data.listing import class_of, list_class_files
from cse.data.pixels import IMAGE_ENDINGS, check_image, read_rgb
from cse.data.stream import Stream, by_class
from cse.data.usable import check_share
from cse.device import to_device
from cse.errors import UserError, check_loads, first_line
from cse.needs import Need, Settings
from cse.ranges import (
    Ascending,
    Cache,
    Count,
    File,
    Folder,
    HubName,
    Mark,
    Name,
    Natural,
    NonNegative,
    OneOf,
    PositiveShare,
    Seed,
    Several,
    Share,
)

log = logging.getLogger(__name__)

# the parameters in ColorJitter's order, each with the value that has no effect
NEUTRAL = {"brightness_factor": 1.0, "contrast_factor": 1.0, "saturation_factor": 1.0, "hue_factor": 0.0}
MEAN_STD = {
    "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "vit": ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),  # google/vit-*-in21k was trained with these values
}


class ImageBatch(NamedTuple):
    """A batch whose colours are not changed yet: the input of `Images.views`.

    order_N4, factors_N4: the order and the strength of four changes: brightness, contrast, saturation and hue.
    """

    pixels_NCHW: Tensor  # uint8
    order_N4: Tensor
    factors_N4: Tensor
    jitter_N: Tensor  # bool: whether the colours change
    gray_N: Tensor  # bool: whether the view becomes gray
    labels_B: Tensor
    skipped: tuple[str, ...]  # unreadable files, with the reason; the next readable file replaces such a file


class Images(Stream[ImageBatch]):
    """Batches of augmented images. conf/aux_modality/visual.yaml explains the settings."""

    kind = "images"

    def __init__(
        self,
        folder: Folder | None,
        hub: HubName,
        split: Name,
        image_column: Name,
        label_column: Name,
        files: File | None,
        classes: Count | None,
        per_class: Count | None,
        subset_seed: Seed,
        resize: Count | None,
        size: Count,
        crop_scale: Annotated[tuple[PositiveShare, PositiveShare], Ascending],
        flip_probability: Share,
        jitter: tuple[NonNegative, NonNegative, NonNegative, Annotated[float, Ge(0), Le(0.5)]],
        jitter_probability: Share,
        gray_probability: Share,
        normalize: Annotated[str, OneOf(MEAN_STD)],
        batch_size: Several,
        workers: Annotated[Natural | None, Mark.MACHINE, Mark.NAMED],
        seed: Seed,
        cache: Cache,
        shuffle_labels: bool = False,
    ):
        check_loads("torchvision.transforms.v2")
        from torchvision.transforms import v2

        where = folder or hub
        if folder is None:
            chosen = ImageSubset(hub, split, image_column, label_column, classes, per_class, subset_seed)
            folder = str(chosen.fetch(Path(cache)))
        names, labels = _from_folder(folder, files)
        there, classes_there = len(names), len(np.unique(labels))
        rows, labels = subset(labels, classes, per_class, subset_seed)
        self.names = [names[row] for row in rows]
        self.check_size(labels, where, batch_size)  # before all files are read
        inputs, unreadable = _fingerprints(folder, self.names, Path(cache))
        super().__init__(
            labels,
            where,
            batch_size,
            workers,
            seed,
            inputs=inputs,
            unreadable=len(unreadable),
            shuffle_labels=shuffle_labels,
        )
        counts = len(self) - len(unreadable), there, self.num_classes, classes_there
        shuffled = " (shuffled labels)" if shuffle_labels else ""
        log.info("images     %d of %d, in %d of %d classes%s, from %s", *counts, shuffled, where)
        if unreadable:
            named = len(unreadable), *min(unreadable.items())
            log.warning("images     skipped because they cannot be read: %d, the first: %s (%s)", *named)
        self.size, self.resize, self.normalize = size, resize, normalize
        self.crop, self.jitter = v2.RandomResizedCrop(size, scale=tuple(crop_scale)), v2.ColorJitter(*jitter)
        self.flip_probability, self.jitter_probability = flip_probability, jitter_probability
        self.gray_probability = gray_probability
        self.skipped: set[str] = set()

    @classmethod
    def needs(cls, settings: Settings) -> list[Need]:
        """Return the need for the user's own folder, or for some images of a dataset on the hub."""
        return image_needs(settings)

    def __getitem__(self, number: int) -> ImageBatch:
        skipped: dict[str, str] = {}
        with self.randomness(number):
            rows, views = [], []
            for drawn_row in self.items_of(number):
                row, image_CHW = self._readable(drawn_row, skipped)
                rows.append(row)
                views += [self._cropped(image_CHW), self._cropped(image_CHW)]
            draws = [self.jitter.make_params([]) for _ in views]
            factors = [[NEUTRAL[key] if draw[key] is None else draw[key] for key in NEUTRAL] for draw in draws]
            return ImageBatch(
                pixels_NCHW=torch.stack(views[0::2] + views[1::2]),  # view 1 of every image, then view 2
                order_N4=torch.stack([draw["fn_idx"] for draw in draws]),
                factors_N4=torch.tensor(factors),
                jitter_N=torch.rand(len(views)) < self.jitter_probability,
                gray_N=torch.rand(len(views)) < self.gray_probability,
                labels_B=torch.from_numpy(self.labels[rows]),
                skipped=tuple(f"{name} ({reason})" for name, reason in skipped.items()),
            )

    def batches(self, first: int, rank: int = 0, world: int = 1) -> Iterator[ImageBatch]:
        """See Stream. Logs the name of each unreadable file once. Raises UserError if many files are unreadable."""
        for batch in super().batches(first, rank, world):
            for name in sorted(set(batch.skipped) - self.skipped):
                log.warning("images     skipped %s", name)
            self.skipped |= set(batch.skipped)
            check_share(len(self.skipped), len(self), "images", self.where, min(self.skipped, default=""))
            yield batch

    def views(self, batch: ImageBatch, device: torch.device) -> Tensor:
        """Return both views with changed colours, normalised: (N, 3, H, W) float32 on `device`."""
        from torchvision.transforms.v2 import functional

        x_NCHW = functional.to_dtype(to_device(batch.pixels_NCHW, device), torch.float32, scale=True)
        x_NCHW = change_colours(x_NCHW, batch.order_N4, batch.factors_N4, batch.jitter_N)
        gray = to_device(batch.gray_N.nonzero()[:, 0], device)
        x_NCHW[gray] = functional.rgb_to_grayscale(x_NCHW[gray], num_output_channels=3)
        mean_C11, std_C11 = to_device(torch.tensor(MEAN_STD[self.normalize])[..., None, None], device)
        return x_NCHW.sub(mean_C11).div_(std_C11)  # torchvision's normalize would wait for a copy to the device

    def _readable(self, row: int, skipped: dict[str, str]) -> tuple[int, Tensor]:
        """Return the first readable row from `row` on, and its image. Adds the unreadable files to `skipped`."""
        while True:
            try:
                return row, self._decoded(row)
            except Exception as error:  # a broken file makes a decoder raise nearly anything
                skipped[self.names[row]] = first_line(error)
                check_share(len(skipped), len(self), "images", self.where, min(skipped))
                row = (row + 1) % len(self)

    def _decoded(self, row: int) -> Tensor:
        """Return the image of a row, (3, h, w) uint8. With `resize`, the image's shorter side has `resize` pixels."""
        from torchvision.transforms.v2 import functional

        image_CHW = functional.pil_to_tensor(read_rgb(self.names[row]))
        return image_CHW if self.resize is None else functional.resize(image_CHW, [self.resize])

    def _cropped(self, image_CHW: Tensor) -> Tensor:
        crop_CHW = self.crop(image_CHW)
        return crop_CHW.flip(-1) if torch.rand(()) < self.flip_probability else crop_CHW


def change_colours(x_NCHW: Tensor, order_N4: Tensor, factors_N4: Tensor, jitter_N: Tensor) -> Tensor:
    """Apply torchvision's ColorJitter, with separate factors and a separate order for every image. x is in [0, 1].

    order, factors and jitter are on the CPU, so that no operation waits for the device.
    """
    device = x_NCHW.device
    for turn in range(4):
        for kind, operation in enumerate((_brightness, _contrast, _saturation, _hue)):
            rows = (jitter_N & (order_N4[:, turn] == kind)).nonzero()[:, 0]
            factors_n111 = to_device(factors_N4[rows, kind, None, None, None], device)
            rows = to_device(rows, device)
            x_NCHW[rows] = operation(x_NCHW[rows], factors_n111)
    return x_NCHW


def _brightness(x_nCHW: Tensor, factor_n111: Tensor) -> Tensor:
    return (x_nCHW * factor_n111).clamp(0, 1)


def _contrast(x_nCHW: Tensor, factor_n111: Tensor) -> Tensor:
    mean_n111 = _gray(x_nCHW).mean((1, 2, 3), keepdim=True)
    return torch.lerp(mean_n111, x_nCHW, factor_n111).clamp(0, 1)


def _saturation(x_nCHW: Tensor, factor_n111: Tensor) -> Tensor:
    return torch.lerp(_gray(x_nCHW), x_nCHW, factor_n111).clamp(0, 1)


def _hue(x_nCHW: Tensor, turn_n111: Tensor) -> Tensor:
    """Turn the hue. A formula converts HSV to RGB, because torchvision would copy a table to the device each time."""
    from torchvision.transforms.v2.functional._color import _rgb_to_hsv  # adjust_hue takes one factor for all

    hue_n1HW, saturation_n1HW, value_n1HW = _rgb_to_hsv(x_nCHW).split(1, dim=1)
    k_n3HW = torch.cat([6 * (hue_n1HW + turn_n111) + start for start in (5, 3, 1)], dim=1) % 6
    return value_n1HW - value_n1HW * saturation_n1HW * torch.minimum(k_n3HW, 4 - k_n3HW).clamp(0, 1)


def _gray(x_nCHW: Tensor) -> Tensor:
    from torchvision.transforms.v2 import functional

    return functional.rgb_to_grayscale(x_nCHW, num_output_channels=1)


def subset(labels: np.ndarray, classes: int | None, per_class: int | None, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (rows, labels from 0) of at most `classes` random classes, with at most `per_class` rows in each class."""
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(np.unique(labels))[:classes])
    rows = [np.sort(rng.permutation(np.flatnonzero(labels == label))[:per_class]) for label in chosen]
    return np.concatenate(rows), np.repeat(np.arange(len(chosen)), [len(part) for part in rows])


def _fingerprints(folder: str, paths: list[str], cache: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return ({"the images of CLASS": the files' digest}, {unusable file: reason}).

    A file is unusable if `check_image` refuses it. Raises UserError if many files are unusable.
    """
    reasons: dict[str, str] = {}

    def look(path: Path) -> str:
        """Return the SHA-256 of the file. For an unusable file return "", and note the reason in `reasons`."""
        try:
            content = path.read_bytes()
            check_image(content)
            return hashlib.sha256(content).hexdigest()
        except Exception as error:  # for a broken file a decoder may raise nearly anything; `_readable` skips it
            reasons[str(path)] = first_line(error).partition(" <")[0]  # Pillow adds the address of an object
            return ""

    found = dict(zip(paths, read_once(cache, Path(folder), [*map(Path, paths)], look, "image"), strict=True))
    first = min(reasons, default="")
    check_share(len(reasons), len(paths), "images", folder, f"{first}, {reasons[first]}" if first else "")
    parts = {path: Path(path).relative_to(folder).parts for path in paths}
    named = ((class_of(Path(folder), Path(path)), "/".join(parts[path][1:]), found[path]) for path in paths)
    return by_class("images", named), reasons


def _from_folder(folder: str, files: str | None) -> tuple[list[str], np.ndarray]:
    """Return (paths, labels) of the images in a folder (see list_class_files), in the order of torchvision's
    ImageFolder. files: a file that lists the images to use, or None."""
    root = Path(folder)
    found = list_class_files(root, "images", IMAGE_ENDINGS)
    if files is not None:
        found = _only_listed(found, files, folder)
    name_of_class = {path: class_of(root, path) for path in found}
    found.sort(key=lambda path: (name_of_class[path], str(path.parent), path.name))
    return [*map(str, found)], np.unique([name_of_class[path] for path in found], return_inverse=True)[1]


def _only_listed(found: list[Path], files: str, folder: str) -> list[Path]:
    """Return the images that a file lists as CLASS/NAME, one per line. Raises UserError if one is missing."""
    try:
        lines = Path(files).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"it cannot be read: {first_line(error)}", key="files", value=files) from error
    listed = {Path(line.strip()).parts[-2:] for line in lines if line.strip()}
    if not listed:
        raise UserError("it lists no image: write CLASS/NAME in each line", key="files", value=files)
    chosen = [path for path in found if path.parts[-2:] in listed]
    if len(chosen) < len(listed):
        missing = len(listed) - len(chosen)
        raise UserError(f"{missing} of the {len(listed)} images listed in {files} are not in {folder}")
    return chosen
