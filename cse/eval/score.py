"""Score an encoder with every evaluator. Scores are named <split>/<evaluator>/<score>; each text is encoded once.

An evaluator declares what its scores are (unit, direction, headline); `nature` looks that up by a score's name.
"""

import logging
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import yaml
from pydantic import TypeAdapter, ValidationError

from cse.config import groups
from cse.errors import UserError
from cse.progress import showing
from cse.provenance import Nature, Provenance
from cse.types import Encode, Evaluator

log = logging.getLogger("cse")

MAX_MEMOIZED = 200_000  # texts: the seven STS tasks have 29,469, all SentEval transfer tasks about 130,000

ACCURACY, DEV_ACCURACY = Nature("accuracy, %"), Nature("accuracy on dev, %", headline=False)
AVERAGE = Nature("average of scores, points of 100")
UNDECLARED = {
    "loss": Nature("loss", lower_is_better=True, decimals=4, headline=False),
    "perplexity": Nature("perplexity", lower_is_better=True),
    "seconds": Nature("seconds", lower_is_better=True),
    "*": Nature(""),
}
"""For numbers that no evaluator declares, such as those of training."""


def nature(key: str) -> Nature:
    """What the score `<split>/<evaluator>/<score>` is, as its evaluator declares it; for `train/...`, by its name."""
    split, _, rest = key.partition("/")
    evaluator, _, name = rest.partition("/")
    declared = {} if split == "train" else declared_natures(evaluator, *groups.folders_of("eval"))
    last = (name or rest or split).rpartition("/")[2]
    return next(found[word] for word in (last, "*") for found in (declared, UNDECLARED) if word in found)


@cache
def declared_natures(evaluator: str, *folders: Path) -> Mapping[str, Nature]:
    """The `natures` of the class that the first <evaluator>.yaml in the folders names; {} if there is no such file."""
    # os.path.isfile, because Path.is_file raises for a name that is too long
    found = [path for folder in folders if os.path.isfile(path := folder / f"{evaluator}.yaml")]
    for file in reversed(groups.included(found[0]) if found else []):
        if target := yaml.safe_load(file.read_text(encoding="utf-8")).get("_target_"):
            module, _, name = target.rpartition(".")
            try:
                return getattr(import_module(module), name).natures
            except (ImportError, AttributeError) as error:
                log.warning("%s: %s; higher scores are taken to be better", file, error)
    return {}


class MemoizedEncode:
    """An `encode` that encodes each distinct text once, for an encoder whose weights do not change.

    limit: the most texts to keep; larger sets (MTEB, probing) are not kept at all. None: no limit.
    """

    def __init__(self, encode: Encode, limit: int | None = MAX_MEMOIZED):
        self.encode, self.limit = encode, limit
        self.rows: dict[str, np.ndarray] = {}

    def __call__(self, texts: list[str]) -> np.ndarray:
        """n texts -> (n, D), as `encode` returns them."""
        new = sum(text not in self.rows for text in set(texts))
        if self.limit is not None and len(self.rows) + new > self.limit:
            return self.encode(texts)
        self.add(texts)
        return np.stack([self.rows[text] for text in texts])

    def add(self, texts: Iterable[str]) -> None:
        """Encode, in one call, the texts that are not known yet."""
        unknown = [text for text in dict.fromkeys(texts) if text not in self.rows]
        if unknown:
            self.rows.update(zip(unknown, self.encode(unknown), strict=True))


def check_class(name: str, evaluator: object) -> None:
    """Raise UserError unless the object is an Evaluator."""
    if not isinstance(evaluator, Evaluator):
        raise UserError(f"eval.{name}: {class_of(evaluator)} must inherit cse.types.Evaluator")


def class_of(evaluator: object) -> str:
    """The full dotted name of its class."""
    return f"{type(evaluator).__module__}.{type(evaluator).__qualname__}"


def check_provenance(name: str, evaluator: Evaluator) -> None:
    """Raise UserError if a prepared evaluator's provenance is not a cse.provenance.Provenance."""
    cls, provenance = class_of(evaluator), evaluator.provenance()
    wrong = ""
    try:
        if not {"rows", "parts"} & set(TypeAdapter(Provenance).validate_python(provenance)):
            wrong = "has neither rows nor parts"
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        wrong = f"{'.'.join(map(str, first['loc']))}={first['input']!r}: {first['msg']}"
    if wrong:
        raise UserError(f"eval.{name}: {cls}: provenance() {wrong}; see cse.types.Provenance")


def score(
    evaluators: Mapping[str, Evaluator],
    splits: Mapping[str, Sequence[str]],
    encode: Encode,
    level: int = logging.INFO,
    into: dict[str, float] | None = None,
) -> dict[str, float]:
    """Every score of every evaluator on its chosen splits, by `<split>/<evaluator>/<score>`; shows the progress.

    level: of the log line that each evaluator gets when it is done. into: a dict to fill and return, so that a failure
    leaves what was scored before it.
    """
    metrics = {} if into is None else into
    for name, chosen in splits.items():
        for split in chosen:
            started = time.perf_counter()
            with showing(f"{name} {split}"):
                scores = evaluators[name](encode, split)
            metrics |= {f"{split}/{name}/{key}": float(value) for key, value in scores.items()}
            log.log(level, "%-10s %s, %.1f s", name, split, time.perf_counter() - started)
    return metrics
