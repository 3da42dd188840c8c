"""The jobs of a sweep: the words of each, and the name of its folder, which says what it runs.

A sweep's YAML (sweeps/<paper>/<table>.yaml, the config group `sweep`) holds settings, like any config, and

    hydra.sweeper.params  the axes, in Hydra's notation; on the command line KEY=... replaces an axis
    cases                 {name: [word, ...]}: rows that differ in several settings at once. `case` is then one more
                          axis, over all of them; case=a,b picks some. A case that trains nothing is
                          {program: cse-eval, set: [word, ...]}, with settings of cse-eval only; with
                          `of: PAPER/TABLE/CASE` it scores the run of another sweep's case
    same_runs_as          the sweep whose folder these jobs share, so that one run serves several tables
    search_each           the axes that are not searched: every combination of their values gets its own search
    report                what the runs are compared with (cse.lab.report.spec)

What several tables of a paper share is in a file one folder deeper, which their `defaults` name.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from omegaconf import DictConfig, OmegaConf
from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints, ValidationError, model_validator

from cse.errors import UserError
from cse.lab.run.build import check_selection, rehearse
from cse.lab.run.steps import steps_in_words
from cse.lab.settings.check import validate
from cse.lab.settings.compose import SWITCH, composed, without_hydra
from cse.lab.settings.dotted import Config
from cse.lab.settings.grammar import quoted
from cse.lab.settings.groups import PROGRAMS, SWEEP_KEYS, file_of
from cse.lab.settings.keys import role_of
from cse.lab.settings.schema import Evaluate, Train
from cse.lab.settings.shell import shell_line
from cse.lab.settings.suggest import nearest
from cse.lab.settings.words import RUN_ALONE, Word, merged, texts_of, typed_keys, values_of
from cse.lab.sweep.grid import name_in, short_name

CONFIGS = {program: config for config, program in PROGRAMS.items()}
"""The config that each program composes."""

SCORING = {"model", "hydra", *Evaluate.__annotations__}  # the keys of cse-eval
SHARED = {"model", "paths", "smoke", "tracker", "allow_partial"}  # keys that cse-eval shares with cse-train


@dataclass(frozen=True)
class PlannedJob:
    """One run of a line of many, whose own process makes it a cse.lab.run.job.Job. name: of its folder.

    words: for `program` (cse-train or cse-eval), without the folder; the sweep's, then those that were typed.
    scores: the folder of the run that it scores and the job that makes that run; None if it scores no run.
    """

    name: str
    program: str
    words: list[Word]
    scores: "tuple[Path, PlannedJob] | None" = None

    @cached_property
    def config(self) -> DictConfig:
        """Its config, with the node `hydra`, composed once. Of a smoke test, whose own process makes its sizes small,
        that of the run that it stands for."""
        return composed(CONFIGS[self.program], texts_of(self.words))

    @property
    def but_for_seed(self) -> tuple[str, ...]:
        """What jobs have in common that differ in their seed alone: one of them tells how all will end, and in how many
        steps."""
        return (self.program, *(word.text for word in self.words if word.key not in ("seed", "case")))

    @property
    def devices(self) -> int:
        """How many devices it works on; 1 if its own process will refuse what it was given."""
        if self.program != "cse-train" or (self.config.smoke and "trainer.devices" not in typed_keys(self.words)):
            return 1
        devices = self.config.trainer.devices
        return devices if isinstance(devices, int) else 1

    @property
    def steps(self) -> str:
        """How many steps it makes, for a table."""
        if self.program != "cse-train":
            return "only scored"
        return "a smoke test" if self.config.smoke else steps_in_words(self.config)

    @property
    def line_of_sweep(self) -> str:
        """The line that makes this job of its sweep, and no other."""
        keys = ("sweep", "case", "seed", "smoke")
        return shell_line(self.program, *(word.text for word in self.words if word.key in keys))

    def check(self) -> None:
        """Check all its settings. Raises UserError, or OmegaConf's error for a reference to no key."""
        validate(self.config, CONFIGS[self.program])
        if self.program == "cse-train" and not self.config.smoke:  # a smoke test selects by a score of its own
            check_selection(self.config)

    def rehearse(self) -> None:
        """Raise the UserError that it would end with before its first step, but for what its data or weights add."""
        self.check()
        if self.program == "cse-train" and not self.config.smoke:  # a smoke test has sizes of its own
            rehearse(self.config)


