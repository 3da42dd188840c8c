"""MTEB through mteb 2: a benchmark, or any list of mteb's tasks. A repeated evaluation skips the tasks in mteb's cache.

mteb caches each result under the model's name and revision. It stores a local model without name and revision as
`no_model_name__available`, so a second such model would get the scores of the first model. Here the revision is a
digest of the encoder's vectors of a few fixed sentences. Encoders with different weights, such as two steps of one
training, have different digests. A task on your own data is always scored again, because this data has no revision.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from annotated_types import MinLen

from cse.errors import MissingResource, UserError, first_line
from cse.eval.scoring import mean_of
from cse.needs import Need, Settings
from cse.progress import track
from cse.ranges import Count, Name
from cse.score import Score, Source
from cse.sources.fetch import DatasetNeed
from cse.types import Document, Encode, Evaluator, Query

if TYPE_CHECKING:  # mteb takes 20 s to import
    from mteb.abstasks import AbsTask
    from mteb.models import EncoderProtocol

log = logging.getLogger(__name__)

PAPERS = "MTEB(eng, v1)"  # the benchmark that the papers report
# The papers report mteb's main score (x100), except for pairs. There the main score is the best of several similarities
PAPER_METRIC = {"PairClassification": "cosine_ap"}
# The last text has some 20,000 tokens, so that encoders that truncate at different lengths have different vectors
PROBES = ["A sentence.", "The cat sat on the mat.", "Stocks fell sharply on Monday.", " ".join(map(str, range(10_000)))]


class MtebSource(Source):
    """The source of Mteb's scores. model: the name and revision under which mteb caches the results."""

    model: dict[str, str]


class Mteb(Evaluator):
    """An evaluator with `<task>/<metric>` x100, `<category>/average`, and `average` over all tasks ("Mean (Task)").

    conf/eval/mteb.yaml explains the settings. If a task of an average is missing, the average is left out.
    """

    splits = ("test",)
    primary = "average"

    def __init__(
        self,
        benchmark: Name | None,
        tasks: Annotated[list[Any], MinLen(1)] | None,
        languages: Annotated[list[Name], MinLen(1)] | None,
        name: Name,
        cache: Name,
        batch_size: Count,
        allow_partial: bool = False,
    ):
        if benchmark is not None and tasks is not None:
            raise UserError(f"`benchmark`={benchmark} and `tasks`={tasks}: give only one of them")
        self.chosen, self.languages = tasks or [], languages
        self.benchmark = None if self.chosen else benchmark or PAPERS
        self.name, self.cache, self.batch_size = name, cache, batch_size
        self.allow_partial = allow_partial
        self.tasks: list[AbsTask] = []
        self.revision = ""  # the digest of the last encoder
        self.problems: dict[str, str] = {}  # {task: why it could not be scored}

    @classmethod
    def needs(cls, settings: Settings) -> list[Need]:
        """Return the package mteb as a Need. mteb fetches a task's data when it scores the task."""
        return [DatasetNeed("mteb")]

    def prepare(self) -> None:
        """Find the tasks. mteb loads a task's data when it scores the task."""
        if importlib.util.find_spec("mteb") is None:
            raise MissingResource("eval=mteb needs the package mteb: pip install -e '.[mteb]'")
        import mteb
        from mteb.abstasks import AbsTaskRetrieval

        key = f"tasks={self.chosen}" if self.chosen else f"benchmark={self.benchmark}"
        try:
            if self.benchmark is not None:
                self.tasks = list(mteb.get_benchmark(self.benchmark).tasks)
            else:
                self.tasks = [find_task(one, self.languages) if isinstance(one, str) else one for one in self.chosen]
        except (KeyError, ValueError) as error:  # no such name; no such language
            raise UserError(f"{error} (languages {self.languages}).", key=key) from error
        self.searches = any(isinstance(part, AbsTaskRetrieval) for task in self.tasks for part in parts_of(task))

    def __call__(self, encode: Encode, split: str) -> list[Score]:
        """Return the scores of all tasks, cached or computed, and each average whose tasks all have scores.

        Raises MissingResource if a task cannot be scored; with allow_partial, only if no task can be scored.
        """
        self.revision = encoder_digest(encode)
        self.problems, scores = {}, {}
        for task in track(self.tasks, lambda task: task.metadata.name):
            name = task.metadata.name
            try:
                value = self._score(task, encode)
                scores[name] = Score(f"{name}/{metric(task)}", value, unit="the task's score x 100")
            except Exception as error:  # data loaders have no common exception
                if any(part.data_loaded for part in parts_of(task)):  # so the encoder or the score failed
                    raise
                self.problems[name] = first_line(error)[:200]
        if self.problems and not (self.allow_partial and scores):
            first = "; ".join(f"{task}: {problem}" for task, problem in [*self.problems.items()][:3])
            otherwise = "" if self.allow_partial else ", or with allow_partial=true"
            raise MissingResource(
                f"{len(self.problems)} of {len(self.tasks)} MTEB tasks could not be scored ({first}). Run again where "
                f"the data can be reached ({self.cache} keeps the scores of the other tasks){otherwise}"
            )
        whole = {key: names for key, names in self.groups().items() if scores.keys() >= set(names)}
        return [*scores.values(), *(mean_of(key, [scores[name] for name in names]) for key, names in whole.items())]

    def _score(self, task: AbsTask, encode: Encode) -> float:
        """Return 100 x the metric's mean over splits and subsets. Each value has six decimals, as in mteb's cache."""
        import mteb

        results = mteb.evaluate(
            _adapter(encode, self.name, self.revision),
            task,
            encode_kwargs={"batch_size": self.batch_size},
            cache=None if task in self.chosen else mteb.ResultCache(cache_path=self.cache),
            show_progress_bar=False,
        )
        if not results.task_results:  # mteb does not raise for a private data set
            raise MissingResource("; ".join(error.exception for error in results.exceptions or []))
        scored = results.task_results[0].validate_and_filter_scores(task)
        return 100 * float(scored.get_score(getter=lambda subset: round(subset[metric(task)], 6)))

    def groups(self) -> dict[str, list[str]]:
        """Return {name of an average: names of its tasks}: one average for each category, and one over all tasks."""
        groups: dict[str, list[str]] = {}
        for task in self.tasks:
            groups.setdefault(f"{task.metadata.type}/average", []).append(task.metadata.name)
        return groups | {"average": [task.metadata.name for task in self.tasks]}

    def source(self) -> MtebSource:
        """Return the revision of each task's data, and the name and revision under which mteb caches the results."""
        import mteb

        return {
            "protocol": f"mteb {mteb.__version__}, {self.benchmark or 'chosen tasks'}",
            "model": {"name": self.name, "revision": self.revision},
            "revisions": {task.metadata.name: str(task.metadata.dataset.get("revision")) for task in self.tasks},
            "problems": [f"{task}: {problem}" for task, problem in self.problems.items()],
        }


