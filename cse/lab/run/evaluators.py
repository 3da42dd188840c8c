"""The evaluators of a config, with their data found and checked; and the score that selects the checkpoint."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig

from cse.errors import UserError
from cse.lab.run.instantiate import Attempts, call, make

if TYPE_CHECKING:
    from cse.types import Evaluator

log = logging.getLogger(__name__)


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
