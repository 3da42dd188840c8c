"""The files of a run's folder: the content of each file, key by key, and functions that read the files for a report.

    run.yaml                  RunFile: the run's settings and arguments; written at the start
    results.json              Results: all facts that the run records; rewritten while the run works
    plots/cosines_WHEN.json   Cosines of the evaluators' pairs; WHEN: before or after training
    metrics.jsonl             the events (cse.lab.folder.events); heartbeat.json: the lock (cse.lab.folder.heartbeat)
    items.npz                 the test items behind the scores (cse.eval.items)
    best/                     the encoder, its card, mteb's results (cse.model.export, cse.lab.sharing)
    last/                     the checkpoint for resume= (cse.training.checkpoint)
    scores.csv, .md, .tex     the scores of cse-eval (cse.lab.sharing.score_tables)
    code.patch                the difference between the checkout and its commit
    .hydra/                   the settings and arguments, as Hydra would write them

The types of run.yaml and results.json come first, then the functions that read the files.
"""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NotRequired, TypeVar, cast

import yaml
from pydantic import AfterValidator, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict  # before Python 3.12, pydantic cannot check typing's TypedDict

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
"""The names of the files that most modules read from a run's folder; see the list above."""


class RunFile(TypedDict):
    """The content of run.yaml: the settings of a run, and the arguments of the command that started the run."""

    config: Plain
    words: NotRequired[list[str]]


class EarlierCode(TypedDict, total=False):
    """The code that a run used until a resume with changed code.

    Results has the same keys, except until_step, for the last code.
    """

    until_step: int
    git_commit: str | None
    code: str | None
    own_code: dict[str, str] | None


class TrainedModality(TypedDict, total=False):
    """The images or sound that a run learned from. labels: "true" or "shuffled". loss: the kind of loss."""

    source: str
    kind: str
    items: int
    classes: int
    labels: str
    digest: str
    loss: str


class TrainingData(TypedDict, total=False):
    """The facts about the text that a run learned from; for a published corpus also the facts in the catalogue.

    sha256: {file's name: checksum} of local files, or the checksum of the one published file. sources: the same facts
    for each source of a mixture.
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
    """The facts from the base model's card on the hub."""

    license: str
    language: str | list[str]


class ExportedVectors(TypedDict):
    """The facts about the vectors of best/.

    made: the pooling and the maximum length, in words. kept_head: whether the encoder has the objective's head.
    numbers: the dimension. unit_length: whether the norm is 1. similarity: the base model's similarity function.
    """

    made: str
    kept_head: bool
    numbers: int
    unit_length: bool
    similarity: str


class Results(TypedDict, total=False):
    """The content of results.json: all facts that a run records.

    A run that has just begun, or a run of an older version of cse, has fewer keys.

    The status "broken" is never written: it means that the file cannot be read. None means an unknown value.
    """

    # the state
    status: Literal["running", "done", "failed", "interrupted", "broken"]
    error: str  # why the run ended, if it is not done

    # the command
    config: PlainConfig
    command: str  # the command that started the run
    seed: int | None  # in a run of cse-eval: the seed of the scored run

    # the scores and their data
    metrics: dict[str, float | None]  # every score of the best checkpoint by name, x100; None: NaN
    scores: dict[str, AboutScore]  # the facts about each score
    untrained: Mapping[str, float | None]  # the dev scores of the encoder before training
    items: "KeptItems"  # facts about items.npz
    data: dict[str, Source]  # the data of each evaluator
    overlap: "Overlap | None"  # training texts that are also in the evaluators' data
    truncation: dict[str, dict[str, int]]  # for each evaluator, how many of its texts reach the maximum length

    # the training data and the encoder
    named: dict[str, str]  # checksums of the files and encoders that the settings name
    training_data: TrainingData
    inputs: dict[str, str]  # digests of all training data
    weights: Weights | None
    encoder: str  # the encoder that cse-eval scored, in words
    architecture: str  # the architecture of a trained encoder
    vectors: ExportedVectors
    prompts: dict[str, str]  # the prompts before a text, a query and a document; without empty prompts
    weights_sum: str | None  # checksum of best/'s weights, or of the weights that were scored

    # the code
    git_commit: str | None  # with a "+" if the checkout had changes
    code: str | None  # digest of cse
    own_code: dict[str, str] | None  # digests of the user's modules
    earlier_code: list[EarlierCode]  # the code before each resume with changed code

    # the machine
    versions: dict[str, str]  # versions of Python and of packages
    device: str
    precision: str  # precision of training, or of the encoder that cse-eval scored
    dtype: str  # dtype of the weights that cse-eval scored
    processes: int  # number of processes that train
    earlier_processes: list[int]  # the number before each resume that changed it

    # the progress and the time
    total_steps: int
    steps: int
    best_step: int  # the step of the best checkpoint, which is in best/
    seconds: float  # time of training
    tokens_per_second: float  # speed of training
    wall_seconds: float  # time from the last start to the end
    peak_memory: int  # bytes