def find_task(name: str, languages: list[str] | None) -> AbsTask:
    """Return mteb's task on its test split, in these languages only (for STS22: en, not de-en).

    English tasks come from the papers' benchmark, which leaves out a subset that the language filter would keep.
    """
    import mteb

    papers = {task.metadata.name: task for task in mteb.get_benchmark(PAPERS).tasks} if languages == ["eng"] else {}
    if name in papers:
        return papers[name]
    task = mteb.get_task(name, languages=languages, exclusive_language_filter=languages is not None)
    return task.filter_eval_splits(["test"]) if "test" in task.eval_splits else task


def parts_of(task: AbsTask) -> list[AbsTask]:
    """Return the tasks that a task combines (CQADupstack), or the task itself."""
    return list(task.tasks) if task.is_aggregate else [task]  # type: ignore[attr-defined]


def metric(task: AbsTask) -> str:
    """Return the name of the score that the papers report for a task."""
    return PAPER_METRIC.get(task.metadata.type, task.metadata.main_score)


def encoder_digest(encode: Encode) -> str:
    """Return 16 hex digits that identify an encoder: a SHA-256 over the encoder's vectors of PROBES.

    If the first probe's vector differs when the probe is a query or a document, the digest also includes that vector.
    """
    short_ND, long_1D = encode(PROBES[:-1]), encode(PROBES[-1:])  # the long text would pad the others
    digest = hashlib.sha256(np.concatenate([short_ND, long_1D]).astype(np.float32).tobytes())
    for side in (Query, Document):
        text_1D = encode([side(PROBES[0])])
        if not np.allclose(text_1D, short_ND[:1], atol=1e-4):
            digest.update(side.__name__.encode() + text_1D.astype(np.float32).tobytes())
    return digest.hexdigest()[:16]


def _adapter(encode: Encode, name: str, revision: str) -> EncoderProtocol:
    """Return `encode` as a model for mteb.

    In a search task, mteb says whether a text is a query or a document, and the encoder adds the prefix of this kind.
    """
    from mteb.models.abs_encoder import AbsEncoder
    from mteb.models.model_meta import ModelMeta
    from mteb.types import PromptType

    sides = {PromptType.query: Query, PromptType.document: Document, None: str}

    class Adapter(AbsEncoder):
        mteb_model_meta = ModelMeta.create_empty({"name": name, "revision": revision, "modalities": ["text"]})

        def encode(self, inputs: Any, *, prompt_type: PromptType | None = None, **_: object) -> np.ndarray:
            side = sides[prompt_type]
            return encode([side(text) for batch in inputs for text in batch["text"]])

    return Adapter()
