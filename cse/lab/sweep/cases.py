"""A case of a sweep, and the job that a command makes of it.

A Case is what the sweep's YAML has. It trains, or scores an encoder that no run made, or scores the run of another
sweep's case: `training`, `encoder_scoring` and `run_scoring` make the CaseJob. Each chooses which of the command's
arguments its program takes, and which the name of the job's folder shows and hashes (see cse.lab.sweep.names).
"""

from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, StringConstraints, model_validator

from cse.errors import UserError
from cse.lab.settings.arguments import Argument, merged, quoted, values_of
from cse.lab.settings.schema import Evaluate
from cse.lab.sweep.job import ScoredRun

KEYS_OF_EVAL = {"model", "hydra", *Evaluate.__annotations__}
"""The keys of cse-eval."""
KEYS_OF_EVAL_ALONE = KEYS_OF_EVAL - {"model", "paths", "smoke", "tracker", "allow_partial"}
"""The keys of cse-eval that a command gives to its scoring jobs alone, not to the runs that they score."""


class Case(BaseModel):
    """One row of a sweep. set: arguments of `program`. of: the PAPER/TABLE/CASE whose run cse-eval scores."""

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
        """The arguments that the case sets."""
        return [Argument(text, by="sweep") for text in self.set]

    @property
    def is_untrained(self) -> bool:
        """Whether it scores an encoder that no run made, so that one job serves all seeds."""
        return self.program == "cse-eval" and self.of is None


class CaseJob(NamedTuple):
    """The job of a case, before it has a name.

    arguments: all arguments of its program. shown, hashed: the arguments that make the name of its folder. scores: the
    run that it scores.
    """

    arguments: list[Argument]
    shown: list[Argument]
    hashed: list[Argument]
    scores: ScoredRun | None = None


def training(case: Case, given: Sequence[Argument], sweep: str, own_keys: Sequence[str]) -> CaseJob:
    """The job of a case that trains. given: the values of its sweep's axes, and a command's arguments for jobs.

    sweep: the argument that names its sweep. own_keys: the keys of the sweep's YAML that are no settings of a run.
    Raises UserError for a variant that would replace the case's own.
    """
    values = values_of(given)
    for argument in case.arguments:
        if argument.key == "variant" and "variant" in values:
            name = values.get("case", "")
            raise UserError(
                f"variant={values['variant']}: case={name} is {argument} itself; case=A,B names the cases to run"
            )
    settings = merged([*case.arguments, *given])
    without = [Argument(f"~{key}", by="sweep") for key in own_keys]
    arguments = [Argument(sweep, by="sweep"), *settings, *without, Argument("resume=auto", by="sweep")]
    return CaseJob(arguments, shown=list(given), hashed=settings)


def encoder_scoring(case: Case, given: Sequence[Argument]) -> CaseJob:
    """The job of a case that scores an encoder that no run made. given: see `training`."""
    taken = [argument for argument in given if argument.root in KEYS_OF_EVAL]
    settings = merged([*case.arguments, *taken])
    return CaseJob(settings, shown=taken, hashed=settings)


def run_scoring(case: Case, given: Sequence[Argument], run: ScoredRun) -> CaseJob:
    """The job of a case that scores a run. Its name shows the settings of the run, too. given: see `training`."""
    taken = [argument for argument in given if argument.root in KEYS_OF_EVAL - {"model", "checkpoint"}]
    settings = merged([*case.arguments, *taken])
    folder = Argument(f"checkpoint={quoted(str(run.folder))}", by="sweep")
    name = Argument(f"checkpoint=run:{run.folder.name}")  # its folder may be moved
    return CaseJob([folder, *settings], shown=list(given), hashed=[name, *settings], scores=run)


def for_scored_run(arguments: Sequence[Argument]) -> list[Argument]:
    """The arguments of a command that scores a run which belong to the run, too."""
    return [argument for argument in arguments if argument.root not in KEYS_OF_EVAL_ALONE]
