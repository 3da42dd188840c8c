"""The keys of conf/train.yaml and conf/evaluate.yaml that no part takes, with the type and the marks of each key.

cse.lab.settings.check reads the types. cse.lab.settings.roles reads the marks (cse.ranges.Mark).
"""

from collections.abc import Callable
from typing import Annotated, Literal, NotRequired

from annotated_types import MinLen
from pydantic import AfterValidator, with_config
from typing_extensions import TypedDict

from cse.ranges import (
    STRICT,
    AnyPooling,
    Count,
    EncoderName,
    File,
    Folder,
    Mark,
    Name,
    Positive,
    Seed,
    Sentence,
    Split,
    WhiteningKind,
    Widths,
)

Part = Callable[..., object]
"""A mapping with a `_target_`. It is checked against the signature of the class or function that `_target_` names."""


def check_empty(node: dict[str, object]) -> dict[str, object]:
    """Return the empty node of a group without a choice.

    Raises ValueError if the node has settings, because nothing would read them.
    """
    if node:
        raise ValueError("has settings, but no choice reads them: choose aux_modality=visual or audio")
    return node


NoPart = Annotated[dict[str, object], AfterValidator(check_empty)]
"""The node of a group without a choice."""


class Jobs(TypedDict):
    """The settings on how a sweep runs its jobs."""

    parallel: Count
    fail_fast: bool


class Starting(TypedDict):
    """The keys on how a command starts its jobs."""

    jobs: Annotated[Jobs, Mark.BOOKKEEPING, Mark.START]
    dry_run: Annotated[bool, Mark.BOOKKEEPING, Mark.START, Mark.ONCE]


class Card(TypedDict):
    """The settings of the model card in best/."""

    languages: Annotated[list[Name], MinLen(1)] | None
    data_licence: Annotated[Sentence, MinLen(1)] | None


class Note(TypedDict):
    """A text that a run logs if it has these settings. when: {dotted key: value}."""

    when: dict[str, str]
    text: Sentence


class Shared(TypedDict):
    """The keys that no part takes and that both cse-train and cse-eval have."""

    allow_partial: Annotated[bool, Mark.MACHINE, Mark.NAMED, Mark.REPEATED]  # accept incomplete data (Score.modified)
    smoke: Annotated[bool, Mark.UNFIXED]
    case: Annotated[str | None, Mark.UNFIXED]  # the name of a case, which sets several keys
    paths: dict[str, Folder | None]
    eval: Annotated[dict[str, Part], Mark.UNFIXED, Mark.HARMLESS]  # adds or removes scores; changes no other score
    tracker: Annotated[dict[str, Part], Mark.LOGGING]


@with_config(STRICT)
class Train(Shared, Starting):
    """The keys of conf/train.yaml that no part takes."""

    seed: Seed
    rerun: Annotated[Folder | None, Mark.BOOKKEEPING, Mark.ONCE]
    resume: Annotated[Folder | None, Mark.BOOKKEEPING, Mark.ONCE]
    note: Annotated[Sentence | list[Note] | None, Mark.LOGGING, Mark.NAMED]
    card: Annotated[Card, Mark.LOGGING]
    checkpoint: None
    model: Part
    data: Part
    augmentation: Part
    objective: Part
    masking: Part
    trainer: Part
    aux_modality: Part | NoPart
    # the run itself adds the next three keys after this check, so here only a resumed run has them
    choices: NotRequired[Annotated[dict[str, str], Mark.LOGGING, Mark.RECORDED]]
    sources: NotRequired[Annotated[list[str], Mark.LOGGING, Mark.RECORDED]]
    replaced: NotRequired[Annotated[dict[str, object], Mark.LOGGING, Mark.RECORDED]]


class Whitening(TypedDict):
    """The settings of BERT-whitening, which whitens the finished embeddings."""

    kind: WhiteningKind | None
    components: Count | None
    fit: Annotated[File | None, Mark.SUMMED]


@with_config(STRICT)
class Evaluate(Shared, Starting):
    """The keys of conf/evaluate.yaml that no part takes."""

    checkpoint: Annotated[EncoderName | None, Mark.UNFIXED]
    model: Part | dict[str, object]
    pooling: AnyPooling | None
    lowercase: bool
    max_length: Count | None
    batch_size: Count
    dtype: Literal["fp32", "bf16", "fp16"]
    splits: Annotated[list[Split], MinLen(1)]
    label: Annotated[Sentence | None, Mark.LOGGING]
    whitening: Whitening


class ObjectiveExtras(TypedDict):
    """The keys that every objective has in conf/train.yaml in addition to the keys of its signature."""

    widths: Annotated[Widths, MinLen(1)] | None
    width_weights: list[Positive] | None


# Keys for which this module has only marks


class Paths(TypedDict):
    """The marks of paths.cache. The cache has no data of the user: its content can be made again."""

    cache: Annotated[Folder | None, Mark.MACHINE]


class HydraSettings(TypedDict):
    """The marks of Hydra's own settings."""

    launcher: Annotated[object, Mark.BOOKKEEPING, Mark.START]
    sweeper: Annotated[object, Mark.BOOKKEEPING, Mark.START]
    mode: Annotated[object, Mark.BOOKKEEPING, Mark.START]
    run: Annotated[dict[str, Folder], Mark.BOOKKEEPING, Mark.START]
    sweep: Annotated[dict[str, Folder], Mark.BOOKKEEPING, Mark.START]


class OnlyMarks(TypedDict):
    """The marks of keys whose types are checked elsewhere: paths by Shared, sweep by cse.lab.sweep, hydra by Hydra."""

    sweep: Annotated[str, Mark.BOOKKEEPING, Mark.START, Mark.REPEATED]
    paths: Annotated[Paths | dict[str, Folder | None], Mark.MACHINE, Mark.NAMED, Mark.REPEATED]
    hydra: Annotated[HydraSettings, Mark.LOGGING]
