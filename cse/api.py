"""The commands as Python functions: the same configuration, runs and errors, as exceptions instead of exit codes.

    run = cse.train("objective=barlow", "model=roberta", seed=3)
    vectors = run.encoder().encode(["A sentence.", "Another one."])
    scores = cse.evaluate(run.encoder(), eval=["stsb", "sts"])

Every function takes the command line's words; what is a Python name may stand as a keyword: seed=3, model="roberta".
They may be called any number of times in one process, a notebook's too. cse.errors.UserError is a mistake in what was
asked for, cse.errors.RunError a run that could not go on.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import yaml
from omegaconf import DictConfig

from cse.errors import UserError

if TYPE_CHECKING:  # numpy and torch are imported when there is work
    import numpy as np

    from cse.model.encoder import Encoder
    from cse.model.pooling import AnyPooling
    from cse.types import Json

log = logging.getLogger("cse")

ONE_JOB = ("-m", "--multirun", "sweep", "hydra.mode")


@dataclass(frozen=True)
class TrainingRun:
    """A finished run: its folder, the content of its results.json, and its dev scores during training.

    scores: every score of the best step, by name (`test/stsb/spearman`, x100). curve: (step, dev scores).
    """

    folder: Path
    results: Json
    scores: dict[str, float]
    curve: list[tuple[int, dict[str, float]]]

    @property
    def best(self) -> Path:
        """The folder of the best step's encoder; SentenceTransformer and AutoModel load it too."""
        return self.folder / "best"

    def encoder(self) -> Encoder:
        """The best step's encoder."""
        return load(self.best)


@runtime_checkable
class Encodes(Protocol):
    """Anything with an `encode`: ours, a sentence-transformers model."""

    def encode(self, sentences: list[str]) -> np.ndarray:
        """n texts -> (n, D)."""


def compose(*words: str, command: str = "train", **settings: object) -> DictConfig:
    """The configuration that `cse-train` (or command="evaluate": `cse-eval`) would run with these words.

    Raises UserError for a word that it would refuse.
    """
    from cse.config.compose import without_hydra

    return without_hydra(_composed(command, _overrides(words, settings, command)))


def train(*words: str, folder: str | Path | None = None, **settings: object) -> TrainingRun:
    """Train as `cse-train` does, in this process, and return the finished run.

    folder: where it goes; None is outputs/DATE/TIME under the working directory. Raises UserError before any work, or
    RunError where the run cannot go on. Several jobs (-m, sweep=) are the command line's.
    """
    from cse.config.compose import without_hydra
    from cse.run.launch import fit, launch

    overrides = _overrides(words, settings, "train")
    config = _composed("train", overrides)
    place = Path(folder if folder is not None else config.hydra.run.dir)
    cfg = without_hydra(config)
    fit(cfg, place, chosen=config.hydra.runtime.choices, overrides=overrides)
    if cfg.dry_run or cfg.data.preview:
        raise UserError("dry_run and data.preview print and return nothing: use cse-train for them, or cse.compose")
    _keep_overrides(place, overrides)
    with _logging_to(place, overrides):
        launch(cfg, place)
    return read(place)