def renamed_facts(about: PlainConfig) -> PlainConfig:
    """Return a score's facts with the key `modified`, which an older version of cse wrote as `altered`."""
    return {"modified" if key == "altered" else key: value for key, value in about.items()}


@with_config(ConfigDict(strict=True, extra="allow"))
class CheckedResults(TypedDict):
    """The keys of results.json that are checked when the file is read, because every reader uses them.

    A score is a finite number, or None for NaN. The value true does not count as a number.
    """

    status: Literal["running", "done", "failed", "interrupted"]
    config: Plain
    metrics: dict[str, Number | None]
    scores: NotRequired[dict[str, Annotated[Plain, AfterValidator(renamed_facts)]]]


Pairs = tuple[list[float], list[float]]
"""(cosines of some pairs, gold scores of the same pairs)."""

Cosines = dict[str, dict[str, Pairs]]
"""{"<evaluator>/<task>": {split: pairs}}. In older runs, and for evaluators without tasks, the key is "<evaluator>"."""

RUN_TYPE, RESULTS_TYPE, COSINES_TYPE = TypeAdapter(RunFile), TypeAdapter(CheckedResults), TypeAdapter(Cosines)


def read_results(folder: Path) -> Results:
    """Return the content of a run's results.json.

    If the file cannot be read, return {"status": "broken"} and log a warning. If the file does not exist, return
    {"status": "running"}: the run has not written the file yet, or was killed before its work began.
    """
    try:
        return cast("Results", read_checked(RESULTS_TYPE, folder / RESULTS))
    except FileNotFoundError:
        return {"status": "running"}
    except (OSError, ValueError) as error:
        log.warning("%s: the run counts as failed (%s)", folder / RESULTS, error)
        return {"status": "broken"}


def read_run_file(file: Path) -> RunFile:
    """Return the content of a run.yaml. Raises OSError, or ValueError with a reason of one line."""
    return read_checked(RUN_TYPE, file)


def read_cosines(folder: Path, when: Literal["before", "after"]) -> Cosines:
    """Return the cosines of a run's pairs before or after training, or {} if the run has no such file.

    If the file cannot be read, return {} and log a warning.
    """
    return read_or(partial(read_checked, COSINES_TYPE), folder / "plots" / f"cosines_{when}.json", {})


def read_checked(kind: TypeAdapter[T], file: Path) -> T:
    """Return the content of a JSON or YAML file, checked by the TypeAdapter `kind`.

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
    """Return the content of a file, or `empty` if the file does not exist or cannot be read.

    A warning names a file that exists but cannot be read.
    """
    try:
        return read(path)
    except FileNotFoundError:
        return empty
    except (OSError, ValueError) as error:
        log.warning("%s is ignored, because it cannot be read (%s)", path, error)
        return empty
