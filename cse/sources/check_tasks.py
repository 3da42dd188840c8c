"""Copies of what evaluators read, each part by the evaluator's own reader: SentEval, STS-B's translations, captions."""

import gzip
import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from operator import methodcaller
from pathlib import Path

from cse.config.compose import composed
from cse.errors import UserError
from cse.eval import coco, probing, retrieval, sts, stsb_multi
from cse.eval.senteval import transfer_data
from cse.eval.senteval.files import DataFolder
from cse.eval.senteval.folder import SentEvalFolder
from cse.sources.checked import CheckedPart, State, by_checksums, known_sums, sums

COCO_CAPTIONS = {
    "train.pkl": 566_435,
    "valid.pkl": 25_000,
    "test.pkl": 25_000,
}  # five for each of 113,287, 5,000, 5,000
SPLITS = ("dev", "test")

Read = Callable[..., object]
"""Reads one part of a DataFolder, which keeps the files it read and what is wrong with them."""


def check_parts(
    dataset: str, reads: dict[str, Read], make: Callable[[], DataFolder], expected: dict[str, str]
) -> Iterator[CheckedPart]:
    """Each part, read from a DataFolder of its own. expected: {file: sha256}."""
    for part, read in reads.items():
        source = make()
        try:
            source.attempt(read)
        except UserError as error:
            yield CheckedPart(dataset, part, "altered", note=str(error))
            continue
        yield checked_part(dataset, part, source, expected)


def checked_part(dataset: str, part: str, source: DataFolder, expected: dict[str, str]) -> CheckedPart:
    """A part that has been read from `source`, with partial data allowed."""
    problems = [str(problem["problem"]) for problem in source.problems]
    counts = [about["rows"] for about in source.files.values() if "rows" in about]
    rows = max(counts) if len(set(counts)) == 1 else sum(counts) if counts else None
    if problems:
        state: State = "missing" if any("is missing" in problem for problem in problems) else "altered"
        return CheckedPart(dataset, part, state, rows, problems[0].partition(" (allow_")[0])
    digests = {name: about["sha256"] for name, about in source.files.items() if "sha256" in about}
    return by_checksums(dataset, part, digests, expected, rows)


def senteval(place: Path) -> Iterator[CheckedPart]:
    """The subsets of STS12..16, STS-B, SICK and the transfer tasks."""
    folder = place / "downstream" if (place / "downstream").is_dir() else place
    if not any((folder / name).is_dir() for name in ("STS", "SICK", *transfer_data.BINARY)):
        return
    reads: dict[str, Read] = {
        f"{year} {subset}": partial(sts.read_subset, year=year, subset=subset)
        for year, subsets in sts.SUBSETS.items()
        for subset in subsets
    }
    reads |= {f"STS-B {split}": partial(sts.read_stsb, split=split) for split in sts.STSB_ROWS}
    reads |= {f"SICK-R {split}": partial(sts.read_sickr, split=split) for split in sts.SICK_FILES}
    reads |= {task: partial(transfer_data.read_binary, task=task) for task in transfer_data.BINARY}
    reads |= {
        "SST2": transfer_data.read_sst2,
        "SST5": transfer_data.read_sst5,
        "TREC": transfer_data.read_trec,
        "MRPC": transfer_data.read_mrpc,
        "SNLI": transfer_data.read_snli,
    }
    yield from check_parts(
        "senteval", reads, partial(SentEvalFolder, str(folder), True), known_sums("senteval") | sums(folder)
    )


def lenient_folder(folder: Path, what: str) -> Callable[[], DataFolder]:
    """A function that makes the DataFolder; what is wrong with the data is then noted there, not raised."""
    return partial(DataFolder, str(folder), "the folder", what, True)


def probing_tasks(folder: Path) -> Iterator[CheckedPart]:
    """SentEval's ten probing files."""
    if any((folder / f"{file}.txt").is_file() for file in probing.FILES.values()):
        reads: dict[str, Read] = {task: partial(probing.read, task=task) for task in probing.FILES}
        yield from check_parts("probing", reads, lenient_folder(folder, "SentEval's probing/ folder"), sums(folder))


def translated_stsb(folder: Path) -> Iterator[CheckedPart]:
    """dev and test of every language of which a file is there."""
    languages = [one for one in stsb_multi.LANGUAGES if any(folder.glob(f"stsb-{one}-*.csv"))]
    reads: dict[str, Read] = {
        f"{language} {split}": methodcaller("pairs", language, split) for language in languages for split in SPLITS
    }
    make = partial(stsb_multi.LocalFiles, str(folder), "the folder", "stsb_multi_mt's files", True)
    yield from check_parts("stsb_multi", reads, make, known_sums("stsb_multi") | sums(folder))


def captions(folder: Path) -> Iterator[CheckedPart]:
    """Flickr30k's three files of captions."""
    official = composed("evaluate", ["eval=retrieval"]).eval.retrieval.rows
    if not any((folder / name).is_file() for name in official):
        return
    reads: dict[str, Read] = {
        str(name): partial(retrieval.read_captions, name=str(name), official=rows) for name, rows in official.items()
    }
    for part in check_parts("flickr", reads, lenient_folder(folder, "Flickr30k's captions"), sums(folder)):
        yield check_content(part, folder / part.part) if part.state == "whole" else part


def check_content(part: CheckedPart, file: Path) -> CheckedPart:
    """A gzip file, by the checksum of its content: the same captions can be compressed differently."""
    digest = hashlib.sha256(gzip.decompress(file.read_bytes())).hexdigest()
    return by_checksums(part.dataset, part.part, {file.name: digest}, known_sums("flickr"), part.rows)


def coco_pickles(place: Path) -> Iterator[CheckedPart]:
    """SentEval's three COCO pickles."""
    folder = next(
        (one for one in (place, place / "COCO", place / "downstream" / "COCO") if (one / "train.pkl").is_file()), None
    )
    if folder is None:
        return
    expected = sums(folder)
    for name, official in COCO_CAPTIONS.items():
        if not (folder / name).is_file():
            yield CheckedPart("coco", name, "missing", note=f"{folder / name} is missing")
            continue
        try:
            images, digest = coco.read_images(str(folder), name)
        except UserError as error:
            yield CheckedPart("coco", name, "altered", note=str(error))
            continue
        rows = len(images.captions)
        if rows != official:
            yield CheckedPart("coco", name, "altered", rows, f"{official:,} captions are published")
        else:
            yield by_checksums("coco", name, {name: digest}, expected, rows)
