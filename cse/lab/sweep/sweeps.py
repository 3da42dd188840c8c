"""What a command of several jobs runs, and in which folder: a `Sweep`, which has a YAML, or an `AdHocSweep`, which is
all on the command line.

A sweep's YAML (sweeps/<paper>/<table>.yaml, the config group `sweep`) holds settings, like any config, and

    hydra.sweeper.params  the axes, in Hydra's notation; on the command line KEY=... replaces an axis
    cases                 {name: [argument, ...]}: rows that differ in several settings at once. `case` is then one more
                          axis, over all of them; case=a,b picks some. A case that trains nothing is
                          {program: cse-eval, set: [argument, ...]}, with settings of cse-eval only; with
                          `of: PAPER/TABLE/CASE` it scores the run of another sweep's case
    same_runs_as          the sweep whose folder these jobs share, so that one run serves several tables
    search_each           the axes that are not searched: every combination of their values gets its own search
    report                what the runs are compared with (cse.lab.report.paper.report_block)

What several tables of a paper share is in a file one folder deeper, which their `defaults` name.

Read in this order: Sweep, whose `job` makes a job of a case and of a command's arguments (cse.lab.sweep.cases);
AdHocSweep; load_sweep. cse.lab.sweep.names says what decides the name of a job's folder.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from omegaconf import OmegaConf
from pydantic import BaseModel, BeforeValidator, ValidationError

from cse.errors import UserError
from cse.lab.settings.arguments import RUN_ALONE, Argument, merged, spell_argument, texts_of, values_of
from cse.lab.settings.compose import composed, without_hydra
from cse.lab.settings.groups import SWEEP_KEYS, file_of
from cse.lab.settings.lookup import nearest
from cse.lab.settings.roles import role_of
from cse.lab.settings.schema import Train
from cse.lab.settings.values import BOOLEANS, PlainConfig
from cse.lab.sweep.cases import Case, CaseJob, encoder_scoring, for_scored_run, run_scoring, training
from cse.lab.sweep.job import PlannedJob, ScoredRun
from cse.lab.sweep.names import decisive, existing_name, folder_name


class Sweep(BaseModel):
    """A sweep with a YAML: PAPER/TABLE, and what the file has besides settings; see above.

    params: the values of each axis, in Hydra's notation, by key.
    """

    name: str
    params: dict[str, Annotated[str, BeforeValidator(str)]]
    sweeper: str
    cases: dict[str, Case] = {}
    report: PlainConfig | None = None
    same_runs_as: str | None = None
    search_each: list[str] = []

    @property
    def argument(self) -> str:
        """The argument that names the sweep; "" for an AdHocSweep."""
        return f"sweep={self.name}"

    @property
    def folder(self) -> Path:
        """The PAPER/TABLE whose runs the sweep shares, or its own."""
        return Path(self.same_runs_as or self.name)

    @property
    def is_grid(self) -> bool:
        """Whether its jobs are known before they run; else a search proposes them."""
        return self.sweeper == "basic"

    def folder_of_jobs(self, arguments: Sequence[Argument]) -> Path:
        """The folder of its jobs, relative to the working directory. Smoke tests have a folder of their own.

        arguments: the jobs' arguments.
        """
        return Path("runs", "smoke" if asks_for_smoke(arguments) else "", self.folder)

    @property
    def names_in_report(self) -> Set[str]:
        """The names in its report: of scores, settings and figures."""
        block = self.report or {}
        return texts_in([block.get(key) for key in ("rows", "columns", "metric", "select", "figures")])

    def axes(self, given: Sequence[Argument] = ()) -> list[Argument]:
        """The axes of its file that no given argument replaces."""
        axes = {"case": ",".join(self.cases)} if self.cases else {}
        axes |= self.params
        for argument in given:
            axes.pop(argument.key, None)
        return [Argument(f"{key}={values}", by="sweep") for key, values in axes.items()]

    def case_of(self, arguments: Sequence[Argument]) -> Case:
        """The case that the arguments name, else a case that sets nothing. Raises UserError for an unknown name."""
        name = values_of(arguments).get("case")
        if name is not None and name not in self.cases:
            near = nearest(name, list(self.cases))
            has = ", ".join(self.cases) or "none"
            raise UserError(f"case={name} is not a case of sweep={self.name}{near}; it has {has}")
        return Case() if name is None else self.cases[name]

    def job(self, arguments: Sequence[Argument], folder: Path, axis_keys: Sequence[str] = ()) -> PlannedJob:
        """The job of one combination of values, with the name that `folder` has for it, if it has one.

        folder: the folder of the command's jobs. axis_keys: the keys of the command's axes, which always name a job's
        folder. Raises UserError for an unknown case.
        """
        given = [argument for argument in arguments if argument.key != "sweep"]
        case, case_name = self.case_of(given), values_of(given).get("case", "")
        job = self.job_of_case(case, given, folder)
        name = self.name_of(job, case_name, axis_keys)
        return PlannedJob(
            name=existing_name(folder, name, case_name, self.cases),
            program=case.program,
            arguments=[*job.arguments, RUN_ALONE],
            scores=job.scores,
        )

    def job_of_case(self, case: Case, given: Sequence[Argument], folder: Path) -> CaseJob:
        """The job of a case, by its kind."""
        if case.program == "cse-train":
            return training(case, given, self.argument, [key for key in SWEEP_KEYS if key in self.model_fields_set])
        if case.of is None:
            return encoder_scoring(case, given)
        return run_scoring(case, given, self.scored_run(case.of, given, folder))

    def name_of(self, job: CaseJob, case: str, axis_keys: Sequence[str]) -> str:
        """The name of a job's folder: the case, which stands for the case's arguments, the others in short, and a hash.

        The sweep's own axes come first, then the seed.
        """
        shown = [argument for argument in decisive(job.shown, axis_keys) if argument.key != "case"]
        hashed = [argument for argument in decisive(job.hashed, axis_keys) if argument.key != "case"]
        order = dict.fromkeys([*self.params, "seed"])
        first = [argument for key in order for argument in shown if argument.key == key]
        rest = sorted((argument for argument in shown if argument.key not in order), key=lambda argument: argument.key)
        return folder_name([*first, *rest], texts_of(hashed), first=case)

    def scored_run(self, place_of_case: str, arguments: Sequence[Argument], folder: Path) -> ScoredRun:
        """The run that a case of this sweep scores. place_of_case: PAPER/TABLE/CASE.

        arguments: the arguments of the command that scores the run; the run has its settings of training. folder: the
        folder of the command's jobs, which holds the run, too, if both sweeps share a folder.
        """
        name, _, case = place_of_case.rpartition("/")
        given = for_scored_run(arguments)
        sweep = load_sweep(name)
        default = sweep.folder_of_jobs(given)
        place = folder if sweep.folder == self.folder else default
        elsewhere = [Argument(spell_argument("hydra.sweep.dir", str(place)), by="sweep")] if place != default else []
        job = sweep.job([Argument(f"case={case}", by="sweep"), *given, *elsewhere], place)
        return ScoredRun(place.absolute() / job.name, job)

    def further_arguments(self, arguments: Sequence[Argument]) -> list[Argument]:
        """The arguments of a run that change a table, without its axes and the arguments of its case."""
        axis_keys = {"case", "checkpoint", *self.params}
        case = self.cases.get(values_of(arguments).get("case", ""), Case())
        rest = [argument for argument in arguments if not argument.deletes and argument.text not in case.set]
        return [
            argument for argument in rest if argument.key not in axis_keys and role_of(argument.key).changes_a_table
        ]


@dataclass(frozen=True)
class AdHocSweep:
    """The sweep of a command that names none: the command line has everything. name: the jobs' program."""

    name: str
    argument: str = ""
    search_each: tuple[str, ...] = ()
    names_in_report: frozenset[str] = frozenset()

    def axes(self, given: Sequence[Argument]) -> list[Argument]:
        """[]: it has no file."""
        return []

    def folder_of_jobs(self, arguments: Sequence[Argument]) -> Path:
        """The folder of its jobs, relative to the working directory. arguments: the jobs' arguments."""
        axis_keys = axis_keys_of(arguments)
        fixed = [argument for argument in decisive(merged(arguments), []) if argument.key not in axis_keys]
        axes = "+".join(key.split(".")[-1].split("/")[-1] for key in axis_keys)
        shown = sorted(fixed, key=lambda argument: argument.key)
        name = folder_name(shown, [self.name, *axis_keys, *texts_of(fixed)], first=axes)
        return Path("multirun", existing_name(Path("multirun"), name))

    def job(self, arguments: Sequence[Argument], folder: Path, axis_keys: Sequence[str] = ()) -> PlannedJob:
        """See Sweep.job. The job's name shows the axes; without axes it shows all arguments that decide its numbers."""
        arguments = merged(arguments)
        hashed = decisive(arguments, axis_keys)
        axes = [argument for key in axis_keys for argument in arguments if argument.key == key]
        name = folder_name(axes or hashed, [self.name, *texts_of(hashed)])
        resume = [Argument("resume=auto", by="sweep")] if self.name == "cse-train" else []
        return PlannedJob(existing_name(folder, name), self.name, [*resume, *arguments, RUN_ALONE])


AnySweep = Sweep | AdHocSweep
"""The sweep of a command, with a YAML or without."""


def axis_keys_of(arguments: Sequence[Argument]) -> list[str]:
    """The keys that have several values, in order."""
    return list(dict.fromkeys(argument.key for argument in arguments if argument.is_axis))


def load_sweep(name: str) -> Sweep:
    """The sweep of that name. Raises UserError for an unknown name, or a wrong value of one of SWEEP_KEYS."""
    config = composed("train", [f"sweep={name}"])
    content: PlainConfig = OmegaConf.to_container(without_hydra(config))  # type: ignore[assignment]
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


def asks_for_smoke(arguments: Sequence[Argument]) -> bool:
    """Whether a command's arguments make its jobs smoke tests."""
    return bool(BOOLEANS.get(values_of(arguments).get("smoke", "").lower()))


def texts_in(node: object) -> set[str]:
    """All texts of a config, at any depth."""
    if isinstance(node, Mapping):
        return texts_in([*node.keys(), *node.values()])
    if isinstance(node, list):
        return set().union(*map(texts_in, node))
    return {node} if isinstance(node, str) else set()
