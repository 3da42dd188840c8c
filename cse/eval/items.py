"""items.npz in a run's folder: the items that every score is computed from, for intervals over test items.

A zip of numpy arrays, never pickles: `<number>.values`, `.gold` and, where items share units, `.units` of each score
with items, and `about`, JSON of {"version", "scores": {score: {"kind", "array"}}, "averages": {score: [score, ...]}}.
Scores are named as in results.json, `<split>/<evaluator>/<score>`.
"""

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from cse.files import replaced_file
from cse.provenance import Average, Items, ItemScores
from cse.types import Evaluator, Json

FILE = "items.npz"
VERSION = 1


def keep_items(folder: Path, evaluators: Mapping[str, Evaluator], splits: Mapping[str, Sequence[str]]) -> Json:
    """Write the items of the evaluators' last scores; returns the file's entry in results.json.

    Raises RunError where the disk refuses.
    """
    items: ItemScores = {}
    for name, chosen in splits.items():
        for split in chosen:
            items |= under(f"{split}/{name}/", evaluators[name].items(split))
    arrays: dict[str, np.ndarray] = {}
    about: Json = {"version": VERSION, "scores": {}, "averages": {}}
    for number, (score, one) in enumerate(items.items()):
        if isinstance(one, Items):
            about["scores"][score] = {"kind": one.kind, "array": number}
            arrays |= {f"{number}.values": _small(one.values_N), f"{number}.gold": _small(one.gold_N)}
            if one.units_UN is not None:
                arrays[f"{number}.units"] = _small(one.units_UN)
        else:
            about["averages"][score] = one
    with replaced_file(folder / FILE) as temporary:
        arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
        np.savez_compressed(temporary, allow_pickle=False, **arrays)
    return {"file": FILE, "version": VERSION, "scores": len(about["scores"])}


def read_items(folder: Path) -> ItemScores:
    """What `keep_items` wrote; {} where there is no such file, or one of another version.

    Raises ValueError for a file that is damaged.
    """
    path = folder / FILE
    if not path.exists():
        return {}
    try:
        with np.load(path, allow_pickle=False) as arrays:
            about = json.loads(arrays["about"].tobytes())
            if about["version"] != VERSION:
                return {}
            items: ItemScores = dict(about["averages"])
            for score, place in about["scores"].items():
                number = place["array"]
                units_UN = arrays.get(f"{number}.units")
                items[score] = Items(place["kind"], arrays[f"{number}.values"], arrays[f"{number}.gold"], units_UN)
    except (OSError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is damaged ({error})") from error
    return items


def under(prefix: str, items: ItemScores) -> ItemScores:
    """The items, with the prefix before every score's name."""
    return {prefix + score: one if isinstance(one, Items) else _renamed(prefix, one) for score, one in items.items()}


def _renamed(prefix: str, average: Average) -> Average:
    return [prefix + one if isinstance(one, str) else _renamed(prefix, one) for one in average]


def _small(values: np.ndarray) -> np.ndarray:
    """As float32, or as the smallest integers that hold all values: few bytes for each item."""
    return values.astype(np.float32 if values.dtype.kind == "f" else np.min_scalar_type(int(values.max())))
