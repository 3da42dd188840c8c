"""DeCLUTR's row: Downstream (18 tasks), Probing (10 tasks) and their average (D + P) / 2 (Tables 1, S1, S3, S4).

A task counts by one number. Test: accuracy; MRPC the mean of accuracy and F1; SICK-R and STS-B the trained
regression's Spearman x100; STS12..16 the mean Spearman over subsets x100; caption retrieval the mean of six recalls.
Dev: the accuracy on dev, of MRPC too; SICK-R and STS-B Pearson; STS12..16 as on test. `all` is the mean of
all 28, which the authors' script prints beside the papers' average. An empty sentence is encoded as ".", as there.
"""

from typing import Any

import numpy as np

from cse.errors import MissingResource, UserError
from cse.eval.probing import FILES
from cse.eval.sts import SUBSETS
from cse.types import Encode, Evaluator

# Task of Table S3: the scores it counts by on test and on dev; of several, their mean.
ACCURACY = ("CR", "MR", "MPQA", "SUBJ", "SST2", "SST5", "TREC", "SNLI", "SICK-E")
DOWNSTREAM = {
    **{task: ([f"transfer/{task}/accuracy"], [f"transfer/{task}/dev_accuracy"]) for task in ACCURACY},
    "MRPC": (["transfer/MRPC/accuracy", "transfer/MRPC/f1"], ["transfer/MRPC/dev_accuracy"]),
    "SICK-R": (["transfer/SICKRelatedness/spearman"], ["transfer/SICKRelatedness/dev_pearson"]),
    "STS-B": (["transfer/STSBenchmark/spearman"], ["transfer/STSBenchmark/dev_pearson"]),
    "CapRet": (["coco/average"], ["coco/dev_average"]),
    **{year: ([f"sts/{year}/spearman_mean"], [f"sts/{year}/spearman_mean"]) for year in SUBSETS},
}
PROBING = {task: ([f"probing/{task}/accuracy"], [f"probing/{task}/dev_accuracy"]) for task in FILES}


class Declutr(Evaluator):
    """On test every score of the parts, and `downstream`, `probing`, `average`, `all`; on dev these four.

    parts: evaluators by name (transfer, sts, probing, coco), None to leave one out. An average that lacks tasks names
    them: `downstream_without_CapRet`.
    """

    splits = ("test", "dev")

    def __init__(self, parts: dict[str, Evaluator | None]):
        self.parts = {name: part for name, part in parts.items() if part is not None}
        self.last: tuple[Encode | None, dict[str, float]] = (None, {})

    def prepare(self) -> None:
        for name, part in self.parts.items():
            try:
                part.prepare()
            except UserError as error:  # the part's own key lies deeper here
                said = str(error).replace(f"eval.{name}.", f"eval.declutr.parts.{name}.")
                raise type(error)(f"{said} (eval.declutr.parts.{name}=null leaves it out)") from error

    def on_hand(self) -> str:
        """What of each part's data is here; what is missing of all of them in one message."""
        notes, failures = [], []
        for part in self.parts.values():
            try:
                notes.append(part.on_hand())
            except UserError as error:
                failures.append(error)
        if not failures:
            return "; ".join(dict.fromkeys(notes))
        only_network = all(error.__cause__ is not None for error in failures)
        cause = failures[0].__cause__ if only_network else None
        raise MissingResource("; ".join(dict.fromkeys(map(str, failures)))) from cause

    def __call__(self, encode: Encode, split: str) -> dict[str, float]:
        if self.last[0] is not encode:  # SentEval's fits give both splits at once
            words = full_stops(encode)
            found = {name: part(words, "test") for name, part in self.parts.items()}
            self.last = encode, {f"{name}/{key}": value for name, part in found.items() for key, value in part.items()}
        scores = self.last[1]
        return scores | averages(scores, split) if split == "test" else averages(scores, split)

    def provenance(self) -> dict[str, Any]:
        found = {name: part.provenance() for name, part in self.parts.items()}
        return {
            "protocol": "DeCLUTR: mean of Downstream (18 tasks) and Probing (10 tasks)",
            "parts": found,
            "files": {file: entry for part in found.values() for file, entry in part.get("files", {}).items()},
            "partial": any(part.get("partial", False) for part in found.values()),
        }


def full_stops(encode: Encode) -> Encode:
    """`encode`, with a full stop in place of each empty text."""
    return lambda texts: encode([text or "." for text in texts])


def averages(scores: dict[str, float], split: str) -> dict[str, float]:
    """Downstream, Probing, (D + P) / 2 and the mean of all tasks of a split, of `<part>/<task>/<statistic>` scores."""
    found: dict[str, float] = {}
    column = ("test", "dev").index(split)
    means, values, missing = [], [], []
    for name, tasks in (("downstream", DOWNSTREAM), ("probing", PROBING)):
        there = {task: keys[column] for task, keys in tasks.items() if all(key in scores for key in keys[column])}
        lacking = [task for task in tasks if task not in there]
        counts = {task: float(np.mean([scores[key] for key in keys])) for task, keys in there.items()}
        values += list(counts.values())
        if counts:
            means.append(float(np.mean(list(counts.values()))))
            found[_named(name, lacking)] = means[-1]
        if name == "downstream" and not lacking:  # Table S6
            found["downstream_without_SNLI"] = float(np.mean([counts[task] for task in counts if task != "SNLI"]))
        missing += lacking
    if len(means) == 2:
        found[_named("average", missing)] = sum(means) / 2
        found[_named("all", missing)] = float(np.mean(values))
    return found


def _named(name: str, missing: list[str]) -> str:
    return f"{name}_without_{'_'.join(missing)}" if missing else name
