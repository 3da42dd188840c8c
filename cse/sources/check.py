"""Whether a copy of a dataset is whole: each part is read and counted by the reader of training or evaluation."""

from collections.abc import Callable, Iterator
from pathlib import Path

from cse.errors import UserError
from cse.sources import check_files, check_tasks
from cse.sources.checked import CheckedPart

CHECKS: dict[str, Callable[[Path], Iterator[CheckedPart]]] = {
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


def check(place: Path) -> list[CheckedPart]:
    """The datasets in a folder, or in folders below it. Raises UserError where there is none."""
    if not place.exists():
        raise UserError(f"{place}: there is no such folder")
    parts = find(place, MAX_DEPTH)
    if not parts:
        raise UserError(f"{place} holds nothing that cse-data knows: {', '.join(CHECKS)}")
    return parts


def find(place: Path, depth: int) -> list[CheckedPart]:
    """The parts of this folder or, where it is no dataset, of those below it."""
    parts = check_folder(place)
    if parts or not depth or not place.is_dir():
        return parts
    folders = sorted(one for one in place.iterdir() if one.is_dir())
    return [part for folder in folders for part in find(folder, depth - 1)]


def check_folder(place: Path) -> list[CheckedPart]:
    """The parts of every dataset whose files are directly in this folder."""
    return [part for look in CHECKS.values() for part in look(place)]
