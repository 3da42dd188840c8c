"""The files of a run's folder: the content of each file, key by key, and functions that read the files for a report.

    run.yaml                  RunFile: the settings and arguments that it was started with; there from the start on
    results.json              Results: all that it records of itself; rewritten while it works
    plots/cosines_WHEN.json   Cosines of its pairs; WHEN: before or after training
    metrics.jsonl             every event (cse.lab.folder.events); heartbeat.json: its lock (cse.lab.folder.heartbeat)
    items.npz                 the items behind its scores (cse.eval.items)
    best/                     the encoder, its card, mteb's results (cse.model.export, cse.lab.sharing)
    last/                     what resume= needs (cse.training.checkpoint)
    scores.csv, .md, .tex     what cse-eval scored (cse.lab.sharing.score_tables)
    code.patch, .hydra/       how the checkout differs from its commit; Hydra's view of the settings

This file has the parts in this order: run.yaml; the values in results.json, and results.json itself; the functions that
read.
"""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NotRequired, TypeVar, cast

import yaml
from pydantic import AfterValidator, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict  # typing's can be checked by pydantic from Python 3.12 on

from cse.lab.settings.values import PlainConfig
from cse.score import AboutScore, Source

if TYPE_CHECKING:  # importing torch is slow
    from cse.data.overlap import Overlap
    from cse.eval.items import KeptItems

log = logging.getLogger(__name__)

T = TypeVar("T")
Plain = dict[str, JsonValue]
Number = Annotated[float, Field(ge=-1e38, le=1e38)]  # within float32, so that squares are within float64

RUN, RESULTS, EVENTS = "run.yaml", "results.json", "metrics.jsonl"
"""The files of a run that most readers ask for; see above."""


class RunFile(TypedDict):
    """run.yaml: the settings that a run uses, and the arguments of the command that started it."""

    config: Plain
    words: NotRequired[list[str]]


class EarlierCode(TypedDict, total=False):
    """The code of a run before other code resumed the run. Results has the same keys for the present code."""

    until_step: int
    git_commit: str | None
    code: str | None
    own_code: dict[str, str] | None


class TrainedModality(TypedDict, total=False):
    """The images or sound that a run learned from. labels: true or shuffled. loss: the kind of loss."""

    source: str
    kind: str
    items: int
    classes: int
    labels: str
    digest: str
    loss: str


class TrainingData(TypedDict, total=False):
    """The text that a run learned from; for a published corpus also the facts in the catalogue.

    sha256: the checksum of each local file, or of the one published file. sources: the same facts for each source of a
    mixture.
    """

    name: str
    rows: int
    left_out: int
    digest: str
    source: str
    sha256: dict[str, str] | str | None
    sources: "dict[str, TrainingData]"
    aux_modality: TrainedModality


class Weights(TypedDict, total=False):
    """What the hub's card of the first weights says."""

    license: str
    language: str | list[str]


class ExportedVectors(TypedDict):
    """How best/ makes vectors.

    made: pooling and length, in words. kept_head: whether the objective's head stays. numbers: the vectors' length.
    unit_length: whether their norm is 1. similarity: the similarity function of the base model.
    """

    made: str
    kept_head: bool
    numbers: int
    unit_length: bool
    similarity: str


