"""The evaluators of a config, and the evaluator whose score selects the checkpoint.

make_evaluators, build_evaluators   return the evaluators, without data and with data
selected_score, check_selection     return the score in trainer.select, and check that an evaluator has this score
shared_pairs_in_words               returns the number of pairs that select the checkpoint and are also test pairs
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig

from cse.errors import MissingResource, UserError, collecting, combine
from cse.lab.run.instantiate import call, make
from cse.score import evaluator_of

if TYPE_CHECKING:  # importing torch is slow
    from cse.types import Evaluator

log = logging.getLogger(__name__)


def make_evaluators(nodes: Mapping[Any, Any] | None) -> dict[str, Evaluator]:
    """Return {config key: evaluator}, without data. nodes: the settings of each evaluator; None: no evaluator."""
    return {str(name): make(node) for name, node in (nodes or {}).items()}


def build_evaluators(nodes: Mapping[Any, Any] | None, splits: Sequence[str] | None = None) -> dict[str, Evaluator]:
    """Return {config key: evaluator}, after finding and checking the data of the evaluators.

    nodes: the settings of each evaluator; None: no evaluator. splits: the splits to score; None: all splits. An
    evaluator without any of these splits is left out. Raises UserError if all evaluators are left out, and one
    MissingResource that names all missing data.
    """
    from cse.eval.scoring import check_source

    nodes = nodes or {}
    evaluators = make_evaluators(nodes)
    if splits is not None:
        evaluators = with_splits(evaluators, splits)
    missing: list[MissingResource] = []
    for name, evaluator in evaluators.items():
        with collecting(missing):
            call(nodes[name], evaluator.prepare)
            check_source(name, evaluator)
    if missing:
        raise combine(missing)
    return evaluators


def with_splits(evaluators: dict[str, Evaluator], splits: Sequence[str]) -> dict[str, Evaluator]:
    """Return the evaluators that have any of the splits, after removing their other splits.

    Raises UserError if no evaluator has any of the splits.
    """
    chosen = {}
    for name, evaluator in evaluators.items():
        own = evaluator.splits
        evaluator.splits = tuple(split for split in own if split in splits)
        if evaluator.splits:
            chosen[name] = evaluator
        else:
            log.warning("%s is not scored: its only split is %s, which splits= leaves out", name, ", ".join(own))
    if evaluators and not chosen:
        raise UserError(f"splits=[{','.join(splits)}]: {', '.join(evaluators)} has no such split")
    return chosen


# The evaluator that selects the checkpoint


def selected_score(config: DictConfig) -> str | None:
    """Return the full name of the score in trainer.select.

    The name of an evaluator means its primary score: stsb means dev/stsb/spearman. Any other name is returned
    unchanged, and `check_selection` later refuses a wrong name. Raises UserError for an evaluator without a primary
    score.
    """
    name = config.trainer.select
    if name is None or name not in (config.get("eval") or {}):
        return name
    evaluator: Evaluator = make(config.eval[name])
    if evaluator.primary is None:
        instead = f"name a score in full, dev/{name}/SCORE"
        raise UserError(f"eval.{name} has no primary score", key="trainer.select", value=name, instead=instead)
    return f"dev/{name}/{evaluator.primary}"


def check_selection(cfg: DictConfig) -> None:
    """Raise UserError if no evaluator has a score that trainer.select or trainer.watch names. cfg: checked settings."""
    from cse.training.settings import watched

    watched(make(cfg.trainer), make_evaluators(cfg.get("eval")))


def shared_pairs_in_words(
    select: str | None, selecting: Mapping[str, Evaluator], tested: Mapping[str, Evaluator]
) -> str:
    """Return the number of pairs that select the checkpoint and are also test pairs of the run; "" if there are none.

    select: the full name of the score that selects the checkpoint. selecting: evaluators, including the evaluator of
    this score. tested: the evaluators that score the run.
    """
    from cse.eval.sts import ScoredPairs

    selector = selecting.get(evaluator_of(select or ""))
    if not isinstance(selector, ScoredPairs):
        return ""
    pairs = selector.pairs("dev")
    shared = []
    for key, evaluator in tested.items():
        tests = set(evaluator.pairs("test")) if isinstance(evaluator, ScoredPairs) else set()
        if count := sum(pair in tests for pair in pairs):
            shared.append(f"{count:,} of its {len(pairs):,} dev pairs are also test pairs of {key}")
    return "; ".join([f"on {select}", *shared]) if shared else ""
