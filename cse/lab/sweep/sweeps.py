"""What a line of many runs, and in which folder: a `Sweep` with a YAML, or an `AdHocSweep`, which is all on the line.

A sweep's YAML (sweeps/<paper>/<table>.yaml, the config group `sweep`) holds settings, like any config, and

    hydra.sweeper.params  the axes, in Hydra's notation; on the command line KEY=... replaces an axis
    cases                 {name: [word, ...]}: rows that differ in several settings at once. `case` is then one more
                          axis, over all of them; case=a,b picks some. A case that trains nothing is
                          {program: cse-eval, set: [word, ...]}, with settings of cse-eval only; with
                          `of: PAPER/TABLE/CASE` it scores the run of another sweep's case
    same_runs_as          the sweep whose folder these jobs share, so that one run serves several tables
    search_each           the axes that are not searched: every combination of their values gets its own search
    report                what the runs are compared with (cse.lab.report.paper.spec)

What several tables of a paper share is in a file one folder deeper, which their `defaults` name.

Read in this order: Case and Sweep, whose `job` is made of a case's words and a line's; AdHocSweep; load_sweep.
cse.lab.sweep.names says what decides the name of a job's folder.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from omegaconf import OmegaConf
from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints, ValidationError, model_validator

from cse.errors import UserError
from cse.lab.settings.compose import composed, without_hydra
from cse.lab.settings.grammar import quoted
from cse.lab.settings.groups import SWEEP_KEYS, file_of
from cse.lab.settings.keys import role_of
from cse.lab.settings.schema import Evaluate, Train
from cse.lab.settings.suggest import nearest
from cse.lab.settings.values import SWITCH, Config
from cse.lab.settings.words import RUN_ALONE, Word, merged, values_of
from cse.lab.sweep.job import PlannedJob
from cse.lab.sweep.names import decisive, folder_without_sweep, name_in, name_in_sweep, name_without_sweep

SCORING = {"model", "hydra", *Evaluate.__annotations__}
"""The keys of cse-eval."""
SHARED = {"model", "paths", "smoke", "tracker", "allow_partial"}
"""The keys that cse-eval shares with cse-train."""


class Case(BaseModel):
    """One row. set: words for `program`. of: the PAPER/TABLE/CASE whose run cse-eval scores."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    program: Literal["cse-train", "cse-eval"] = "cse-train"
    of: Annotated[str, StringConstraints(pattern=r"^[^/]+/[^/]+/[^/]+$")] | None = None
    set: list[str] = []

    @model_validator(mode="before")
    @classmethod
    def from_list(cls, content: object) -> object:
        """A plain list is the words of a case that trains."""
        return {"set": content} if isinstance(content, list) else content

    @model_validator(mode="after")
    def check_of(self) -> "Case":
        """Raise ValueError for `of` with another program than cse-eval, which would ignore it."""
        if self.of is not None and self.program != "cse-eval":
            raise ValueError("`of` needs `program: cse-eval`")
        return self

    @property
    def words(self) -> list[Word]:
        """What it sets."""
        return [Word(text, by="sweep") for text in self.set]

    @property
    def is_untrained(self) -> bool:
        """Whether it scores an encoder that no run made, so that one job serves all seeds."""
        return self.program == "cse-eval" and self.of is None


Axes = dict[str, Annotated[str, BeforeValidator(str)]]
"""Values in Hydra's notation, by key."""


