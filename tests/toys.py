"""Every choice of a group at toy size: tests of a whole group find a new choice by its file in conf/.

A part's own test file, tests/GROUP/test_MODULE.py, may tell these tests about it:

    def toy(dim): overrides that shrink it for an encoder `dim` wide
    MORE_TOYS = {name: overrides}: more settings for the same tests; under the name of a choice, they replace its own
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
    """cse-train's config, with its `hydra` node; shared by all who ask for it."""
    return compose.composed("train", overrides)


@functools.cache
def own_tests(group: str, choice: str) -> ModuleType | None:
    """The test module of the module that a choice's YAML names, or None."""
    named = re.search(rf"_target_: cse\.{group}\.(\w+)\.", Path(CONF_DIR, group, f"{choice}.yaml").read_text())
    path = TESTS / group / f"test_{named[1]}.py" if named else TESTS / "none"
    if not path.exists():
        return None
    spec = importlib.util.spec_from_file_location(f"{group}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def toy_of(group: str, choice: str, dim: int) -> list[str]:
    """The overrides that shrink one choice."""
    module = own_tests(group, choice)
    return module.toy(dim) if hasattr(module, "toy") else []


def objectives(dim: int) -> dict[str, list[str]]:
    """Every objective of conf/ and MORE_TOYS: the overrides of each."""
    cases = {choice: [f"objective={choice}", *toy_of("objective", choice, dim)] for choice in choices("objective")}
    for choice in choices("objective"):
        more = getattr(own_tests("objective", choice), "MORE_TOYS", {})
        cases |= {name: [*toy_of("objective", choice, dim), *overrides] for name, overrides in more.items()}
    return cases


def run_of(objective: str, augmentation: str | None, dim: int, documents: Path, triplets: Path) -> list[str]:
    """Overrides for a whole run of cse-train: an objective with an augmentation (None: the one of its YAML).

    The text is the documents, or columns of the triplets: as many as the objective's own data has or, without an
    augmentation, as it has views.
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
