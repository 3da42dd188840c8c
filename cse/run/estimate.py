"""What a run will take, from its settings alone: steps, GPU-hours and memory, by formulas of one line.

    parameters   P = 12 layers width^2, and the projector's; layers and width by the encoder's config.json where it is
                 here or in the hub's cache, else by its name (BERT, RoBERTa)
    tokens       T = rows of a batch * views * length: the longest that a view may have, an upper bound
    GPU-hours    steps * 6 P T / (50e12 * 3600): forward and backward at 50 TFLOP/s, about half of what an A100 gives
    memory       16 P bytes (weight, gradient, Adam's two moments in fp32), and for each token of a batch (of a chunk,
                 with trainer.chunk) 34 layers width bytes of activations (arXiv:2205.05198, without attention's own)

Wrong by a factor of two or so; evaluation comes on top. Images or sound add 197 or 211 tokens for 2 * 48 rows a step.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig, OmegaConf

from cse.dotted import Json

if TYPE_CHECKING:  # an estimate of text alone needs no torch
    from cse.types import AuxModality

SUSTAINED = 50e12  # floating-point operations a second
LAPTOP, START = 1e11, 30  # with scale=laptop: the same of one idle core, and seconds to start and to score


def seconds(work: float, size: str) -> float:
    """The time of `work` floating-point operations on a GPU, or on a laptop, start-up and scoring included.

    size: cfg.scale.name.
    """
    return START + work / LAPTOP if size == "laptop" else work / SUSTAINED


def of(cfg: DictConfig) -> Json:
    """steps and hours (None where the data's size is not known before it is read), memory in bytes."""
    layers, width = shape(cfg.model)
    head = OmegaConf.select(cfg, "objective.head") or {}
    hidden, out = head.get("hidden") or 0, head.get("out") or 0
    encoder, projector = 12 * layers * width**2, width * hidden + hidden**2 + hidden * out
    views = views_of(cfg)
    tokens = cfg.trainer.batch_size * views * cfg.trainer.max_length
    aux_tokens = aux_tokens_of(cfg.aux_modality)
    rows = rows_of(cfg.data)
    steps = None
    if rows is not None:
        planned = max(1, round(cfg.trainer.epochs * (rows // (cfg.trainer.batch_size * cfg.trainer.accumulate))))
        steps = min(cfg.trainer.max_steps or planned, planned)
    elif cfg.trainer.max_steps:
        steps = cfg.trainer.max_steps
    work = 6 * (encoder * (tokens * cfg.trainer.accumulate + aux_tokens) + projector * cfg.trainer.batch_size * views)
    chunk = min(cfg.trainer.chunk or cfg.trainer.batch_size, cfg.trainer.batch_size)
    chunk_tokens = chunk * views * cfg.trainer.max_length
    return {
        "steps": steps,
        "hours": None if steps is None else seconds(steps * work, cfg.scale.name) / 3600,
        "memory": 16 * (encoder + projector) + 34 * layers * width * max(chunk_tokens, aux_tokens),
    }


def shape(model: DictConfig) -> tuple[int, int]:
    """(layers, width) of an encoder, as its config.json says; without one by its name, a base model if that is mute."""
    name, about = str(model.name).lower(), described(str(model.name))
    layers, width = (24, 1024) if "large" in name else (6, 384) if "minilm" in name else (12, 768)
    layers = about.get("num_hidden_layers") or about.get("n_layers") or (6 if "distil" in name else layers)
    return model.num_layers or layers, about.get("hidden_size") or about.get("dim") or width


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