class Sweep(BaseModel):
    """A sweep with a YAML: what the file has besides settings; see above."""

    name: str
    params: Axes
    sweeper: str
    cases: dict[str, Case] = {}
    report: Config | None = None
    same_runs_as: str | None = None
    search_each: list[str] = []

    @property
    def word(self) -> str:
        """What names it on a line."""
        return f"sweep={self.name}"

    @property
    def folder(self) -> Path:
        """The PAPER/TABLE whose runs it shares, or its own."""
        return Path(self.same_runs_as or self.name)

    @property
    def is_grid(self) -> bool:
        """Whether its jobs are known before they run; else a search proposes them."""
        return self.sweeper == "basic"

    def folder_of_jobs(self, words: Sequence[Word]) -> Path:
        """The folder of its jobs, relative to the working directory; smoke tests have one apart from real runs."""
        return Path("runs", "smoke" if asks_for_smoke(words) else "", self.folder)

    def shows(self, score: str) -> bool:
        """Whether its report names the score."""
        block = self.report or {}
        return repr(score) in repr([block.get(key) for key in ("rows", "columns", "metric", "select", "figures")])

    def axes(self, typed: Sequence[Word] = ()) -> list[Word]:
        """The axes that no typed word replaces."""
        axes = {"case": ",".join(self.cases)} if self.cases else {}
        axes |= self.params
        for word in typed:
            axes.pop(word.key, None)
        return [Word(f"{key}={values}", by="sweep") for key, values in axes.items()]

    def case_of(self, words: Sequence[Word]) -> Case:
        """The case that the words name; one that sets nothing if they name none. Raises UserError for an unknown."""
        name = values_of(words).get("case")
        if name is not None and name not in self.cases:
            near = nearest(name, list(self.cases))
            has = ", ".join(self.cases) or "none"
            raise UserError(f"case={name} is not a case of sweep={self.name}{near}; it has {has}")
        return Case() if name is None else self.cases[name]

    def job(self, words: Sequence[Word], axes: Sequence[str] = ()) -> PlannedJob:
        """The job of one combination. axes: the keys of its line's axes, which name its folder whatever they decide.

        Raises UserError for an unknown case.
        """
        words = [word for word in words if word.key != "sweep"]
        case = self.case_of(words)
        if case.program == "cse-train":
            return self.training(case, words, axes)
        return self.evaluation(case, words, axes) if case.of is None else self.scoring(case, case.of, words, axes)

    def training(self, case: Case, words: Sequence[Word], axes: Sequence[str]) -> PlannedJob:
        """The job of a case that trains."""
        given = values_of(words)
        own_variant = next((word for word in case.words if word.key == "variant"), None)
        if own_variant and "variant" in given:  # which would take its place
            raise UserError(
                f"variant={given['variant']}: case={given['case']} is {own_variant} itself; case=A,B names the cases "
                "to run"
            )
        settings = merged([*case.words, *words])
        without = [Word(f"~{key}", by="sweep") for key in SWEEP_KEYS if key in self.model_fields_set]
        every = [Word(self.word, by="sweep"), *settings, *without, Word("resume=auto", by="sweep")]
        return PlannedJob(self.name_of_job(words, settings, axes), "cse-train", in_order_of_givers(every))

    def evaluation(self, case: Case, words: Sequence[Word], axes: Sequence[str]) -> PlannedJob:
        """The job of a case that scores an encoder that no run made."""
        words = [word for word in words if root_of(word) in SCORING]
        settings = merged([*case.words, *words])
        return PlannedJob(self.name_of_job(words, settings, axes), "cse-eval", in_order_of_givers(settings))

    def scoring(self, case: Case, of: str, words: Sequence[Word], axes: Sequence[str]) -> PlannedJob:
        """The job of a case that scores the run of another sweep's case. of: that case, PAPER/TABLE/CASE."""
        folder, trained = scored_run(of, words)
        own = [word for word in words if root_of(word) in SCORING and root_of(word) not in ("model", "checkpoint")]
        settings = merged([*case.words, *own])
        checkpoint = Word(f"checkpoint={quoted(str(folder))}", by="sweep")
        name = self.name_of_job(words, settings, axes, f"checkpoint=run:{folder.name}")
        return PlannedJob(name, "cse-eval", in_order_of_givers([checkpoint, *settings]), (folder, trained))

    def name_of_job(self, words: Sequence[Word], settings: Sequence[Word], axes: Sequence[str], *more: str) -> str:
        """The name of a job's folder. words: of its line, to be shown. settings: with those of its case, to be hashed;
        more: so too. `case` stands for its own words."""
        shown = [word for word in decisive(words, axes) if word.key != "case"]
        hashed = [word.text for word in decisive(settings, axes) if word.key != "case"]
        case = values_of(words).get("case", "")
        return name_in_sweep(case, shown, [*more, *hashed], order=list(dict.fromkeys([*self.params, "seed"])))

    def words_beside(self, words: Sequence[Word]) -> list[Word]:
        """The words of a run that change a table and that neither the axes nor its case contain."""
        axes = {"case", "checkpoint", *self.params}
        case = self.cases.get(values_of(words).get("case", ""), Case())
        rest = [word for word in words if not word.text.startswith("~") and word.text not in case.set]
        return [word for word in rest if word.key not in axes and role_of(word.key).changes_a_table]


