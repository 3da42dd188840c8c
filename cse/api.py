"""The commands as Python functions: the same settings, the same runs. An error is an exception, not an exit code.

    run = cse.train("objective=barlow", "model=roberta", seed=3)
    vectors = run.encoder().encode(["A sentence.", "Another one."])
    scores = cse.evaluate(run.encoder(), eval=["stsb", "sts"])
    table = cse.runs("multirun")  # a pandas.DataFrame with a row for each run

cse.train and cse.evaluate take the arguments of their commands. A key that is a Python name may be a keyword: seed=3,
model="roberta". eval={"mine": function} adds the scores of your own function, such as dev/mine/NAME. The function takes
(encode, split) and returns {NAME: number}. In eval=["stsb", {"mine": function}], "stsb" is a choice of conf/eval. A
process may call cse's functions any number of times, one call at a time. Each call restores the environment variables.
A run seeds Python, NumPy and PyTorch. UserError means a mistake in the call, RunError a run that cannot continue.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, get_args, runtime_checkable

from omegaconf import DictConfig

from cse.errors import UserError
from cse.lab.folder.runs import Run, read_run
from cse.lab.run import this_process
from cse.lab.run.code_in_settings import FUNCTION
from cse.lab.run.evaluators import build_evaluators
from cse.lab.run.from_arguments import config_of
from cse.lab.run.needs import encoder_folder
from cse.lab.run.start import start_training
from cse.lab.settings.arguments import Argument
from cse.lab.settings.command import normalized, read_command, texts_of_settings
from cse.lab.settings.compose import without_hydra
from cse.lab.settings.groups import PROGRAMS, Kind, adopt_folders, choices
from cse.lab.settings.values import flattened
from cse.lab.sweep.sweep_command import starts_many
from cse.ranges import AnyPooling

if TYPE_CHECKING:  # importing cse does not import numpy and torch
    import numpy as np
    import pandas as pd

    from cse.eval.function import ScoringFunction
    from cse.model.encoder import Encoder

SCORING = ("eval", "splits", "paths", "allow_partial")
"""The settings of cse-eval that choose the scores. Each is a key, or the first part of dotted keys."""


class TrainingRun(Run):
    """A run, read from its folder: state, config and results (results.json), scores, curve, and encoder.

    state: done, running, stopped, failed or not started; `why` gives the reason. A dry run and a preview (data.preview)
    leave no folder, so their state is `not started`. scores and curve raise UserError if the run is not done.
    """

    def __init__(self, folder: str | Path):
        run = read_run(Path(folder))
        super().__init__(**{field.name: getattr(run, field.name) for field in fields(run)})

    def __repr__(self) -> str:
        """Return the folder and, for a finished run, the score that selected the checkpoint."""
        return f"TrainingRun({str(self.folder)!r}, {self._outcome})"

    @property
    def _outcome(self) -> str:
        if not self.is_done:
            return "not finished"
        if "best_step" not in self.results:  # nothing was trained
            return f"of {self.program}"
        score = self.metrics.get(self.select)
        chosen = "" if score is None else f", {self.select} {score:.2f}"
        return f"step {self.results['best_step']}{chosen}"

    @property
    def scores(self) -> dict[str, float | None]:
        """{name: value} of the best checkpoint's scores, such as `test/stsb/spearman` (x100). None stands for NaN."""
        self._check_finished()
        return self.results["metrics"]

    @property
    def curve(self) -> list[tuple[int, dict[str, float]]]:
        """The dev scores during training: [(step, {name: score}), ...]."""
        self._check_finished()
        curve = []
        for event in self.events():
            scores = {name: value for name, value in event.items() if name.startswith("dev/")}
            if scores:
                curve.append((event["step"], scores))
        return curve

    @property
    def best(self) -> Path:
        """The folder of the best checkpoint's encoder. SentenceTransformer and AutoModel can load this folder too."""
        return self.folder / "best"

    def encoder(self) -> Encoder:
        """Return the encoder of the best checkpoint."""
        return load(self.best)

    def _check_finished(self) -> None:
        if not self.is_done:
            why = f", {self.why}" if self.why else ""
            raise UserError(f"{self.folder} holds no finished run ({self.state}{why})")


@runtime_checkable
class Encodes(Protocol):
    """An object with an `encode` method, such as cse's encoder or a sentence-transformers model."""

    def encode(self, sentences: list[str]) -> np.ndarray:
        """Return the vectors of n texts, (n, D)."""


