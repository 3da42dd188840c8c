"""A case of a sweep, and the job that a command makes of it.

A Case is what the sweep's YAML has. There are three kinds of job: Training; EncoderScoring, of an encoder that no run
made; RunScoring, of the run of another sweep's case. Each says which of a command's arguments its program takes, and
which of them the name of its folder shows and hashes (see cse.lab.sweep.names).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints, model_validator

from cse.errors import UserError
from cse.lab.settings.arguments import Argument, merged, quoted, texts_of, values_of
from cse.lab.settings.schema import Evaluate
from cse.lab.sweep.job import ScoredRun
from cse.lab.sweep.names import decisive, folder_name

KEYS_OF_EVAL = {"model", "hydra", *Evaluate.__annotations__}
"""The keys of cse-eval."""
KEYS_OF_EVAL_ALONE = KEYS_OF_EVAL - {"model", "paths", "smoke", "tracker", "allow_partial"}
"""The keys of cse-eval that a command gives to its scoring jobs alone, not to the runs that they score."""


class Case(BaseModel):
    """One row. set: arguments of `program`. of: the PAPER/TABLE/CASE whose run cse-eval scores."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    program: Literal["cse-train", "cse-eval"] = "cse-train"
    of: Annotated[str, StringConstraints(pattern=r"^[^/]+/[^/]+/[^/]+$")] | None = None
    set: list[str] = []

    @model_validator(mode="before")
    @classmethod
    def from_list(cls, content: object) -> object:
        """A plain list has the arguments of a case that trains."""
        return {"set": content} if isinstance(content, list) else content

    @model_validator(mode="after")
    def check_of(self) -> "Case":
        """Raise ValueError for `of` with another program than cse-eval, which would ignore it."""
        if self.of is not None and self.program != "cse-eval":
            raise ValueError("`of` needs `program: cse-eval`")
        return self

    @property
    def arguments(self) -> list[Argument]:
        """What it sets."""
        return [Argument(text, by="sweep") for text in self.set]

    @property
    def is_untrained(self) -> bool:
        """Whether it scores an encoder that no run made, so that one job serves all seeds."""
        return self.program == "cse-eval" and self.of is None


@dataclass(frozen=True)
class CaseJob:
    """The job of a case. given: the values of its sweep's axes, and a command's arguments for jobs."""

    case: Case
    given: Sequence[Argument]

    @property
    def taken(self) -> list[Argument]:
        """The given arguments that its program takes."""
        return list(self.given)

    @property
    def settings(self) -> list[Argument]:
        """The arguments of its case, overridden by the given ones."""
        return merged([*self.case.arguments, *self.taken])

    @property
    def arguments(self) -> list[Argument]:
        """All of its program's arguments."""
        return self.settings

    @property
    def shown(self) -> list[Argument]:
        """The arguments that its name shows."""
        return self.taken

    @property
    def hashed(self) -> list[Argument]:
        """The arguments in the hash of its name."""
        return self.settings

    @property
    def scores(self) -> ScoredRun | None:
        """The run that it scores."""
        return None

    @property
    def case_name(self) -> str:
        """The name of its case; "" for a sweep without cases."""
        return values_of(self.given).get("case", "")

    def name(self, axis_keys: Sequence[str], order: Sequence[str]) -> str:
        """The name of its folder: its case, which stands for the case's arguments, the others in short, and a hash.

        axis_keys: as of cse.lab.sweep.names.decisive. order: the keys that are shown first, in this order.
        """
        shown = [argument for argument in decisive(self.shown, axis_keys) if argument.key != "case"]
        hashed = [argument for argument in decisive(self.hashed, axis_keys) if argument.key != "case"]
        first = [argument for key in order for argument in shown if argument.key == key]
        rest = sorted((argument for argument in shown if argument.key not in order), key=lambda argument: argument.key)
        return folder_name([*first, *rest], texts_of(hashed), first=self.case_name)


@dataclass(frozen=True)
class Training(CaseJob):
    """The job of a case that trains. sweep: the argument that names its sweep. without: the keys of the sweep's YAML
    that are no settings of a run.

    Raises UserError for a variant that would replace the case's own.
    """

    sweep: str
    without: Sequence[str]

    def __post_init__(self) -> None:
        variant = values_of(self.given).get("variant")
        for argument in self.case.arguments:
            if argument.key == "variant" and variant is not None:
                raise UserError(
                    f"variant={variant}: case={self.case_name} is {argument} itself; case=A,B names the cases to run"
                )

    @property
    def arguments(self) -> list[Argument]:
        """All of cse-train's arguments."""
        without = [Argument(f"~{key}", by="sweep") for key in self.without]
        return [Argument(self.sweep, by="sweep"), *self.settings, *without, Argument("resume=auto", by="sweep")]


@dataclass(frozen=True)
class EncoderScoring(CaseJob):
    """The job of a case that scores an encoder that no run made."""

    @property
    def taken(self) -> list[Argument]:
        """The given arguments that cse-eval takes."""
        return [argument for argument in self.given if argument.root in KEYS_OF_EVAL]


@dataclass(frozen=True)
class RunScoring(CaseJob):
    """The job of a case that scores a run."""

    run: ScoredRun

    @property
    def taken(self) -> list[Argument]:
        """The given arguments that cse-eval takes, but for an encoder: it scores the run's."""
        return [argument for argument in self.given if argument.root in KEYS_OF_EVAL - {"model", "checkpoint"}]

    @property
    def arguments(self) -> list[Argument]:
        """All of cse-eval's arguments."""
        return [Argument(f"checkpoint={quoted(str(self.run.folder))}", by="sweep"), *self.settings]

    @property
    def shown(self) -> list[Argument]:
        """The arguments that its name shows, among them the settings of the run."""
        return list(self.given)

    @property
    def hashed(self) -> list[Argument]:
        """The arguments in the hash of its name. The run is there by its name, as its folder may be moved."""
        return [Argument(f"checkpoint=run:{self.run.folder.name}"), *self.settings]

    @property
    def scores(self) -> ScoredRun:
        """The run that it scores."""
        return self.run


def for_scored_run(arguments: Sequence[Argument]) -> list[Argument]:
    """The arguments of a command that the run takes which its job scores."""
    return [argument for argument in arguments if argument.root not in KEYS_OF_EVAL_ALONE]
