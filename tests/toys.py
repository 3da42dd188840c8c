"""Every choice of a group with small settings. Tests of a whole group find a new choice by its file in conf/.

A part's own test file, tests/GROUP/test_MODULE.py, may have settings for these tests:

    def toy(dim)                    returns arguments that make the part small, for an encoder of width `dim`
    MORE_TOYS = {name: arguments}   further settings to test, added to the arguments of `toy`. If the name is a choice,
                                    the choice is tested only with these settings
"""

import functools
import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from omegaconf import DictConfig

from cse.lab.run.build import make_objective
from cse.lab.settings import compose
from cse.lab.settings.groups import CONF_DIR, choices
from cse.types import Evaluator

TESTS = Path(__file__).parent
E = TypeVar("E", bound=Evaluator)
COLUMNS = ["sent0", "sent1", "hard_neg"]  # of the fixture `triplets`


def ready(evaluator: E) -> E:
    """The evaluator, prepared."""
    evaluator.prepare()
    return evaluator


@functools.cache
def composed(*overrides: str) -> DictConfig:
    """Return cse-train's config, with its node `hydra`. All callers share one object."""
    return compose.composed("train", overrides)


@functools.cache
def own_tests(group: str, choice: str) -> ModuleType | None:
    """Return the test module of the module that a choice's YAML names; None if there is no such test module."""
    named = re.search(rf"_target_: cse\.{group}\.(\w+)\.", Path(CONF_DIR, group, f"{choice}.yaml").read_text())
    path = TESTS / group / f"test_{named[1]}.py" if named else TESTS / "none"
    if not path.exists():
        return None
    spec = importlib.util.spec_from_file_location(f"{group}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def toy_of(group: str, choice: str, dim: int) -> list[str]:
    """Return the arguments that make a choice small."""
    module = own_tests(group, choice)
    return module.toy(dim) if hasattr(module, "toy") else []


def objectives(dim: int) -> dict[str, list[str]]:
    """Return {name: arguments} of every objective in conf/ and in MORE_TOYS."""
    cases = {choice: [f"objective={choice}", *toy_of("objective", choice, dim)] for choice in choices("objective")}
    for choice in choices("objective"):
        more = getattr(own_tests("objective", choice), "MORE_TOYS", {})
        cases |= {name: [*toy_of("objective", choice, dim), *overrides] for name, overrides in more.items()}
    return cases


def run_of(objective: str, augmentation: str | None, dim: int, documents: Path, triplets: Path) -> list[str]:
    """Return the arguments of a run of cse-train with an objective and an augmentation.

    augmentation: None for the augmentation of the objective's YAML. The text is `documents`, or columns of `triplets`.
    The number of columns is that of the objective's own data or, without an augmentation, its number of views.
    """
    overrides = [f"objective={objective}", *toy_of("objective", objective, dim)]
    own = composed(*overrides)
    chosen = augmentation or own.hydra.runtime.choices.augmentation
    columns = COLUMNS[: len(own.data.get("columns") or [])]
    if chosen == "none" and not columns:
        columns = COLUMNS[: make_objective(own.objective, dim).num_views]
    overrides += [f"augmentation={chosen}", *toy_of("augmentation", chosen, dim), "data=text", "trainer.max_length=32"]
    if len(columns) < 2:
        return [*overrides, f"data.path={documents}"]
    if make_objective(own.objective, dim).reads_scores:
        overrides += ["data.scores=score", "data.score_range=[0,5]"]
    return [*overrides, f"data.path={triplets}", f"data.columns=[{','.join(columns)}]"]
