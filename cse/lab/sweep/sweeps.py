"""`load_sweep` makes a `Sweep` of a sweep's YAML. The Sweep has a `Case` for each entry of `cases`.

A sweep's YAML (sweeps/<paper>/<table>.yaml, the config group `sweep`) has settings, like any config, and these keys:

    hydra.sweeper.params  the axes, in Hydra's notation; on the command line KEY=... replaces an axis
    cases                 {name: [argument, ...]}: rows that differ in several settings. `case` is then a further axis,
                          over all cases; case=a,b selects some cases. A case that trains nothing is
                          {program: cse-eval, set: [argument, ...]}, with settings of cse-eval only. A case with
                          `of: PAPER/TABLE/CASE` scores the run of another sweep's case
    same_runs_as          another sweep, whose folder this sweep shares, so that one run fills cells of several tables
    search_each           the axes that no search varies: every combination of their values has its own search
    report                the published numbers to compare the runs with (cse.lab.report.paper.report_block)

Settings that several tables of a paper share are in a file one folder deeper. The `defaults` of the tables name this
file.

rows.py makes jobs of a Sweep.
"""

from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Annotated, Literal

from omegaconf import OmegaConf
from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints, ValidationError, model_validator

from cse.errors import UserError
from cse.lab.settings.arguments import Argument, values_of
from cse.lab.settings.compose import composed, without_hydra
from cse.lab.settings.groups import SWEEP_KEYS, file_of
from cse.lab.settings.lookup import nearest
from cse.lab.settings.roles import role_of
from cse.lab.settings.schema import Train
from cse.lab.settings.values import BOOLEANS, PlainConfig


class Case(BaseModel):
    """One entry of `cases`. set: arguments of `program`. of: the PAPER/TABLE/CASE whose run cse-eval scores."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    program: Literal["cse-train", "cse-eval"] = "cse-train"
    of: Annotated[str, StringConstraints(pattern=r"^[^/]+/[^/]+/[^/]+$")] | None = None
    set: list[str] = []

    @model_validator(mode="before")
    @classmethod
    def from_list(cls, content: object) -> object:
        """Return a case's content as a mapping. A plain list becomes {"set": list}: a case that trains."""
        return {"set": content} if isinstance(content, list) else content

    @model_validator(mode="after")
    def check_of(self) -> "Case":
        """Raise ValueError for `of` with cse-train, which would ignore `of`."""
        if self.of is not None and self.program != "cse-eval":
            raise ValueError("`of` needs `program: cse-eval`")
        return self

    @property
    def arguments(self) -> list[Argument]:
        """The arguments that the case sets."""
        return [Argument(text, by="sweep") for text in self.set]

    @property
    def is_untrained(self) -> bool:
        """Whether the case scores an untrained encoder. One job is then enough for all seeds."""
        return self.program == "cse-eval" and self.of is None


class Sweep(BaseModel):
    """A sweep: its name PAPER/TABLE, and the keys of its YAML that are not settings (see this file's docstring).

    params: for the key of each axis, its values in Hydra's notation.
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
        """The argument that names the sweep."""
        return f"sweep={self.name}"

    @property
    def folder(self) -> Path:
        """The folder of the sweep's runs below runs/: `same_runs_as` or, by default, the sweep's own PAPER/TABLE."""
        return Path(self.same_runs_as or self.name)

    @property
    def is_grid(self) -> bool:
        """Whether the sweep's jobs are known before they run. Otherwise a search proposes the jobs."""
        return self.sweeper == "basic"

    def folder_of_jobs(self, arguments: Sequence[Argument]) -> Path:
        """Return the folder of the sweep's jobs, relative to the working directory. Smoke tests have a separate folder.

        arguments: the jobs' arguments.
        """
        return Path("runs", "smoke" if asks_for_smoke(arguments) else "", self.folder)

    @property
    def names_in_report(self) -> Set[str]:
        """The names of scores, settings and figures in the sweep's report."""
        block = self.report or {}
        return texts_in([block.get(key) for key in ("rows", "columns", "metric", "select", "figures")])

    def axes(self, given: Sequence[Argument] = ()) -> list[Argument]:
        """Return the axes of the sweep's file that no given argument replaces."""
        axes = {"case": ",".join(self.cases)} if self.cases else {}
        axes |= self.params
        for argument in given:
            axes.pop(argument.key, None)
        return [Argument(f"{key}={values}", by="sweep") for key, values in axes.items()]

    def case_of(self, arguments: Sequence[Argument]) -> Case:
        """Return the case that the arguments name, or an empty case. Raises UserError for an unknown name."""
        name = values_of(arguments).get("case")
        if name is not None and name not in self.cases:
            near = nearest(name, list(self.cases))
            has = ", ".join(self.cases) or "none"
            raise UserError(f"case={name} is not a case of sweep={self.name}{near}; cases: {has}")
        return Case() if name is None else self.cases[name]

    def further_arguments(self, arguments: Sequence[Argument]) -> list[Argument]:
        """Return a run's arguments that change a table's numbers, without the axes and the arguments of the case."""
        axis_keys = {"case", "checkpoint", *self.params}
        case = self.cases.get(values_of(arguments).get("case", ""), Case())
        rest = [argument for argument in arguments if not argument.deletes and argument.text not in case.set]
        return [
            argument for argument in rest if argument.key not in axis_keys and role_of(argument.key).changes_a_table
        ]


def load_sweep(name: str) -> Sweep:
    """Return the sweep of this name. Raises UserError for an unknown name, or a wrong value of one of SWEEP_KEYS."""
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
    """Return whether a command's arguments make its jobs smoke tests."""
    return bool(BOOLEANS.get(values_of(arguments).get("smoke", "").lower()))


def texts_in(node: object) -> set[str]:
    """Return all texts of a config: keys and values, also in the lists and mappings inside it."""
    if isinstance(node, Mapping):
        return texts_in([*node.keys(), *node.values()])
    if isinstance(node, list):
        return set().union(*map(texts_in, node))
    return {node} if isinstance(node, str) else set()
