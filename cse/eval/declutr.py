"""DeCLUTR's row: Downstream (18 tasks), Probing (10 tasks) and their average (D + P) / 2 (Tables 1, S1, S3, S4).

Each task counts with one number. Test: accuracy; for MRPC the mean of accuracy and F1; for SICK-R and STS-B the trained
regression's Spearman x100; for STS12..16 the mean Spearman x100 over subsets; for caption retrieval the mean of six
recalls. Dev: the accuracy on dev, also for MRPC; for SICK-R and STS-B Pearson; STS12..16 as on test. `all` is the mean
of all 28, which the authors' script prints beside the papers' average. An empty sentence is encoded as ".", as there.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from cse.errors import MissingResource, UserError, combine
from cse.eval.coco import Coco
from cse.eval.items import with_prefix
from cse.eval.probing import FILES, Probing
from cse.eval.score import AVERAGE
from cse.eval.sts import Sts
from cse.eval.transfer import Transfer
from cse.provenance import Average, ItemScores, Nature, Provenance
from cse.sources.senteval import SUBSETS
from cse.types import Encode, Evaluator

Counted = tuple[Average, Average]
"""The scores that make a task's number, on test and on dev; several are averaged."""

ACCURACY = ("CR", "MR", "MPQA", "SUBJ", "SST2", "SST5", "TREC", "SNLI", "SICK-E")
DOWNSTREAM: dict[str, Counted] = {  # the tasks of Table S3
    **{task: ([f"transfer/{task}/accuracy"], [f"transfer/{task}/dev_accuracy"]) for task in ACCURACY},
    "MRPC": (["transfer/MRPC/accuracy", "transfer/MRPC/f1"], ["transfer/MRPC/dev_accuracy"]),
    "SICK-R": (["transfer/SICKRelatedness/spearman"], ["transfer/SICKRelatedness/dev_pearson"]),
    "STS-B": (["transfer/STSBenchmark/spearman"], ["transfer/STSBenchmark/dev_pearson"]),
    "CapRet": (["coco/average"], ["coco/dev_average"]),
    **{year: ([f"sts/{year}/spearman_mean"], [f"sts/{year}/spearman_mean"]) for year in SUBSETS},
}
PROBING: dict[str, Counted] = {task: ([f"probing/{task}/accuracy"], [f"probing/{task}/dev_accuracy"]) for task in FILES}


class Declutr(Evaluator):
    """On test every score of the parts, and `downstream`, `probing`, `average`, `all`; on dev only these four.

    parts: evaluators by name (transfer, sts, probing, coco), None to leave one out. The name of an average says which
    tasks it lacks: `downstream_without_CapRet`.
    """

    splits = ("test", "dev")
    natures: ClassVar[Mapping[str, Nature]] = {
        name: replace(nature, headline=True, kind="other")
        for part in (Transfer, Sts, Probing, Coco)
        for name, nature in {**part.natures, "average": AVERAGE, "*": AVERAGE}.items()
    }
    more_than_encoding = True

    def __init__(self, parts: dict[str, Evaluator | None]):
        self.parts = {name: part for name, part in parts.items() if part is not None}
        self.last: tuple[Encode | None, dict[str, float]] = (None, {})

    def prepare(self) -> None:
        """Prepare every part. Raises UserError with the part's own key, and one MissingResource for all parts."""
        missing: list[MissingResource] = []
        for name, part in self.parts.items():
            try:
                part.prepare()
            except UserError as error:  # it names the part's own key, which is nested here
                message = str(error).replace(f"eval.{name}.", f"eval.declutr.parts.{name}.")
                if not isinstance(error, MissingResource):
                    raise UserError(message) from error
                missing.append(MissingResource(f"{message} (eval.declutr.parts.{name}=null leaves it out)"))
                missing[-1].__cause__ = error.__cause__
        if missing:
            only_network = all(one.__cause__ is not None for one in missing)
            raise combine(missing) from (missing[0] if only_network else None)

    def __call__(self, encode: Encode, split: str) -> dict[str, float]:
        """The parts' scores and their averages. The parts are scored once for both splits."""
        if self.last[0] is not encode:  # SentEval's fits give both splits at once
            words = with_full_stops(encode)
            parts = {name: part(words, "test") for name, part in self.parts.items()}
            self.last = encode, {f"{name}/{key}": value for name, part in parts.items() for key, value in part.items()}
        scores = self.last[1]
        return scores | averages(scores, split) if split == "test" else averages(scores, split)

    def items(self, split: str) -> ItemScores:
        """On test the items of every part and of the averages; {} on dev."""
        if split == "dev":
            return {}
        items: ItemScores = {}
        for name, part in self.parts.items():
            items |= with_prefix(f"{name}/", part.items("test"))
        return items | averaged(self.last[1], split)

    def texts(self) -> Iterator[str]:
        """The texts of every part."""
        for part in self.parts.values():
            yield from part.texts()

    def provenance(self) -> Provenance:
        """The provenance of each part, and the files of all."""
        parts = {name: part.provenance() for name, part in self.parts.items()}
        return {
            "protocol": "DeCLUTR: mean of Downstream (18 tasks) and Probing (10 tasks)",
            "parts": parts,
            "files": {file: entry for part in parts.values() for file, entry in part.get("files", {}).items()},
            "partial": any(part.get("partial", False) for part in parts.values()),
        }


def with_full_stops(encode: Encode) -> Encode:
    """`encode` with a full stop for each empty text."""
    return lambda texts: encode([text or "." for text in texts])


def averages(scores: dict[str, float], split: str) -> dict[str, float]:
    """Downstream, Probing, (D + P) / 2 and the mean of all tasks of a split. scores: `<part>/<task>/<statistic>`."""
    return {name: mean(average, scores) for name, average in averaged(scores, split).items()}


def averaged(scores: Iterable[str], split: str) -> dict[str, Average]:
    """The scores behind each average of a split, a list for each task; tasks that lack a score are left out."""
    column, known = ("test", "dev").index(split), set(scores)
    downstream, probing = (
        {task: counted[column] for task, counted in tasks.items() if known.issuperset(counted[column])}
        for tasks in (DOWNSTREAM, PROBING)
    )
    missing = set(DOWNSTREAM | PROBING) - set(downstream | probing)
    result: dict[str, Average] = {}
    if downstream:
        result[_named("downstream", missing - set(PROBING))] = [*downstream.values()]
    if len(downstream) == len(DOWNSTREAM):  # Table S6
        result["downstream_without_SNLI"] = [downstream[task] for task in downstream if task != "SNLI"]
    if probing:
        result[_named("probing", missing - set(DOWNSTREAM))] = [*probing.values()]
    if downstream and probing:
        result[_named("average", missing)] = [[*downstream.values()], [*probing.values()]]
        result[_named("all", missing)] = [*downstream.values(), *probing.values()]
    return result


def mean(average: Average, scores: dict[str, float]) -> float:
    """The mean of the named scores; an inner list counts as one."""
    return float(np.mean([scores[one] if isinstance(one, str) else mean(one, scores) for one in average]))


def _named(name: str, missing: set[str]) -> str:
    """The name of an average, with the tasks that it lacks in the tables' order."""
    lacking = [task for task in (*DOWNSTREAM, *PROBING) if task in missing]
    return f"{name}_without_{'_'.join(lacking)}" if lacking else name
