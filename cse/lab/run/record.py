"""The record of a run: results.json, metrics.jsonl and the trackers.

`begin_folder` writes the run's settings and arguments. During the run, a Record writes the results.
cse.lab.run.best saves best/, and cse.training.checkpoint saves last/.
"""

import math
import sys
import time
from collections.abc import Collection, Mapping
from typing import Literal, Unpack

import yaml
from omegaconf import OmegaConf

from cse.eval.scoring import MemoizedEncode, score
from cse.files import Json, make_folder, write_json, write_text
from cse.lab.folder.contents import RESULTS, RUN, Results, RunFile
from cse.lab.folder.digests import code_digest, named_sums, own_code
from cse.lab.run.commit import git_commit, git_patch, versions_of
from cse.lab.run.instantiate import make
from cse.lab.run.job import Job
from cse.lab.run.run_log import begin_log_files, log_fields
from cse.lab.settings.arguments import texts_of
from cse.lab.settings.references import resolved
from cse.lab.tracking.run_info import RunInfo
from cse.lab.tracking.trackers import EventLog
from cse.score import Score, Scores, values
from cse.types import Evaluator

PACKAGES = (
    *("cse-lab", "torch", "transformers", "datasets", "accelerate", "sentence-transformers"),
    *("numpy", "scipy", "scikit-learn", "hydra-core", "mteb"),
)

GRACE = 15.0  # seconds: the time for each tracker after a signal; a scheduler kills the run after about 30 s

HEAD = f"# {RUN}: this run's settings as data. cse-train resume=FOLDER reads them, and applies its arguments to them.\n"


def begin_folder(job: Job) -> None:
    """Make the folder of a run, its log, and the files with its settings, arguments and code. Raises UserError."""
    make_folder(job.folder, "hydra.run.dir")
    texts = texts_of(job.arguments)
    run: RunFile = {"words": texts, "config": resolved(job.cfg)}
    files = {
        ".hydra/config.yaml": OmegaConf.to_yaml(job.cfg),
        ".hydra/overrides.yaml": yaml.safe_dump(texts, allow_unicode=True),
        "code.patch": git_patch(),
        RUN: HEAD + yaml.safe_dump(run, sort_keys=False, allow_unicode=True),
    }
    for name, text in files.items():
        if text:
            write_text(job.folder / name, text)
    begin_log_files()


class Record:
    """The results.json and the trackers of one job.

    The `with` block of a Record is the job's work. The trackers start when the block begins. When the block ends, also
    by an exception, the Record writes the end of the job and ends the trackers.

    precision: the precision of training, or of the scored encoder. resumed_at: the step at which the run resumes; None
    for a new run. writes: False on all processes but the first.

    results: the content that the next `write` gives to results.json. scores: all scores so far.
    """

    def __init__(self, job: Job, *, device: str, precision: str, resumed_at: int | None = None, writes: bool = True):
        self.job, self.folder, self.writes = job, job.folder, writes
        self.resumed_at, self.step = resumed_at, resumed_at or 0
        self.started = time.monotonic()
        self.scores: Scores = {}
        self.results: Results = first_results(job, device, precision)

    def __enter__(self) -> "Record":
        if self.writes:
            self.trackers = start_trackers(self.job, self.results, self.resumed_at)
            self.write()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if not self.writes:
            return
        self.note_end(error)
        is_done = False
        try:
            self.write()
            is_done = error is None
        finally:  # end the trackers even if the disk refuses
            self.end_trackers(is_done, patience=GRACE if isinstance(error, KeyboardInterrupt) else math.inf)

    def write(self) -> None:
        """Write results.json. If writing fails, the old file remains, and RunError is raised."""
        write_json(self.folder / RESULTS, self.results)

    def note(self, **more: Unpack[Results]) -> None:
        """Add entries to `results`, which the next `write` writes."""
        self.results |= more

    def score(self, evaluators: Mapping[str, Evaluator], encode: MemoizedEncode, longer: str = "") -> list[Score]:
        """Return all scores of all evaluators. Each score is added to `scores` at once: a later evaluator may fail.

        Log and note how many texts of each evaluator reach the encoder's maximum length. longer: text on how to read
        longer texts.
        """
        counts = {}
        for name, evaluator in evaluators.items():
            encode.start_count()
            score({name: evaluator}, encode, into=self.scores)
            counts[name] = encode.count()
        if encode.full is not None:
            self.note(truncation=counts)
            reaching = {name: count for name, count in counts.items() if count["reach_max_length"]}
            words = [f"{c['reach_max_length']:,} of {c['texts']:,} texts of {name}" for name, c in reaching.items()]
            log_fields(truncation=f"{', '.join(words)} reach the encoder's maximum length; {longer}" if words else "")
        return list(self.scores.values())

    def log(self, step: int, metrics: dict[str, float], lower_is_better: Collection[str] = ()) -> None:
        """Send a step's numbers to every tracker; see Tracker.log."""
        if self.writes:
            self.step = step
            self.trackers.log(metrics, step, lower_is_better)

    def note_end(self, error: BaseException | None) -> None:
        """Add the scores and the end of the job to `results`. error: the error that ended the job early, or None."""
        self.note(wall_seconds=round(time.monotonic() - self.started, 1))
        self.note(**scores_as_json(self.scores))
        if error is None:
            self.note(status="done")
            return
        message = " ".join([str(error), *vars(error).get("__notes__", [])])  # a note names the evaluator that failed
        if isinstance(error, KeyboardInterrupt):
            self.note(status="interrupted", error=message, steps=self.step)
        else:
            self.note(status="failed", error=f"{type(error).__name__}: {message}", steps=self.step)

    def end_trackers(self, is_done: bool, patience: float) -> None:
        """End the trackers. If the job is done, send its scores and, if it trained, its best step.

        patience: the largest number of seconds for each tracker. After a signal, this number is GRACE.
        """
        summary: Json = values(self.scores.values()) if is_done else {}
        if is_done and "best_step" in self.results:
            summary["best_step"] = self.results["best_step"]
        try:
            self.trackers.finish(0 if is_done else 1, summary, patience)
        except KeyboardInterrupt:
            self.trackers.end(GRACE)
            raise


def start_trackers(job: Job, results: Results, resumed_at: int | None) -> EventLog:
    """Return the trackers of a job. results: the content of the job's results.json. resumed_at: see Record."""
    kind: Literal["train", "eval"] = "train" if job.trains else "eval"
    about = RunInfo(kind, results["config"], job.command, results["git_commit"], results["versions"])
    builders = [make(node) for node in job.cfg.tracker.values()]
    return EventLog(job.folder, about, builders, resumed_at)


def first_results(job: Job, device: str, precision: str) -> Results:
    """Return the content of results.json for a job that begins. Status and scores come first: readers look for them."""
    plain = resolved(job.cfg)
    return {
        "status": "running",
        "metrics": {},
        "scores": {},
        "config": plain,
        "seed": plain.get("seed"),
        "command": job.command,
        "git_commit": git_commit(),
        "code": code_digest(),
        "own_code": own_code(plain),
        "named": named_sums(plain),
        "versions": {"python": sys.version.split()[0], **versions_of(PACKAGES)},
        "device": device,
        "precision": precision,
    }


def scores_as_json(scores: Mapping[str, Score]) -> Results:
    """Return the scores as entries of results.json: `metrics` has their values, and `scores` has all other facts."""
    return {
        "metrics": {name: score.value for name, score in scores.items()},
        "scores": {name: score.about() for name, score in scores.items()},
    }
