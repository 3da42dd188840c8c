"""What is written into a run's folder: how it was started, and what it reports while it works, in results.json,
metrics.jsonl and the trackers that show its numbers.

best/ and last/ are saved beside it, by cse.lab.run.best and cse.training.checkpoint.
"""

import math
import sys
import time
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Literal, Unpack

import yaml
from omegaconf import OmegaConf

from cse.eval.scoring import score
from cse.files import make_folder, write_json, write_text
from cse.lab.folder.contents import RESULTS, RUN, Results, RunFile
from cse.lab.folder.this_machine import code_digest, named_sums, own_code
from cse.lab.run.commit import git_commit, git_patch, versions_of
from cse.lab.run.job import Job
from cse.lab.run.logs import begin_log_files
from cse.lab.settings.arguments import texts_of
from cse.lab.settings.compose import resolved
from cse.lab.settings.values import Config
from cse.lab.tracking.run_info import RunInfo
from cse.lab.tracking.trackers import Tracker, Trackers
from cse.score import Score, Scores
from cse.types import Encode, Evaluator

PACKAGES = (
    *("cse-lab", "torch", "transformers", "datasets", "accelerate", "sentence-transformers"),
    *("numpy", "scipy", "scikit-learn", "hydra-core", "mteb"),
)

GRACE = 15.0  # seconds that trackers have after a signal: whoever stops a run waits about half a minute

HEAD = f"# {RUN}: this run's settings as data. cse-train resume=FOLDER reads them, and applies its arguments to them.\n"


def begin_folder(job: Job) -> None:
    """Make a run's folder, its log, and the files that say how it was started. Raises UserError."""
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
    """results.json and the trackers of one run. As a context manager, it reports an exception to all of them.

    plain: its settings. command: that started it. trackers: builds each of them. resumed_at: the checkpoint's step,
    None for a new run. writes: False on all processes but the first. results: the content of results.json as of the
    next `write`.
    """

    def __init__(
        self,
        folder: Path,
        plain: Config,
        *,
        kind: Literal["train", "eval"],
        command: str,
        device: str,
        precision: str = "fp32",
        trackers: Iterable[partial[Tracker]],
        resumed_at: int | None = None,
        writes: bool = True,
    ):
        self.folder, self.kind, self.writes = folder, kind, writes
        self.resumed_at, self.builders = resumed_at, trackers
        self.step, self.started = resumed_at or 0, time.monotonic()
        self.scores: Scores = {}
        self.results: Results = first_results(plain, command, device, precision)

    def __enter__(self) -> "Record":
        if self.writes:
            first = self.results
            about = RunInfo(self.kind, first["config"], first["command"], first["git_commit"], first["versions"])
            self.trackers = Trackers(self.folder, about, self.builders, self.resumed_at)
            self.write()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if self.writes and error is not None:
            interrupted = isinstance(error, KeyboardInterrupt)
            message = " ".join([str(error), *vars(error).get("__notes__", [])])  # which evaluator raised it
            reason = message if interrupted else f"{type(error).__name__}: {message}"
            self.conclude(status="interrupted" if interrupted else "failed", error=reason, steps=self.step)
            self.trackers.finish(1, {}, patience=GRACE if interrupted else math.inf)

    def write(self) -> None:
        """Write results.json as it is now. Raises RunError, and leaves the old file, if the disk refuses."""
        write_json(self.folder / RESULTS, self.results)

    def note(self, **more: Unpack[Results]) -> None:
        """Keep what is known now, as keys of results.json, for the next time that it is written."""
        self.results |= more

    def score(self, evaluators: Mapping[str, Evaluator], encode: Encode) -> list[Score]:
        """Every score of every evaluator. Keeps each as soon as it is known: a later evaluator may fail."""
        return list(score(evaluators, encode, into=self.scores).values())

    def conclude(self, **more: Unpack[Results]) -> None:
        """Write the scores and, as keys of results.json, the final status and what is known at the end alone."""
        self.note(wall_seconds=round(time.monotonic() - self.started, 1))
        self.note(**scores_as_json(self.scores))
        self.note(**more)
        self.write()

    def log(self, step: int, metrics: dict[str, float], lower_is_better: Collection[str] = ()) -> None:
        """Send a step's numbers to every tracker; see Tracker.log."""
        if self.writes:
            self.step = step
            self.trackers.log(metrics, step, lower_is_better)


def first_results(plain: Config, command: str, device: str, precision: str) -> Results:
    """The results.json of a run that begins, in the order of the file: a reader looks for the scores first.

    precision: of training (fp32, bf16, fp16); scoring is in fp32.
    """
    return {
        "status": "running",
        "metrics": {},
        "scores": {},
        "config": plain,
        "seed": plain.get("seed"),
        "command": command,
        "git_commit": git_commit(),
        "code": code_digest(),
        "own_code": own_code(plain),
        "named": named_sums(plain),
        "versions": {"python": sys.version.split()[0], **versions_of(PACKAGES)},
        "device": device,
        "precision": precision,
    }


def scores_as_json(scores: Mapping[str, Score]) -> Results:
    """The scores as results.json has them: their values in `metrics`, and what each is in `scores`."""
    return {
        "metrics": {name: score.value for name, score in scores.items()},
        "scores": {name: score.about() for name, score in scores.items()},
    }