def compose(*arguments: str, command: Kind = "train", **settings: object) -> DictConfig:
    """Return the configuration of `cse-train` with these arguments, or of `cse-eval` if command="evaluate".

    Raises UserError for an argument that the command would refuse.
    """
    if command not in PROGRAMS:
        raise UserError(f"command={command}: should be one of {', '.join(PROGRAMS)}")
    with this_process.environment_kept():
        return without_hydra(config_of(command, _arguments_of_job(command, _texts_of_call(arguments, settings))))


def train(*arguments: str, folder: str | Path | None = None, **settings: object) -> TrainingRun:
    """Train as `cse-train` does, and return the finished run.

    folder: the folder of a new run. None: hydra.run.dir, by default outputs/DATE/TIME below the working directory.
    Raises UserError for a mistake, before any work and before any file is written. Raises RunError if the run cannot
    continue. For several jobs (-m, sweep=), use the command line.

    eval={"mine": function} adds the function's scores on dev and test to the scores of the configured evaluators.
    A higher number is better. "trainer.select=dev/mine/NAME" selects the checkpoint on the function's number NAME.
    """
    with this_process.alone(), _arguments_of_call("train", arguments, settings) as given:
        return TrainingRun(start_training(given, folder))


def load(name: str | Path | TrainingRun, pooling: AnyPooling | None = None) -> Encoder:
    """Load an encoder, in eval mode, from a run, a sentence-transformers or Hugging Face folder, or a name on the hub.

    pooling: None keeps the checkpoint's pooling and head. Another value replaces the pooling and drops the head. The
    encoder's `described` names its pooling and head. Raises MissingResource if the encoder is missing, UserError for a
    mistake.
    """
    from cse.model.load import load_encoder

    if isinstance(name, TrainingRun):
        name = name.best
    if not isinstance(name, str | Path):
        raise UserError(f"{name!r:.60} does not name an encoder: give its folder, or its name on the hub")
    if pooling not in (None, *get_args(AnyPooling)):
        raise UserError(f"pooling={pooling}: should be one of {', '.join(get_args(AnyPooling))}")
    with this_process.environment_kept():
        this_process.prepare_libraries()
        return load_encoder(encoder_folder(name), pooling).eval()


def evaluate(
    encoder: str | Path | TrainingRun | Encodes | Callable[[list[str]], np.ndarray],
    *arguments: str | Sequence[str | Mapping[str, ScoringFunction]] | Mapping[str, ScoringFunction],
    **settings: object,
) -> dict[str, float]:
    """Return every score of an encoder by name (`test/sts/average`), as `cse-eval` computes them. Write no file.

    encoder: an encoder that `load` can load, an object with an `encode` method (a sentence-transformers model), or a
    function from n texts to their vectors (n, D). arguments, settings: the settings of cse-eval's evaluators, such as
    splits=["test"] or "paths.senteval=FOLDER". The argument after `encoder` may be the value of `eval`: "stsb",
    {name: function}, or a list such as ["stsb", "sts", {"mine": function}]. A function takes (encode, split) and
    returns {NAME: number}. Raises UserError for a mistake, and for other settings of cse-eval. Raises one
    MissingResource that names all missing data.
    """
    from cse.eval.scoring import EncodesSides, MemoizedEncode, by_side, check_encode, score
    from cse.score import values

    with this_process.alone(), _arguments_of_call("evaluate", arguments, settings) as given:
        _check_scoring(given)
        cfg = config_of("evaluate", given)
        evaluators = build_evaluators(cfg.eval, cfg.splits)
        part = load(encoder) if isinstance(encoder, str | Path | TrainingRun) else encoder
        if isinstance(part, EncodesSides):
            part = by_side(part)
        memoized = MemoizedEncode(check_encode(part.encode if isinstance(part, Encodes) else part))
        try:
            scores = score(evaluators, memoized, level=logging.DEBUG)
        except UserError:
            memoized.check_varied()  # equal vectors explain the error
            raise
        memoized.check_varied()
        memoized.warn_of_zeros()
        return values(scores.values())


