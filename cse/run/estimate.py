"""A run's steps and work from its settings alone, for a sweep's list and for a run whose weights or data are missing.

    parameters   P = 12 layers width^2, and the projector's; layers and width are config.json's of the encoder
    tokens       T = rows of a batch * views * length: the longest that a view may have, an upper bound
    work         steps * 6 P T floating-point operations, forward and backward; scores come on top

Images or sound add 197 or 211 tokens for 2 * 48 rows a step.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig, OmegaConf

from cse.dotted import Json

if TYPE_CHECKING:  # an estimate of text alone needs no torch
    from cse.types import AuxModality


@dataclass(frozen=True)
class Estimate:
    """steps: None where the rows are not known before they are read; flop: None also where the encoder is not here."""

    steps: int | None
    flop: float | None


def estimate(cfg: DictConfig) -> Estimate:
    """What a composed config of cse-train asks for."""
    trainer, rows = cfg.trainer, rows_of(cfg.data)
    steps = trainer.max_steps
    if rows is not None:
        planned = max(1, round(trainer.epochs * (rows // (trainer.batch_size * trainer.accumulate))))
        steps = min(trainer.max_steps or planned, planned)
    about = described(str(cfg.model.name))
    layers = cfg.model.num_layers or about.get("num_hidden_layers") or about.get("n_layers")
    width = about.get("hidden_size") or about.get("dim")
    if not (steps and layers and width):
        return Estimate(steps, None)
    head = OmegaConf.select(cfg, "objective.head") or {}
    hidden, out = head.get("hidden") or 0, head.get("out") or 0
    encoder, projector = 12 * layers * width**2, width * hidden + hidden**2 + hidden * out
    sequences = trainer.batch_size * trainer.accumulate * views_of(cfg)
    tokens = sequences * trainer.max_length + aux_tokens_of(cfg.aux_modality)
    return Estimate(steps, steps * 6.0 * (encoder * tokens + projector * sequences))


def described(name: str) -> Json:
    """The config.json of a model's folder, or of a hub name that is in the cache; {} where there is none."""
    from cse.sources.hub import Repo, cached

    try:
        file = Path(name) / "config.json" if Path(name).is_dir() else cached(Repo(name, "model", "", ""), "config.json")
        return {} if file is None else json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # no hub's name, or a file that the run itself will complain of
        return {}


def aux_tokens_of(node: DictConfig) -> int:
    """Tokens of images or sound that the encoder reads in a step: two views of each; 0 without a second modality."""
    from hydra.utils import get_class

    if "_target_" not in node:
        return 0
    kind: type[AuxModality] = get_class(node._target_)
    return 2 * node.data.batch_size * kind.num_tokens(node)


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
