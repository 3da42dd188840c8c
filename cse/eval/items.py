"""What a run keeps of its evaluators: the items behind every score, and the cosines of pairs for its plots.

items.npz, for intervals over test items, is a zip of numpy arrays without pickles. Each score with items has
`<number>.values`, `<number>.gold` and, where items share units, `<number>.units`. `about` is JSON: {"version",
"scores": {score: {"kind", "array": number}}, "averages": {score: [score, ...]}}. Scores are named as in results.json,
`<split>/<evaluator>/<score>`.
plots/cosines_<when>.json has {evaluator: {split: [cosines, gold scores]}}, before and after training.
"""

import json
import zipfile
from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import TypeAdapter

from cse.dotted import Json
from cse.errors import first_line
from cse.files import replaced_file, write_text
from cse.provenance import Average, Items, ItemScores
from cse.types import Encode, Evaluator

FILE = "items.npz"
VERSION = 1
DAMAGED = (
    *(AttributeError, IndexError, KeyError, MemoryError, OSError, RecursionError, TypeError, ValueError),
    zipfile.BadZipFile,
)
"""What reading a truncated or foreign file raises."""
LARGEST = 64 << 20  # bytes unpacked: float32 values and gold of eight million items


def keep_items(folder: Path, evaluators: Mapping[str, Evaluator], splits: Mapping[str, Sequence[str]]) -> Json:
    """Write the items of the evaluators' last scores. Returns the entry for results.json.

    Raises RunError if the file cannot be written.
    """
    items: ItemScores = {}
    for name, chosen in splits.items():
        for split in chosen:
            items |= with_prefix(f"{split}/{name}/", evaluators[name].items(split))
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
    """What `keep_items` wrote; {} if there is no such file, or one of another version.

    The file is not trusted: at most LARGEST bytes are unpacked. Raises ValueError if it is damaged.
    """
    path = folder / FILE
    if not path.exists():
        return {}
    try:
        with np.load(path, allow_pickle=False) as file:
            if sum(one.file_size for one in file.zip.infolist()) > LARGEST:
                raise TypeError(f"it holds more than {LARGEST >> 20} MiB")
            arrays = dict(file)
        about = json.loads(arrays["about"].tobytes())
        if about["version"] != VERSION:
            return {}
        averages = TypeAdapter(dict[str, Average]).validate_python(about["averages"])
        TopologicalSorter({name: parts_of(average) for name, average in averages.items()}).prepare()  # or CycleError
        items: ItemScores = dict(averages)
        for score, place in about["scores"].items():
            number = place["array"]
            values_N, gold_N = arrays[f"{number}.values"], arrays[f"{number}.gold"]
            units_UN = arrays.get(f"{number}.units")
            units_1N = np.arange(len(gold_N))[None] if units_UN is None else units_UN
            if not (0 < values_N.size == gold_N.size == units_1N.shape[1] and units_1N.max() < units_1N.size):
                raise TypeError(f"{score} does not have as many values as gold labels")
            items[score] = Items(place["kind"], values_N, gold_N, units_UN)
    except DAMAGED as error:
        raise ValueError(f"{path} is damaged ({first_line(error)})") from error
    return items


def parts_of(average: Average) -> list[str]:
    """The names of all scores that an average is over, at any depth."""
    return [part for one in average for part in ([one] if isinstance(one, str) else parts_of(one))]


def with_prefix(prefix: str, items: ItemScores) -> ItemScores:
    """The items, with `prefix` in front of every score's name."""

    def renamed(average: Average) -> Average:
        return [prefix + one if isinstance(one, str) else renamed(one) for one in average]

    return {prefix + score: one if isinstance(one, Items) else renamed(one) for score, one in items.items()}


def keep_cosines(
    folder: Path, when: Literal["before", "after"], evaluators: Mapping[str, Evaluator], encode: Encode
) -> None:
    """Write the cosines and gold scores of every evaluator that has pairs.

    Before training only those of its first split, which is scored anyway; the others would cost encoder passes.
    Raises RunError if the file cannot be written.
    """
    stored: dict[str, dict[str, list[list[float]]]] = {}
    for name, evaluator in evaluators.items():
        for split in evaluator.splits[:1] if when == "before" else evaluator.splits:
            pairs = evaluator.cosines(encode, split)
            if pairs is not None:
                stored.setdefault(name, {})[split] = [values.astype(float).tolist() for values in pairs]
    write_text(folder / "plots" / f"cosines_{when}.json", json.dumps(stored))


def _small(values: np.ndarray) -> np.ndarray:
    """The values as float32, or as the smallest integers that hold them."""
    return values.astype(np.float32 if values.dtype.kind == "f" else np.min_scalar_type(int(values.max())))
