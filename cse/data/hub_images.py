"""All or some images of a hub dataset, streamed once into a folder."""

import hashlib
import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cse.errors import UserError, within
from cse.files import written_once
from cse.needs import FileNeed, Need, Place, Settings
from cse.progress import showing, track
from cse.sources import hub
from cse.sources.catalogue import DATASETS
from cse.sources.fetch import DatasetNeed

if TYPE_CHECKING:  # importing datasets takes seconds
    from datasets import IterableDataset

log = logging.getLogger(__name__)

PINNED = {DATASETS["imagenet"].repo: DATASETS["imagenet"].revision}


@dataclass(frozen=True)
class ImageSubset:
    """Some images of a dataset on the hub: the first `per_class` images of `classes` classes (None: all).

    seed: for the random choice of the classes.
    """

    repository: str
    split: str
    image_column: str
    label_column: str
    classes: int | None
    per_class: int | None
    seed: int

    @property
    def repo(self) -> hub.Repo:
        """Return the repository, at the commit to read."""
        instead = "give a folder that holds one folder per class, paths.images=FOLDER (CSE_IMAGES)"
        return hub.Repo(self.repository, "dataset", f"`hub`={self.repository}", instead, PINNED.get(self.repository))

    def folder(self, cache: Path) -> Path:
        """Return the folder that keeps these images."""
        revision = self.repo.revision
        key = (self.repository, revision, self.split, self.image_column, self.label_column, self.classes)
        return cache / "images" / hashlib.sha256(repr((*key, self.per_class, self.seed)).encode()).hexdigest()[:16]

    def fetch(self, cache: Path) -> Path:
        """Return the folder of these images, with one folder per class. The folder is written once.

        The dataset is streamed until each class has `per_class` images. Other images are not kept. Raises
        MissingResource for an error of the hub, and UserError for columns that the dataset does not have.
        """
        folder = self.folder(cache)
        return written_once(folder, lambda temporary: self._write(temporary, folder))

    def _write(self, temporary: Path, folder: Path) -> None:
        """Stream the dataset, and write the chosen images into a temporary folder that becomes `folder`."""
        rows = hub.stream_split(self.repo, None, self.split)
        chosen = np.random.default_rng(self.seed).permutation(np.arange(self._count_classes(rows)))[: self.classes]
        counts = dict.fromkeys(sorted(chosen.tolist()), 0)
        kept = self.per_class or "all"
        log.info(
            "hub        %s: keeping %s images of each of %d classes in %s", self.repository, kept, len(counts), folder
        )
        for label in counts:
            (temporary / f"{label:04d}").mkdir()
        with hub.refusals(self.repo), showing(f"fetching {self.repository}"):
            for row in track(rows.decode(False), "image"):
                label = row[self.label_column]
                if label not in counts or counts[label] == self.per_class:
                    continue
                path = temporary / f"{label:04d}" / f"{counts[label]:05d}.jpg"  # PIL looks at the content
                path.write_bytes(content_of(row[self.image_column], self.repo))
                counts[label] += 1
                if set(counts.values()) == {self.per_class}:
                    break

    def _count_classes(self, rows: "IterableDataset") -> int:
        """Return the number of classes. Raises UserError if the dataset lacks a column or a list of its classes."""
        import datasets

        features = rows.features or {}
        for setting, column in (("image_column", self.image_column), ("label_column", self.label_column)):
            if column not in features:
                there = f"it has {', '.join(features)}" if features else "its columns have no names"
                raise UserError(f"{self.repository} has no such column; {there}", key=setting, value=column)
        labels = features[self.label_column]
        if not isinstance(labels, datasets.ClassLabel):
            why = f"this column of {self.repository} has no list of its classes (its type is not ClassLabel)"
            raise UserError(why, key="label_column", value=self.label_column)
        return labels.num_classes


@dataclass(frozen=True)
class SubsetNeed(DatasetNeed):
    """Some images of a dataset on the hub, kept in a folder of the cache."""

    subset: ImageSubset = field(compare=False, kw_only=True)

    def find(self) -> Place:
        """See Need."""
        folder = self.subset.folder(self.cache)
        return folder if folder.exists() else None

    def fetch(self) -> Place:
        """See Need."""
        with within("aux_modality.data"):  # cse-data has no config
            return self.subset.fetch(self.cache)


def image_needs(settings: Settings) -> list[Need]:
    """Return the needs of cse.data.images.Images with these settings."""
    repository, folder = str(settings.get("hub")), settings.get("folder")
    is_imagenet = repository == DATASETS["imagenet"].repo
    if folder:
        return [DatasetNeed("imagenet", folder) if is_imagenet else FileNeed(folder, "folder")]
    subset = ImageSubset(
        repository=repository,
        split=str(settings.get("split")),
        image_column=str(settings.get("image_column")),
        label_column=str(settings.get("label_column")),
        classes=settings.get("classes"),
        per_class=settings.get("per_class"),
        seed=settings.get("subset_seed", 0),
    )
    return [SubsetNeed("imagenet" if is_imagenet else repository, subset=subset)]


def content_of(image: dict[str, Any] | None, repo: hub.Repo) -> bytes:
    """Return the bytes of an encoded image ({"bytes", "path"}): "bytes" or, if None, the repository's file at "path".

    Raises UserError for an image without bytes and without a path in a repository.
    """
    from huggingface_hub import HfFileSystem

    content, path = (image["bytes"], image["path"]) if image else (None, None)
    if content is not None:
        return content
    if path and path.startswith("hf://"):
        return HfFileSystem().read_bytes(path)
    raise UserError(f"{repo.asked}: a row has no image (its path: {path}): {repo.instead}")
