"""Whether a copy of a dataset is whole: every part read by the reader that training and evaluation use, and counted."""

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


DEEP = 3  # folders below the one that is named


def check(place: Path) -> list[Finding]:
    """What is in a folder, or in folders below it. Raises UserError where it holds no dataset of ours."""
    if not place.exists():
        raise UserError(f"{place}: there is no such folder")
    findings = below(place, DEEP)
    if not findings:
        raise UserError(f"{place} holds nothing that cse-data knows: {', '.join(CHECKS)}")
    return findings


def below(place: Path, deep: int) -> list[Finding]:
    """The findings of this folder or, where it is none of ours, of those below it."""
    mine = checked(place)
    inner = sorted(one for one in place.iterdir() if one.is_dir()) if deep and not mine and place.is_dir() else []
    return mine or [finding for folder in inner for finding in below(folder, deep - 1)]


def checked(place: Path) -> list[Finding]:
    """The findings of every dataset that lies right in this folder."""
    return [finding for look in CHECKS.values() for finding in look(place)]
