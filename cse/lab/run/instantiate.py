"""Parts from their settings, so that what goes wrong is said by the keys that the user types.

`make` is Hydra's instantiate, `call` a method of a part. `Attempts` tries several parts, for one error that names all
that is missing. Then the evaluators of a config, with their data found and checked, and the score of theirs that
selects a step.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from omegaconf import DictConfig

from cse.errors import MissingResource, UserError, combine
from cse.lab.settings.references import naming_user_keys

if TYPE_CHECKING:
    from cse.types import Evaluator

log = logging.getLogger(__name__)

T = TypeVar("T")


def make(node: DictConfig, **more: object) -> Any:
    """Call Hydra's instantiate, but raise a UserError as it is instead of Hydra's wrapper around it, with the keys of
    this node for the part's parameters. A part in it is made first, for the same reason."""
    from hydra.errors import InstantiationException
    from hydra.utils import instantiate

    for key, value in node.items():
        if is_part(value):
            more[str(key)] = make(value)
        elif isinstance(value, DictConfig) and value and all(map(is_part, value.values())):  # a mixture's sources
            more[str(key)] = {name: make(one) for name, one in value.items()}
    with naming_user_keys(node):
        try:
            return instantiate(node, **more)
        except InstantiationException as error:
            if isinstance(error.__cause__, UserError):
                raise error.__cause__ from None
            raise


def is_part(value: object) -> bool:
    """Whether a value is a part that is made at once, and not a function of what our code passes."""
    return isinstance(value, DictConfig) and "_target_" in value and not value.get("_partial_")


def call(node: DictConfig, method: Callable[[], T]) -> T:
    """Call a method of the part that is made of this node: what it refuses is named by the keys that the user types."""
    with naming_user_keys(node):
        return method()


class Attempts:
    """Tries one part after the other and collects what is missing, for one error that names all of it."""

    def __init__(self) -> None:
        self.missing: list[MissingResource] = []

    def __call__(self, part: Callable[[], T]) -> T | None:
        """Returns `part()`, or None if it is missing; `check` then raises."""
        try:
            return part()
        except MissingResource as error:
            self.missing.append(error)
            return None

    def check(self) -> None:
        """Raise one MissingResource for everything that was missing."""
        if self.missing:
            raise combine(self.missing)


# Evaluators


def build_evaluators(cfg: Mapping[Any, Any] | None, splits: Sequence[str] | None = None) -> dict[str, Evaluator]:
    """The evaluators by config key, with their data found and checked. One MissingResource names all that is missing.

    splits: those to score (None: all). An evaluator that has none of them is left out; raises UserError if all are.
    """
    nodes: Mapping[Any, Any] = cfg or {}
    evaluators = make_evaluators(nodes)
    if splits is not None:
        evaluators = with_splits(evaluators, splits)
    attempt = Attempts()
    for name, evaluator in evaluators.items():
        attempt(partial(prepare_evaluator, name, evaluator, nodes[name]))
    attempt.check()
    return evaluators


def with_splits(evaluators: dict[str, Evaluator], splits: Sequence[str]) -> dict[str, Evaluator]:
    """The evaluators that have one of the splits, each with those alone. Raises UserError if none has."""
    chosen = {}
    for name, evaluator in evaluators.items():
        own = evaluator.splits
        evaluator.splits = tuple(split for split in own if split in splits)
        if evaluator.splits:
            chosen[name] = evaluator
        else:
            log.warning("%s has only the split %s, which splits= leaves out", name, ", ".join(own))
    if evaluators and not chosen:
        raise UserError(f"splits=[{','.join(splits)}]: none of them is a split of {', '.join(evaluators)}")
    return chosen


def prepare_evaluator(name: str, evaluator: Evaluator, node: DictConfig) -> None:
    """Find its data and check it. node: its settings."""
    from cse.eval.scoring import check_source

    call(node, evaluator.prepare)
    check_source(name, evaluator)


def make_evaluators(cfg: Mapping[Any, Any] | None) -> dict[str, Evaluator]:
    """The evaluators by config key, without their data."""
    return {str(name): make(node) for name, node in (cfg or {}).items()}


def selected_score(cfg: DictConfig) -> str | None:
    """The score that trainer.select means: of an evaluator's name its primary score, so that stsb is dev/stsb/spearman.

    A score's full name is returned as it is, a wrong one too. Raises UserError for an evaluator without a primary one.
    """
    name = cfg.trainer.select
    if name is None or name not in (cfg.get("eval") or {}):
        return name
    evaluator: Evaluator = make(cfg.eval[name])
    if evaluator.primary is None:
        instead = f"name one in full, dev/{name}/SCORE"
        raise UserError(f"eval.{name} has no primary score", key="trainer.select", value=name, instead=instead)
    return f"dev/{name}/{evaluator.primary}"


def check_selection(cfg: DictConfig) -> None:
    """Raise UserError if no evaluator gives a score that trainer.select or trainer.watch names."""
    from cse.training.settings import watched

    watched(make(cfg.trainer, select=selected_score(cfg)), make_evaluators(cfg.get("eval")))
