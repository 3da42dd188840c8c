"""Datasets of the Hugging Face hub, at their pinned commits: into its cache, or as plain files into a folder."""

import csv
import shutil
import tarfile
from pathlib import Path

from cse.config.compose import composed
from cse.data import corpora, hub_images
from cse.errors import MissingResource
from cse.eval import stsb_multi
from cse.eval.senteval.folder import HUB_FILE, SentEvalFolder, hub_repo
from cse.files import replaced_file, sha256
from cse.run.build import make
from cse.sources import hub
from cse.sources.checked import write_sums
from cse.sources.request import Request

BY_CHARACTERS = ("zh", "ja")  # languages that put no blanks between words; the values are conf/data/wikipedia.yaml's


def one_file(request: Request) -> Path:
    """A corpus that is one file of its repository."""
    local = verified(corpora.repo_of(request.name), request.about.files[0])
    return local if request.folder is None else copied(local, request.place / local.name)


def verified(repo: hub.Repo, path: str) -> Path:
    """A file of the hub, checked against the hub's sha256. Raises MissingResource where they differ."""
    local = hub.file(repo, path)
    try:
        expected = {one.path: one.sha256 for one in hub.listing(repo)}.get(path)
    except MissingResource:  # offline: a file in the cache was checked when it was fetched
        return local
    if expected not in (None, sha256(local)):
        raise MissingResource(f"{local} is not what {repo.name} has (another sha256): delete it and run again")
    return local


def copied(source: Path, target: Path) -> Path:
    """A copy, with its checksum in the SHA256SUMS beside it."""
    with replaced_file(target) as temporary:
        shutil.copyfile(source, temporary)
    write_sums(target.parent, [target])
    return target


def openwebtext(request: Request) -> Path:
    """All parquet files."""
    files = list(hub.downloaded(corpora.repo_of("openwebtext"), corpora.openwebtext_files()))
    if request.folder is None:
        return files[0].parent
    for file in files:
        copied(file, request.place / file.name)
    return request.place


def wikipedia(request: Request) -> Path:
    """The sentences of one language that data=wikipedia draws; without a folder in the cache that the run reads."""
    language = request.variant or "en"
    words = [f"data.rows.language={language}", f"paths.cache={request.cache}"]
    if language in BY_CHARACTERS:
        words += ["data.rows.unit=characters", "data.rows.min_units=6", "data.rows.max_units=100"]
    text = make(composed("train", ["data=wikipedia", *words]).data)
    text.prepare()
    if request.folder is None:
        return text.cache / text.digest
    target = request.place / f"{language}.txt"
    with replaced_file(target) as temporary, temporary.open("w", encoding="utf-8") as lines:
        lines.writelines(f"{text.text(row)}\n" for row in range(len(text)))
    write_sums(request.place, [target])
    return request.place


def senteval(request: Request) -> Path:
    """SentEval's downstream/ folder, out of the hub's tar."""
    tar = verified(hub_repo(), HUB_FILE)
    if request.folder is None:
        return SentEvalFolder(None).root
    request.place.mkdir(parents=True, exist_ok=True)
    with tarfile.open(tar) as archive:
        archive.extractall(request.place, filter="data")
        write_sums(request.place, [request.place / one.name for one in archive if one.isfile()])
    return request.place


def translated_stsb(request: Request) -> Path:
    """dev and test of a language, or of those that eval=stsb_multi scores; as CSV files where there is a folder."""
    node = composed("evaluate", ["eval=stsb_multi"]).eval.stsb_multi
    source = stsb_multi.HubFiles(
        f"{request.about.repo}@{request.about.revision}", "paths.stsb_multi", "stsb_multi_mt's files"
    )
    files = []
    for language in [request.variant] if request.variant else node.languages:
        for split in ("dev", "test"):
            pairs = source.pairs(language, split)
            if request.folder is None:
                continue
            files.append(request.place / f"stsb-{language}-{split}.csv")
            with replaced_file(files[-1]) as temporary, temporary.open("w", encoding="utf-8", newline="") as lines:
                csv.writer(lines).writerows(zip(pairs.first, pairs.second, pairs.gold_N.tolist(), strict=True))
    if request.folder is None:
        return hub.cache_of(stsb_multi.hub_repo("stsb_multi"))
    write_sums(request.place, files)
    return request.place


def imagenet(request: Request) -> Path:
    """The classes and images that aux_modality=visual uses, in a folder a class."""
    data = composed("train", ["aux_modality=visual"]).aux_modality.data
    return hub_images.class_subset(
        data.hub,
        data.split,
        hub_images.Columns(data.image_column, data.label_column),
        classes=data.classes,
        per_class=data.per_class,
        seed=data.subset_seed,
        cache=request.folder or request.cache,
    )