def read(folder: str | Path) -> TrainingRun:
    """The run that a folder holds. Raises UserError where there is none that finished."""
    from cse.record.events import read_events

    place = Path(folder)
    try:
        results = json.loads((place / "results.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{place} holds no run (results.json: {error})") from error
    if results["status"] != "done":
        raise UserError(f"the run in {place} is not done but {results['status']}")
    events = [event for event in read_events(place / "metrics.jsonl") if event["event"] == "metrics"]
    curve = [(event["step"], {k: v for k, v in event.items() if k.startswith("dev/")}) for event in events]
    return TrainingRun(place, results, results["metrics"], [(step, scores) for step, scores in curve if scores])


def load(name: str | Path, pooling: AnyPooling | None = None) -> Encoder:
    """The encoder of a run's folder, a sentence-transformers or Hugging Face folder, or a hub name, in eval mode.

    pooling: None as the checkpoint records it. Raises UserError, or MissingResource where it cannot be had.
    """
    from cse.model.load import load_encoder
    from cse.run import startup
    from cse.run.subject import folder_of

    startup.settle_hub()
    startup.quiet()
    return load_encoder(folder_of(Path(name).expanduser()), pooling).eval()


def evaluate(
    encoder: str | Path | Encodes | Callable[[list[str]], np.ndarray],
    eval: str | Sequence[str],
    *words: str,
    **settings: object,
) -> dict[str, float]:
    """Every score of an encoder, by name (`test/sts/average`, x100), as `cse-eval` gives them; nothing is written.

    encoder: what `load` takes, anything with an `encode` (a sentence-transformers model), or a function from n texts
    to (n, D). eval: the evaluators. words, settings: other settings of cse-eval, such as splits=["test"] or
    "paths.senteval=FOLDER". Raises UserError, or MissingResource naming all data that cannot be had.
    """
    from cse.eval.score import MemoizedEncode, score
    from cse.run.build import build_evaluators

    chosen = eval if isinstance(eval, str) else list(eval)
    overrides = _overrides(words, {"eval": chosen, **settings}, "evaluate")
    cfg = _composed("evaluate", overrides)
    splits = tuple(cfg.splits)
    evaluators = build_evaluators(cfg.eval, splits)
    part = load(encoder) if isinstance(encoder, str | Path) else encoder
    encode = part.encode if isinstance(part, Encodes) else part
    asked = {name: [split for split in one.splits if split in splits] for name, one in evaluators.items()}
    return score(evaluators, asked, MemoizedEncode(encode), logging.DEBUG)


def _overrides(words: Sequence[str], settings: dict[str, object], command: str) -> list[str]:
    """Words and keywords as the command line would have them."""
    from cse.cli.compose import resumed, spelled

    given = [*words, *(f"{key}={_text(value)}" for key, value in settings.items())]
    several = next((word for word in given if word.partition("=")[0] in ONE_JOB), None)
    if several is not None:
        raise UserError(f"{several} is for many jobs, which are the command line's: cse-train {several}")
    return spelled(resumed(given), command)


def _text(value: object) -> str:
    """A Python value in Hydra's grammar."""
    from cse.sweep.jobs import quoted

    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "null"
    if isinstance(value, list | tuple):
        return f"[{','.join(_text(item) for item in value)}]"
    text = str(value)
    return text if isinstance(value, int | float) or text.replace("_", "").isalnum() else quoted(text)


def _composed(command: str, overrides: list[str]) -> DictConfig:
    """The configuration, checked, Hydra's own node in it. Raises UserError for what the command would refuse."""
    from cse.config.compose import composed, explaining, refuse_additions, refuse_choices
    from cse.run import startup

    startup.settle_hub()  # the parts, whose signatures are read, import the hub's libraries
    startup.quiet()
    from cse.config.check import settle

    with explaining(overrides, command):
        refuse_additions(overrides, command)
        refuse_choices(overrides)
        return settle(composed(command, overrides), command)


def _keep_overrides(folder: Path, overrides: list[str]) -> None:
    """What `cse-train resume=FOLDER` reads."""
    from cse.files import write_text

    write_text(folder / ".hydra" / "overrides.yaml", yaml.safe_dump(overrides))


@contextmanager
def _logging_to(folder: Path, overrides: list[str]) -> Iterator[None]:
    """In the block a run logs to standard output and to train.log in its folder, and records the equivalent command."""
    arguments, sys.argv = sys.argv, ["cse-train", *overrides]
    handlers: list[logging.Handler] = [
        logging.StreamHandler(sys.stdout),
        logging.FileHandler(folder / "train.log", encoding="utf-8"),
    ]
    for handler in handlers:
        handler.setFormatter(logging.Formatter("%(message)s"))
        log.addHandler(handler)
    level, propagate = log.level, log.propagate
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        sys.argv = arguments
        log.setLevel(level)
        log.propagate = propagate
        for handler in handlers:
            log.removeHandler(handler)
            handler.close()