class Results(TypedDict, total=False):
    """results.json: everything that a run records about itself.

    A run that has just begun, or a run of an older version of cse, has fewer keys.

    The status "broken" is never written: it stands for a file that cannot be read. None stands for an unknown value.
    """

    # how it stands
    status: Literal["running", "done", "failed", "interrupted", "broken"]
    error: str  # why it ended, unless it is done

    # what was asked for
    config: PlainConfig
    command: str  # that started it
    seed: int | None  # of cse-eval: the scored run's

    # its scores, and what they rest on
    metrics: dict[str, float | None]  # every score of the best checkpoint by name, x100; None: NaN
    scores: dict[str, AboutScore]  # what each of them is
    untrained: Mapping[str, float | None]  # the dev scores of the encoder before training
    items: "KeptItems"  # the entry of items.npz
    data: dict[str, Source]  # of each evaluator
    overlap: "Overlap | None"  # training texts that are scored too

    # what it learned from, and what it made
    named: dict[str, str]  # checksums of the files and encoders that its settings name
    training_data: TrainingData
    inputs: dict[str, str]  # digests of all that it learns from
    weights: Weights | None
    encoder: str  # what cse-eval scored, in words
    architecture: str  # of a trained encoder
    vectors: ExportedVectors
    weights_sum: str | None  # checksum of best/'s weights, or of the weights that were scored

    # its code
    git_commit: str | None  # with a "+" if the checkout had changes
    code: str | None  # digest of cse
    own_code: dict[str, str] | None  # digests of the user's modules
    earlier_code: list[EarlierCode]  # before each resume by other code

    # where it worked, and how
    versions: dict[str, str]  # of Python and packages
    device: str
    precision: str  # of training; of the encoder that cse-eval scored
    dtype: str  # of the weights that cse-eval scored
    processes: int  # torchrun's
    earlier_processes: list[int]  # before each resume by another number

    # how far it came, and how long it took
    total_steps: int
    steps: int
    best_step: int  # the step of the best checkpoint, which is in best/
    seconds: float  # of training
    tokens_per_second: float  # of training
    wall_seconds: float  # of the last start
    peak_memory: int  # bytes


def renamed_facts(about: PlainConfig) -> PlainConfig:
    """A score's facts. An older version of cse wrote `altered` for `modified`."""
    return {"modified" if key == "altered" else key: value for key, value in about.items()}


@with_config(ConfigDict(strict=True, extra="allow"))
class CheckedResults(TypedDict):
    """The keys of results.json that are checked when it is read. Every reader relies on them.

    A score is a finite number, or None for NaN. true is not a number.
    """

    status: Literal["running", "done", "failed", "interrupted"]
    config: Plain
    metrics: dict[str, Number | None]
    scores: NotRequired[dict[str, Annotated[Plain, AfterValidator(renamed_facts)]]]


Pairs = tuple[list[float], list[float]]
"""Cosines, and the gold scores of the same pairs."""

Cosines = dict[str, dict[str, Pairs]]
"""{"<evaluator>/<task>": {split: pairs}}. The key has no task if the scores name none, and in an older run."""

RUN_TYPE, RESULTS_TYPE, COSINES_TYPE = TypeAdapter(RunFile), TypeAdapter(CheckedResults), TypeAdapter(Cosines)


def read_results(folder: Path) -> Results:
    """results.json; {"status": "broken"}, with a warning, if it cannot be read.

    If the file does not exist: {"status": "running"}, because the run has not written it yet, or was killed before its
    work began.
    """
    try:
        return cast("Results", read_checked(RESULTS_TYPE, folder / RESULTS))
    except FileNotFoundError:
        return {"status": "running"}
    except (OSError, ValueError) as error:
        log.warning("%s: the run is left out (%s)", folder / RESULTS, error)
        return {"status": "broken"}


def read_run_file(file: Path) -> RunFile:
    """The content of a run.yaml. Raises OSError, or ValueError with a reason of one line."""
    return read_checked(RUN_TYPE, file)


def read_cosines(folder: Path, when: Literal["before", "after"]) -> Cosines:
    """The cosines of a run's pairs before or after training. {} if the run kept none.

    {} and a warning if the file has other content.
    """
    return read_or(partial(read_checked, COSINES_TYPE), folder / "plots" / f"cosines_{when}.json", {})


def read_checked(kind: TypeAdapter[T], file: Path) -> T:
    """The content of a JSON or YAML file, checked as this kind.

    Raises OSError, or ValueError with a reason of one line.
    """
    content = file.read_bytes()
    try:
        if file.suffix == ".yaml":
            return kind.validate_python(yaml.load(content, yaml.CSafeLoader))
        return kind.validate_json(content)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"{place}: {first['msg']}" if place else first["msg"]) from error


def read_or(read: Callable[[Path], T], path: Path, empty: T) -> T:
    """The content of a file. `empty` if the file does not exist. `empty` and a warning if the file cannot be read."""
    try:
        return read(path)
    except FileNotFoundError:
        return empty
    except (OSError, ValueError) as error:
        log.warning("%s cannot be read (%s): it is left out", path, error)
        return empty
