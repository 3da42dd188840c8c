"""Two kinds of files that a run writes: the items of every score, and the cosines of pairs for the run's plots.

items.npz is a zip of numpy arrays without pickles. Confidence intervals over test items come from this file. A score
with items has the arrays `<number>.values`, `<number>.gold` and, if items share units, `<number>.units`. `about` is
JSON: {"version", "scores": {score: {"kind", "array": number, "digest"}}, "averages": {score: [score, ...]}}. The names
of scores are the names in results.json, `<split>/<evaluator>/<score>`.
plots/cosines_before.json and cosines_after.json have {"<evaluator>/<task>": {split: [cosines, gold scores]}}.
"""

import json
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import numpy as np
from typing_extensions import TypedDict

from cse.errors import first_line
from cse.files import Json, replaced_file, write_text
from cse.score import Average, Behind, Items, ItemScores, Score

FILE = "items.npz"
VERSION = 1


class KeptItems(TypedDict):
    """The entry of items.npz in results.json: the file's name and version, and the number of scores with items."""

    file: str
    version: int
    scores: int


def keep_items(folder: Path, scores: Iterable[Score]) -> KeptItems:
    """Write the items of the scores. Return the entry for results.json. Raises RunError if the file cannot be written.

    If a member of an average has no name, the file names this member `<average>/<index in the average>`.
    """
    arrays: dict[str, np.ndarray] = {}
    about: Json = {"version": VERSION, "scores": {}, "averages": {}}

    def keep(name: str, items: Behind) -> str:
        """Add the items of a score to `about` and `arrays`. Return the name of the items in `about`."""
        if isinstance(items, str):
            return items
        if isinstance(items, list):
            about["averages"][name] = [keep(f"{name}/{number}", one) for number, one in enumerate(items)]
        elif isinstance(items, Items):
            number = len(about["scores"])
            about["scores"][name] = {"kind": items.kind, "array": number, "digest": items.digest}
            arrays.update({f"{number}.values": _small(items.values_N), f"{number}.gold": _small(items.gold_N)})
            if items.units_UN is not None:
                arrays[f"{number}.units"] = _small(items.units_UN)
        return name

    for score in scores:
        if score.items is not None:
            keep(score.name, score.items)
    with replaced_file(folder / FILE) as temporary:
        arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
        np.savez_compressed(temporary, allow_pickle=False, **arrays)
    return {"file": FILE, "version": VERSION, "scores": len(about["scores"])}


def read_items(folder: Path) -> ItemScores:
    """Return the items that `keep_items` wrote; {} if the file does not exist, or has another version. Raises
    ValueError if the file is damaged."""
    path = folder / FILE
    if not path.exists():
        return {}
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        about = json.loads(arrays["about"].tobytes())
        if about["version"] != VERSION:
            return {}
        items: ItemScores = dict(about["averages"])
        for score, place in about["scores"].items():
            values_N, gold_N = (arrays[f"{place['array']}.{name}"] for name in ("values", "gold"))
            units_UN, digest = arrays.get(f"{place['array']}.units"), place.get("digest", "")
            items[score] = Items(place["kind"], values_N, gold_N, units_UN, digest)
    except (EOFError, KeyError, OSError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{path} is damaged ({first_line(error)})") from error
    return items


def scores_behind(average: Average) -> list[str]:
    """Return the names of all scores in an average, also of the scores in its inner averages."""
    return [part for one in average for part in ([one] if isinstance(one, str) else scores_behind(one))]


def keep_cosines(folder: Path, when: Literal["before", "after"], scores: Iterable[Score]) -> None:
    """Write, for each split and evaluator, the cosines and gold scores of the first score whose items are cosines.

    The key in the file is the score's name without split and statistic: `sts/STS12`, or `stsb` if there is no task.

    Raises RunError if the file cannot be written.
    """
    stored: dict[str, dict[str, list[list[float]]]] = {}
    kept: set[tuple[str, str]] = set()
    for score in scores:
        split, evaluator, _ = score.name.split("/", 2)
        items = score.items
        if isinstance(items, Items) and items.kind == "cosines" and (split, evaluator) not in kept:
            kept.add((split, evaluator))
            pairs = [items.values_N.tolist(), items.gold_N.astype(float).tolist()]
            task = score.name.partition("/")[2].rpartition("/")[0]
            stored.setdefault(task, {})[split] = pairs
    write_text(folder / "plots" / f"cosines_{when}.json", json.dumps(stored))


def _small(values: np.ndarray) -> np.ndarray:
    """Return the values as float32, or integers in the smallest type that holds them."""
    if values.dtype.kind == "f":
        return values.astype(np.float32)
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    return values.astype(np.result_type(np.min_scalar_type(low), np.min_scalar_type(high)))
