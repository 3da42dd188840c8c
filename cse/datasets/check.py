"""Whether a copy of a dataset is whole: each part is read and counted by the reader of training or evaluation."""

from collections.abc import Callable, Iterator
from pathlib import Path

from cse.datasets import check_files, check_tasks
from cse.datasets.finding import Finding
from cse.errors import UserError

CHECKS: dict[str, Callable[[Path], Iterator[Finding]]] = {
    "wiki1m, nli, wikiauto, openwebtext, wikipedia": check_files.texts,
    "senteval": check_tasks.senteval,
    "probing": check_tasks.probing_tasks,
    "stsb_multi": check_tasks.translated_stsb,
    "flickr": check_tasks.captions,
    "coco": check_tasks.coco_pickles,
    "wordnet": check_files.wordnet,
    "folders of images": check_files.images,
    "folders of speech": check_files.speech,
}


MAX_DEPTH = 3  # of folders below the named one


def check(place: Path) -> list[Finding]:
    """The datasets in a folder, or in folders below it. Raises UserError where there is none."""
    if not place.exists():
        raise UserError(f"{place}: there is no such folder")
    findings = find(place, MAX_DEPTH)
    if not findings:
        raise UserError(f"{place} holds nothing that cse-data knows: {', '.join(CHECKS)}")
    return findings


def find(place: Path, depth: int) -> list[Finding]:
    """The findings of this folder or, where it is no dataset, of those below it."""
    findings = check_folder(place)
    if findings or not depth or not place.is_dir():
        return findings
    folders = sorted(one for one in place.iterdir() if one.is_dir())
    return [finding for folder in folders for finding in find(folder, depth - 1)]


def check_folder(place: Path) -> list[Finding]:
    """The findings of every dataset whose files are directly in this folder."""
    return [finding for look in CHECKS.values() for finding in look(place)]
