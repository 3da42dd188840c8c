"""MTEB through mteb 2: a benchmark or any list of its tasks, resumable task by task.

mteb keeps each result under the model's name and revision. A local model without them is filed as
`no_model_name__available`, so that the next one is handed its scores. Here the revision ends in a digest of the
encoder's own vectors of a few fixed sentences: two encoders, or two steps of one training, never share it.
"""

import hashlib
import importlib.util
import logging
from typing import Any

import numpy as np

from cse.errors import MissingResource, UserError
from cse.types import Encode

log = logging.getLogger(__name__)

# The papers' metric of each category (x100): mteb's main score, but for pair classification, whose main score is now
# the best over several similarities.
PAPER_METRIC = {"PairClassification": "cosine_ap"}
# the last is longer than any encoder's limit, so that encoders that cut at another length differ
PROBES = ["A sentence.", "The cat sat on the mat.", "Stocks fell sharply on Monday.", " ".join(map(str, range(700)))]


class Mteb:
    """`<task>/<metric>` x100, `<category>/average`, and `average` over all datasets ("Mean (Task)").

    benchmark: a benchmark of mteb's, or None with tasks: names or mteb task objects (a custom task over local data).
    name: org/model, and label, under which mteb keeps results in `cache`; the revision is label-digest, or the digest.
    allow_partial: tasks whose data cannot be had are left out, with their averages, and noted, instead of raised.
    """

    splits = ("test",)

    def __init__(
        self,
        benchmark: str | None,
        tasks: list[Any] | None,
        languages: list[str] | None,
        name: str,
        label: str | None,
        cache: str,
        batch_size: int,
        allow_partial: bool = False,
    ):
        if (benchmark is None) == (tasks is None):
            raise UserError("eval.mteb needs either benchmark=NAME or tasks=[NAME,...] and benchmark=null.")
        self.benchmark, self.chosen, self.languages = benchmark, tasks, languages
        self.name, self.label, self.cache, self.batch_size = name, label, cache, batch_size
        self.allow_partial = allow_partial
        self.tasks: list[Any] = []
        self.revision = ""  # of the encoder scored last
        self.problems: list[str] = []

    def prepare(self) -> None:
        """Find the tasks. Their data is loaded by mteb when a task's turn comes."""
        if self.tasks:
            return
        if importlib.util.find_spec("mteb") is None:
            raise MissingResource("eval=mteb needs the package mteb: pip install cse-lab[mteb].")
        import mteb

        try:
            if self.benchmark is not None:
                self.tasks = list(mteb.get_benchmark(self.benchmark).tasks)
            else:
                named = [task for task in self.chosen or [] if isinstance(task, str)]
                found = iter(mteb.get_tasks(tasks=named, languages=self.languages) if named else [])
                self.tasks = [next(found) if isinstance(task, str) else task for task in self.chosen or []]
        except (KeyError, StopIteration) as error:
            where = f"benchmark={self.benchmark}" if self.benchmark else f"tasks={self.chosen}"
            raise UserError(f"eval.mteb.{where}: {error} (languages {self.languages}).") from error

    def __call__(self, encode: Encode, split: str) -> dict[str, float]:
        self.prepare()
        import mteb

        self.revision = "-".join(filter(None, (self.label, digest(encode))))
        self.problems = []
        result = mteb.evaluate(
            _adapter(encode, self.name, self.revision),
            self.tasks,
            encode_kwargs={"batch_size": self.batch_size},
            cache=mteb.ResultCache(cache_path=self.cache),
            overwrite_strategy="only-missing",
            raise_error=False,
            show_progress_bar=False,
        )
        # an aggregate of parts that failed comes back as a result without a score
        failed = {error.task_name: error.exception for error in result.exceptions or []}
        scores = {}
        for task in self.tasks:
            found = [one for one in result.task_results if one.task_name == task.metadata.name]
            value = _value(found[0].validate_and_filter_scores(task), metric(task)) if found else None
            if value is None:
                self.problems.append(f"{task.metadata.name}: {_reason(task, failed)}")
            else:
                scores[task.metadata.name] = value
        if self.problems and not self.allow_partial:
            raise MissingResource(
                f"{len(self.problems)} of {len(self.tasks)} MTEB tasks could not be scored "
                f"({'; '.join(self.problems[:3])}); those that were are kept in {self.cache} and will not run again. "
                "Run again where the data can be reached, or allow_partial=true."
            )
        return {f"{task.metadata.name}/{metric(task)}": scores[task.metadata.name]
                for task in self.tasks if task.metadata.name in scores} | self._averages(scores)  # fmt: skip

    def _averages(self, scores: dict[str, float]) -> dict[str, float]:
        """Of every category, and of the whole, of which no task is missing."""
        groups: dict[str, list[str]] = {}
        for task in self.tasks:
            groups.setdefault(f"{task.metadata.type}/average", []).append(task.metadata.name)
        groups["average"] = [task.metadata.name for task in self.tasks]
        return {
            key: float(np.mean([scores[name] for name in names]))
            for key, names in groups.items()
            if all(name in scores for name in names)
        }

    def provenance(self) -> dict[str, Any]:
        import mteb

        return {
            "protocol": f"mteb {mteb.__version__}, {self.benchmark or 'chosen tasks'}",
            "model": {"name": self.name, "revision": self.revision},
            "tasks": {
                task.metadata.name: {
                    "dataset": task.metadata.dataset.get("path"),
                    "revision": task.metadata.dataset.get("revision"),
                    "splits": list(task.eval_splits),
                    "subsets": list(task.hf_subsets),
                    "metric": metric(task),
                }
                for task in self.tasks
            },
            "partial": bool(self.problems),
            "problems": self.problems,
        }


def metric(task: Any) -> str:
    return PAPER_METRIC.get(task.metadata.type, task.metadata.main_score)


def digest(encode: Encode) -> str:
    """What an encoder is known by: 16 hex digits over the bytes of its vectors of PROBES."""
    return hashlib.sha256(np.ascontiguousarray(encode(PROBES), np.float32).tobytes()).hexdigest()[:16]


def _value(result: Any, name: str) -> float | None:
    """100 x the metric's mean over splits and subsets, None where a part has none.

    Six decimals, as mteb files them: a resumed run must not differ from one in one go.
    """
    parts = [part.get(name) for split in result.scores.values() for part in split]
    if not parts or any(part is None for part in parts):
        return None
    return 100 * float(np.mean([round(part, 6) for part in parts]))


def _reason(task: Any, failed: dict[str, str]) -> str:
    parts = [part.metadata.name for part in getattr(task.metadata, "tasks", None) or []]
    reasons = [failed[name] for name in [task.metadata.name, *parts] if name in failed]
    return reasons[0].splitlines()[0][:200] if reasons else "no score"


def _adapter(encode: Encode, name: str, revision: str) -> Any:
    """`encode` as mteb wants its models."""
    from mteb.models.abs_encoder import AbsEncoder
    from mteb.models.model_meta import ModelMeta

    class Adapter(AbsEncoder):
        mteb_model_meta = ModelMeta.create_empty({"name": name, "revision": revision, "modalities": ["text"]})

        def encode(self, inputs: Any, **_: Any) -> np.ndarray:
            return encode([text for batch in inputs for text in batch["text"]])

    return Adapter()