def runs(*folders: str | Path, seed: str = "seed") -> pd.DataFrame:
    """Return a row for every run in or below the folders: the table that `cse-report runs=[...]` writes as runs.csv.

    Real runs come first, then smoke runs, then jobs of a sweep that have no run yet. The first columns are folder,
    state (done, running, stopped, failed, not started) and why. For several folders, the column `origin` names the
    folder that contains the run. The next columns are the settings that differ between the runs (by dotted key), the
    seed, every unrounded score of the best checkpoint, facts (partial, untrained, best_step, steps, wall_seconds and
    more), and the command that repeats the run. None stands for a missing value. seed: the key of the runs' seed.
    Raises UserError for a folder that does not exist.
    """
    from cse.lab.report.any_runs.comparison import compare_without_smoke
    from cse.lab.report.any_runs.runs_table import runs_frame
    from cse.lab.report.any_runs.which_runs import asked_for

    asked = asked_for(list(map(Path, folders)), None, seed)
    return runs_frame(compare_without_smoke(asked.runs, asked.folders, [], seed, asked.jobs), asked.jobs)


@contextmanager
def _arguments_of_call(kind: Kind, given: Sequence[object], settings: Mapping[str, object]) -> Iterator[list[Argument]]:
    """Yield a call's arguments as a command's arguments. In the block, cse.eval.function.KNOWN has the functions."""
    functions, texts = _functions_and_texts(kind, given, settings)
    if not functions:
        yield _arguments_of_job(kind, texts)
        return
    from cse.eval.function import known

    with known(functions, choices("eval")) as names:
        added = [Argument(f"++eval.{name}={{_target_:{FUNCTION},name:{name}}}", by="cse") for name in names]
        yield [*_arguments_of_job(kind, texts), *added]


def _functions_and_texts(
    kind: Kind, given: Sequence[object], settings: Mapping[str, object]
) -> tuple[list[Mapping[str, ScoringFunction]], list[str]]:
    """Return the functions in a call's `eval`, each as {name: function}, and the rest as a command's arguments.

    If `eval` is a list, the names of evaluators in this list stay in the rest. If `eval` is {name: function}, training
    adds the function to the command's evaluators, and `evaluate` computes only the function's scores.
    """
    rest, settings = _with_eval_as_keyword(kind, given, settings)
    chosen = settings.get("eval")
    parts = chosen if isinstance(chosen, list | tuple) else [chosen]
    if any(map(callable, parts)):
        raise UserError('eval: give the function a name for its scores: {"mine": function}')
    functions = [part for part in parts if isinstance(part, Mapping)]
    if isinstance(chosen, Mapping):
        del settings["eval"]
        rest = rest if kind == "train" else ["eval=[]", *rest]
    elif functions:
        settings["eval"] = [part for part in parts if not isinstance(part, Mapping)]
    return functions, _texts_of_call(rest, settings)


def _with_eval_as_keyword(
    kind: Kind, given: Sequence[object], settings: Mapping[str, object]
) -> tuple[list[object], dict[str, object]]:
    """Return a call's arguments and keywords. A first argument of `evaluate` without `=` becomes the keyword eval."""
    rest = list(given)
    if kind == "train" or not rest or (isinstance(rest[0], str) and "=" in rest[0]):
        return rest, dict(settings)
    if "eval" in settings:
        both = f"eval={settings['eval']} and the first argument, {rest[0]}, both name evaluators"
        raise UserError(f"{both}: use only one of them")
    return rest[1:], {"eval": rest[0], **settings}


def _texts_of_call(given: Sequence[object], settings: Mapping[str, object]) -> list[str]:
    """Return a call's arguments and keywords as a command's arguments, not yet parsed.

    Raises UserError for a value that cannot be part of a command.
    """
    if wrong := [argument for argument in given if not isinstance(argument, str)]:
        raise UserError(
            f'{wrong[0]!r:.60} is not text: give text ("trainer.lr=1e-4") or keywords (seed=3, trainer={{"lr": 1e-4}})'
        )
    return [*map(str, given), *texts_of_settings(flattened(settings))]


def _arguments_of_job(kind: Kind, texts: Sequence[str]) -> list[Argument]:
    """Return the arguments of a command that starts one job. Raises UserError for several jobs, and for a flag."""
    one_job = read_command(adopt_folders(normalized(texts)), kind)
    if several := starts_many(one_job.arguments, one_job.flags):
        raise UserError(f"{several} starts several jobs: use the command line, {PROGRAMS[kind]} {several}")
    if one_job.flags:
        raise UserError(f"{one_job.flags[0]} is for the command line: leave it out")
    return one_job.arguments


def _check_scoring(arguments: Sequence[Argument]) -> None:
    """Raise UserError for an argument that is not a setting of the evaluators."""
    if idle := [argument for argument in arguments if argument.key.partition(".")[0] not in SCORING]:
        raise UserError(
            f"cse.evaluate scores the encoder as you loaded it, so {idle[0]} has no effect: choose the pooling with "
            "cse.load(NAME, pooling), or use cse-eval"
        )