@dataclass(frozen=True)
class AdHocSweep:
    """The sweep of a line that names none: all that its jobs are is on the line. name: its program."""

    name: str
    word: str = ""
    search_each: tuple[str, ...] = ()

    def axes(self, typed: Sequence[Word]) -> list[Word]:
        """None beside those of the line."""
        return []

    def shows(self, score: str) -> bool:
        """False: it has no report."""
        return False

    def folder_of_jobs(self, words: Sequence[Word]) -> Path:
        """The folder of its jobs, relative to the working directory."""
        return folder_without_sweep(self.name, merged(words), axes_of(words))

    def job(self, words: Sequence[Word], axes: Sequence[str]) -> PlannedJob:
        """The job of one combination. axes: the keys of its line's axes."""
        words = merged(words)
        resume = [Word("resume=auto", by="sweep")] if self.name == "cse-train" else []
        name = name_without_sweep(self.name, words, axes)
        return PlannedJob(name, self.name, in_order_of_givers([*resume, *words]))


def scored_run(of: str, words: Sequence[Word]) -> tuple[Path, PlannedJob]:
    """The folder and the job of another sweep's case. of: PAPER/TABLE/CASE. words: of a line that scores it; what they
    say of training is said of that job."""
    name, _, case = of.rpartition("/")
    training = [word for word in words if root_of(word) not in SCORING - SHARED]
    sweep = load_sweep(name)
    job = sweep.job([Word(f"case={case}", by="sweep"), *training])
    folder = sweep.folder_of_jobs(training).absolute()
    return folder / name_in(folder, job.name, case), job


def in_order_of_givers(words: Sequence[Word]) -> list[Word]:
    """A job's words: a sweep's, RUN_ALONE, then a person's. By this order recorded_words knows who gave each."""
    given = [word for word in words if word.by == "sweep"]
    return [*given, RUN_ALONE, *(word for word in words if word.by == "person")]


def axes_of(words: Sequence[Word]) -> list[str]:
    """The keys with several values, in order."""
    return list(dict.fromkeys(word.key for word in words if word.is_axis))


def root_of(word: Word) -> str:
    """`trainer` of `trainer.lr=1e-5`."""
    return word.key.partition(".")[0]


def load_sweep(name: str) -> Sweep:
    """The sweep of that name. Raises UserError for an unknown name, or a wrong value of one of SWEEP_KEYS."""
    config = composed("train", [f"sweep={name}"])
    content: Config = OmegaConf.to_container(without_hydra(config))  # type: ignore[assignment]
    if unknown := sorted(content.keys() - {*SWEEP_KEYS, *Train.__annotations__}):
        near = nearest(unknown[0], [*SWEEP_KEYS, *Train.__annotations__])
        raise UserError(f"{file_of('sweep', name)}: there is no key {unknown[0]}{near}")
    sweeper = config.hydra.sweeper
    try:
        return Sweep(
            name=name,
            params=dict(sweeper.params or {}),
            sweeper=config.hydra.runtime.choices["hydra/sweeper"],
            **{key: content[key] for key in SWEEP_KEYS if key in content},
        )
    except ValidationError as error:
        wrong = error.errors()[0]
        where = ".".join(str(part) for part in wrong["loc"])
        raise UserError(f"{file_of('sweep', name)}: {where}: {wrong['msg']}") from None


def asks_for_smoke(words: Sequence[Word]) -> bool:
    """Whether a line's words make its jobs smoke tests."""
    return bool(SWITCH.get(values_of(words).get("smoke", "").lower()))
