"""DeCLUTR's averages: Downstream (18 tasks), Probing (10 tasks) and their mean (D + P) / 2 (Tables 1, S1, S3, S4).

Each task has one number. On test it is, for most tasks, the accuracy. For MRPC it is the mean of accuracy and F1. For
SICK-R and STS-B it is Spearman x100 of the trained regression. For STS12..16 it is the mean Spearman x100 over subsets.
For caption retrieval it is the mean of six recalls. On dev it is the accuracy for most tasks, also for MRPC, Pearson
x100 for SICK-R and STS-B, the mean of six recalls for caption retrieval, and the number on test for STS12..16. `all` is
the mean of all 28 tasks. The authors' script also prints `all`. An empty sentence is encoded as ".", as in this script.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from cse.errors import MissingResource, combine, within
from cse.eval.items import scores_behind
from cse.eval.probing import FILES
from cse.score import Average, Score, Source, values
from cse.sources.senteval import SUBSETS
from cse.types import Encode, Evaluator

Counted = tuple[Average, Average]
"""The scores whose mean is the number of a task: the scores on test, and the scores on dev."""

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
    """An evaluator with DeCLUTR's averages: `downstream`, `probing`, `average`, `all`; on test also the parts' scores.

    parts: {name: evaluator} for transfer, sts, probing and coco; None leaves a part out. If tasks are missing, the
    names of the averages list these tasks: `downstream_without_CapRet`.
    """

    splits = ("test", "dev")
    primary = "average"

    def __init__(self, parts: dict[str, Evaluator | None]):
        self.parts = {name: part for name, part in parts.items() if part is not None}
        self.last: tuple[Encode | None, list[Score]] = (None, [])

    def prepare(self) -> None:
        """Prepare every part. Raises UserError with the part's key, or one MissingResource with all missing data."""
        missing = []
        for name, part in self.parts.items():
            try:
                with within(f"parts.{name}"):
                    part.prepare()
            except MissingResource as error:
                error.why += f" (`parts.{name}`=null leaves it out)"
                missing.append(error)
        if missing:
            raise combine(missing)

    def __call__(self, encode: Encode, split: str) -> list[Score]:
        """Return the averages of a split, and on test the parts' scores. The parts are scored once for both splits."""
        if self.last[0] is not encode:  # SentEval's fits give both splits at once
            words, scores = with_full_stops(encode), []
            for name, part in self.parts.items():
                scores += [replace(one.within(f"{name}/"), headline=True) for one in part(words, "test")]
            self.last = encode, scores
        known = {one.name: one for one in self.last[1]}
        found = []
        for name, average in averaged(known, split).items():
            of = [known[one] for one in scores_behind(average)]
            rows, modified = sum(one.rows for one in of), any(one.modified for one in of)
            value, items = average_of(average, values(of)), average if split == "test" else None
            found.append(Score(name, value, rows, "average of scores, points of 100", modified=modified, items=items))
        return [*known.values(), *found] if split == "test" else found

    def texts(self) -> Iterator[str]:
        """Yield the texts of every part."""
        for part in self.parts.values():
            yield from part.texts()

    def source(self) -> Source:
        """Return the protocols, files and problems of all parts."""
        sources = {name: part.source() for name, part in self.parts.items()}
        protocols = "; ".join(f"{name}: {of['protocol']}" for name, of in sources.items())
        return {
            "protocol": f"DeCLUTR: mean of Downstream (18 tasks) and Probing (10 tasks); {protocols}",
            "files": {file: entry for of in sources.values() for file, entry in of.get("files", {}).items()},
            "problems": [f"{name}: {problem}" for name, of in sources.items() for problem in of.get("problems", [])],
        }


def with_full_stops(encode: Encode) -> Encode:
    """Return an `encode` that replaces each empty text by a full stop."""
    return lambda texts: encode([text or "." for text in texts])


def averaged(scores: Iterable[str], split: str) -> dict[str, Average]:
    """Return {average: the names of its scores} for a split. A task that lacks one of its scores is left out."""
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


def average_of(average: Average, scores: dict[str, float]) -> float:
    """Return the mean of the named scores. An inner list is averaged first."""
    return float(np.mean([average_of(one, scores) if isinstance(one, list) else scores[str(one)] for one in average]))


def _named(name: str, missing: set[str]) -> str:
    """Return the name of an average, followed by the missing tasks in the order of the tables."""
    lacking = [task for task in (*DOWNSTREAM, *PROBING) if task in missing]
    return f"{name}_without_{'_'.join(lacking)}" if lacking else name
