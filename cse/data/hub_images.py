"""Images of a hub dataset, all or some of its classes, streamed once into a folder."""

import hashlib
import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cse.errors import UserError, within
from cse.files import written_once
from cse.needs import FileNeed, Need, Place, Settings
from cse.progress import showing, track
from cse.sources import hub
from cse.sources.catalogue import DATASETS
from cse.sources.fetch import DatasetNeed

log = logging.getLogger(__name__)

PINNED = {DATASETS["imagenet"].repo: DATASETS["imagenet"].revision}

Wanted = tuple[Any, ...]
"""split, image_column, label_column, classes, per_class, seed: the arguments of `class_subset` after the name."""


@dataclass(frozen=True)
class SubsetNeed(DatasetNeed):
    """The images that are kept of a dataset on the hub."""

    repository: str = field(compare=False, kw_only=True)
    wanted: Wanted = field(compare=False, kw_only=True)

    def find(self) -> Place:
        """See Need."""
        folder = folder_of_subset(self.repository, *self.wanted, cache=self.cache)
        return folder if folder.exists() else None

    def fetch(self) -> Place:
        """See Need."""
        with within("aux_modality.data"):  # cse-data has no config
            return class_subset(self.repository, *self.wanted, cache=self.cache)


def image_needs(settings: Settings) -> list[Need]:
    """The data that cse.data.images.Images reads with these settings."""
    repository, folder = str(settings.get("hub")), settings.get("folder")
    is_imagenet = repository == DATASETS["imagenet"].repo
    if folder:
        return [DatasetNeed("imagenet", folder) if is_imagenet else FileNeed(folder, "folder")]
    keys = ("split", "image_column", "label_column", "classes", "per_class", "subset_seed")
    wanted = tuple(settings.get(key) for key in keys)
    return [SubsetNeed("imagenet" if is_imagenet else repository, repository=repository, wanted=wanted)]


def image_repo(name: str) -> hub.Repo:
    """The repository of an image dataset, at the commit to read."""
    instead = "give a folder that holds one folder per class, paths.images=FOLDER (CSE_IMAGES)"
    return hub.Repo(name, "dataset", f"`hub`={name}", instead, PINNED.get(name))


def folder_of_subset(name: str, *wanted: str | int | None, cache: Path) -> Path:
    """The folder of `class_subset` for these arguments. wanted: its arguments after the name."""
    key = (name, image_repo(name).revision, *wanted)
    return cache / "images" / hashlib.sha256(repr(key).encode()).hexdigest()[:16]


def class_subset(
    name: str,
    split: str,
    image_column: str,
    label_column: str,
    classes: int | None,
    per_class: int | None,
    seed: int,
    *,
    cache: Path,
) -> Path:
    """A folder with one folder per class: the first `per_class` images of `classes` classes (None: all).

    `seed` draws the classes. The dataset is streamed until these classes are full. Other images are not kept. The
    folder is written once. Raises MissingResource, and UserError for columns that the dataset does not have.
    """
    import datasets

    wanted = split, image_column, label_column, classes, per_class, seed
    repo, folder = image_repo(name), folder_of_subset(name, *wanted, cache=cache)

    def write(temporary: Path) -> None:
        rows = hub.stream_split(repo, None, split)
        features = rows.features or {}
        for setting, column in (("image_column", image_column), ("label_column", label_column)):
            if column not in features:
                there = ", ".join(features or ["no named columns"])
                raise UserError(f"{name} has {there}", key=setting, value=column)
        labels = features[label_column]
        if not isinstance(labels, datasets.ClassLabel):
            raise UserError(f"{name} does not say how many classes it has", key="label_column", value=label_column)
        chosen = np.random.default_rng(seed).permutation(np.arange(labels.num_classes))[:classes]
        counts = dict.fromkeys(sorted(chosen.tolist()), 0)
        log.info("hub        %s: keeping %s images a class of %d in %s", name, per_class or "all", len(counts), folder)
        for label in counts:
            (temporary / f"{label:04d}").mkdir()
        with hub.refusals(repo), showing(f"fetching {name}"):
            for row in track(rows.decode(False), "image"):
                label = row[label_column]
                if label not in counts or counts[label] == per_class:
                    continue
                path = temporary / f"{label:04d}" / f"{counts[label]:05d}.jpg"  # PIL looks at the content
                path.write_bytes(content_of(row[image_column], repo))
                counts[label] += 1
                if set(counts.values()) == {per_class}:
                    break

    return written_once(folder, write)


def content_of(image: dict[str, Any] | None, repo: hub.Repo) -> bytes:
    """The bytes of an encoded image, from its row ({"bytes", "path"}) or from a file of the repository.

    Raises UserError for a row without either.
    """
    from huggingface_hub import HfFileSystem

    content, path = (image["bytes"], image["path"]) if image else (None, None)
    if content is not None:
        return content
    if path and path.startswith("hf://"):
        return HfFileSystem().read_bytes(path)
    raise UserError(f"{repo.asked}: a row has no image (its path: {path}): {repo.instead}")
