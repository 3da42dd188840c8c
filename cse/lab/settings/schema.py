"""The keys of conf/train.yaml and conf/evaluate.yaml that no part takes, with their types (cse.lab.settings.check)."""

from collections.abc import Callable
from typing import Annotated, Literal, NotRequired

from annotated_types import MinLen
from pydantic import AfterValidator, with_config
from typing_extensions import TypedDict

from cse.ranges import STRICT, AnyPooling, Count, Name, Positive, Seed, Split, WhiteningKind, Widths

Part = Callable[..., object]
"""A node with a `_target_`, which is checked against its own signature."""


def without_settings(node: dict[str, object]) -> dict[str, object]:
    """The node. Raises ValueError for settings beside no choice, which nothing would read."""
    if node:
        raise ValueError("has settings, but no choice reads them: choose aux_modality=visual or audio")
    return node


NoPart = Annotated[dict[str, object], AfterValidator(without_settings)]
"""The node of a group without a choice."""


class Jobs(TypedDict):
    """How a sweep runs its jobs."""

    parallel: Count
    fail_fast: bool


class Starting(TypedDict):
    """The keys of conf/train.yaml that say how a line starts its jobs."""

    jobs: Jobs
    dry_run: bool


class Card(TypedDict):
    """What best/'s card says that no file here does."""

    languages: Annotated[list[Name], MinLen(1)] | None
    data_licence: Name | None


class Shared(TypedDict):
    """The keys of both commands."""

    allow_partial: bool
    smoke: bool
    case: str | None
    paths: dict[str, str | None]
    eval: dict[str, Part]
    tracker: dict[str, Part]


class AnyObjective(TypedDict):
    """The keys that conf/train.yaml gives every objective beside those of its signature."""

    widths: Annotated[Widths, MinLen(1)] | None
    width_weights: list[Positive] | None


@with_config(STRICT)
class Train(Shared, Starting):
    """The keys of conf/train.yaml that no part takes."""

    seed: Seed
    rerun: Name | None
    resume: Name | None
    note: str | None
    card: Card
    checkpoint: None
    model: Part
    data: Part
    augmentation: Part
    objective: Part
    masking: Part
    trainer: Part
    aux_modality: Part | NoPart
    choices: NotRequired[dict[str, str]]  # of a run that is resumed, as the next two
    sources: NotRequired[list[str]]
    replaced: NotRequired[dict[str, object]]


class Afterwards(TypedDict):
    """BERT-whitening of the finished embeddings."""

    kind: WhiteningKind | None
    components: Count | None
    fit: Name | None


@with_config(STRICT)
class Evaluate(Shared):
    """The keys of conf/evaluate.yaml that no part takes."""

    checkpoint: Name | None
    model: Part | dict[str, object]
    pooling: AnyPooling | None
    lowercase: bool
    max_length: Count | None
    batch_size: Count
    dtype: Literal["fp32", "bf16", "fp16"]
    splits: Annotated[list[Split], MinLen(1)]
    label: str | None
    whitening: Afterwards
    jobs: Jobs


COMMANDS: dict[str, type] = {"train": Train, "evaluate": Evaluate}

BESIDE: dict[str, type] = {"objective.": AnyObjective}
"""Further keys of a part, beside those of its signature, by the start of its keys."""

BASES = {
    "objective.": "cse.types.Objective",
    "augmentation.": "cse.types.Augmentation",
    "aux_modality.": "cse.types.AuxModality",
    "eval.": "cse.types.Evaluator",
}
"""What a part must inherit, by the start of its keys."""

PASSED = {"objective.": ("dim",), "aux_modality.": ("dim",), "model.": ("dropout", "mlm", "unrecorded")}
"""What cse.lab.run.build passes to a part beside its settings, by the start of its keys."""
