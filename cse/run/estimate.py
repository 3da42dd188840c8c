"""A run's steps and work from its settings alone: for a sweep's list, and for a run whose weights or data are missing.

parameters   P = 12 layers width^2, by the encoder's config.json; and the projector's, for a token of each view
tokens       T = rows of a batch * views * length, the longest that a view may have; and those of images or sound
work         steps * 6 P T floating-point operations, forward and backward; scores come on top
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from omegaconf import DictConfig, OmegaConf

from cse.dotted import Json

if TYPE_CHECKING:  # an estimate of text alone needs no torch
    from cse.types import AuxModality


class Estimate(NamedTuple):
    """steps: None where the rows are not known before they are read; flop: None also where the encoder is not here."""

    steps: int | None
    flop: float | None


def estimate(cfg: DictConfig) -> Estimate:
    """What a composed config of cse-train asks for."""
    from hydra.utils import get_class

    trainer, aux, rows = cfg.trainer, cfg.aux_modality, rows_of(cfg.data)
    batch, steps = trainer.batch_size * trainer.accumulate, trainer.max_steps
    if rows is not None:
        planned = max(1, round(trainer.epochs * (rows // batch)))
        steps = min(trainer.max_steps or planned, planned)
    about = described(str(cfg.model.name))
    layers = cfg.model.num_layers or about.get("num_hidden_layers") or about.get("n_layers")
    width = about.get("hidden_size") or about.get("dim")
    if not (steps and layers and width):
        return Estimate(steps, None)
    views = batch * views_of(cfg)
    tokens = views * trainer.max_length
    if "_target_" in aux:
        kind: type[AuxModality] = get_class(aux._target_)
        tokens += 2 * aux.data.batch_size * kind.num_tokens(aux)  # two views of each
    head = OmegaConf.select(cfg, "objective.head") or {}
    hidden, out = head.get("hidden") or 0, head.get("out") or 0
    projector = width * hidden + hidden**2 + hidden * out
    return Estimate(steps, steps * 6.0 * (12 * layers * width**2 * tokens + projector * views))


def described(name: str) -> Json:
    """The config.json of a model's folder, or of a hub name that is in the cache; {} where there is none."""
    from cse.sources.hub import Repo, cached

    try:
        file = Path(name) / "config.json" if Path(name).is_dir() else cached(Repo(name, "model", "", ""), "config.json")
        return {} if file is None else json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # no hub's name, or a file that the run itself will complain of
        return {}


def views_of(cfg: DictConfig) -> int:
    """Sequences that the encoder reads for a row: DeCLUTR's spans, WhitenedCSE's m, the columns of NLI, else two."""
    if "anchors" in cfg.augmentation:
        return cfg.augmentation.anchors * (1 + cfg.augmentation.positives)
    return cfg.objective.get("m") or cfg.objective.get("num_views") or 2


def rows_of(data: DictConfig) -> int | None:
    """Rows that are asked for, or those of a published corpus, as its paper counts them; None for text of one's own."""
    from cse.sources.catalogue import DATASETS

    published = DATASETS.get(data.name)
    rows = OmegaConf.select(data, "rows.n") or OmegaConf.select(data, "rows.limit")
    rows = rows or (published.rows[0] if published and published.rows else None)
    if rows is None or data.limit is None:
        return rows
    return round(data.limit * rows) if isinstance(data.limit, float) else min(data.limit, rows)