def one_of_each(planned: Iterable[PlannedJob]) -> list[PlannedJob]:
    """The jobs without those that differ from an earlier one in their seed alone."""
    first: dict[tuple[str, ...], PlannedJob] = {}
    for job in planned:
        first.setdefault(job.but_for_seed, job)
    return list(first.values())


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
    """What a sweep's YAML has besides settings; see above."""

    name: str
    params: Axes
    sweeper: str  # basic: a grid
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
    def settings(self) -> tuple[str, ...]:
        """The config keys in which its jobs differ; of a search, whose trials are not compared, the fixed ones."""
        keys = self.params if self.sweeper == "basic" else self.search_each
        return tuple(dict.fromkeys([*(["case"] if self.cases else []), *keys]))

    def place(self, words: Sequence[Word]) -> Path:
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
        if case.program == "cse-eval":
            return self.evaluation(case, words, axes)
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
        name = self.folder_name(words, texts_of(decisive(settings, axes)), axes)
        return PlannedJob(name, "cse-train", typed_last(every))

    def evaluation(self, case: Case, words: list[Word], axes: Sequence[str]) -> PlannedJob:
        """The job of a case that scores an encoder, or the run of the other sweep's case that `of` names."""
        scoring = [word for word in words if root_of(word) in SCORING]
        if case.of is None:
            settings = merged([*case.words, *scoring])
            name = self.folder_name(scoring, texts_of(decisive(settings, axes)), axes)
            return PlannedJob(name, "cse-eval", typed_last(settings))
        folder, trained = scored_run(case.of, words)
        settings = merged([*case.words, *(word for word in scoring if root_of(word) not in ("model", "checkpoint"))])
        hashed = [f"checkpoint=run:{folder.name}", *texts_of(decisive(settings, axes))]
        checkpoint = Word(f"checkpoint={quoted(str(folder))}", by="sweep")
        name = self.folder_name(words, hashed, axes)
        return PlannedJob(name, "cse-eval", typed_last([checkpoint, *settings]), (folder, trained))

    def departures(self, words: Sequence[Word]) -> list[Word]:
        """The words of a run that change a table and that neither the axes nor its case contain."""
        axes = {"case", "checkpoint", *self.params}
        case = self.cases.get(values_of(words).get("case", ""), Case())
        rest = [word for word in words if not word.text.startswith("~") and word.text not in case.set]
        return [word for word in rest if word.key not in axes and role_of(word.key).changes_a_table]

    def folder_name(self, words: Sequence[Word], hashed: Sequence[str], axes: Sequence[str]) -> str:
        """A folder's name (see cse.lab.sweep.grid): the case, then what the line's words decide, axes first.

        hashed: all that decides what is in the folder, also the words of its case.
        """
        place = {key: place for place, key in enumerate(dict.fromkeys([*self.params, "seed"]))}
        shown = decisive(words, axes)
        shown.sort(key=lambda word: (place.get(word.key, len(place)), word.key))
        return short_name(shown, hashed, first=values_of(words).get("case", ""))


def scored_run(of: str, words: Sequence[Word]) -> tuple[Path, PlannedJob]:
    """The folder and the job of another sweep's case. of: PAPER/TABLE/CASE. words: of a line that scores it; what they
    say of training is said of that job."""
    name, _, case = of.rpartition("/")
    training = [word for word in words if root_of(word) not in SCORING - SHARED]
    sweep = load_sweep(name)
    job = sweep.job([Word(f"case={case}", by="sweep"), *training])
    place = sweep.place(training).absolute()
    return place / name_in(place, job.name, case), job


def decisive(words: Sequence[Word], axes: Sequence[str]) -> list[Word]:
    """The words that decide what a job runs, and those of its line's axes; `case` stands for its own words."""
    return [word for word in words if (role_of(word.key).names_a_job or word.key in axes) and word.key != "case"]


def typed_last(words: Sequence[Word]) -> list[Word]:
    """A job's words in the order in which recorded_words tells who gave each."""
    given = [word for word in words if word.by == "sweep"]
    return [*given, RUN_ALONE, *(word for word in words if word.by == "person")]


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
