"""The number of steps of a run, from its settings alone. This module does not import torch, so that sweeps may use it.

The number of batches in an epoch follows the rules of cse.data.loader.Batches.
"""

from omegaconf import DictConfig, OmegaConf

from cse.sources.catalogue import DATASETS


def steps_in_words(cfg: DictConfig) -> str:
    """Return the number of steps, such as "30,952"; if it depends on the text or the encoder, "at most 70" or "?"."""
    trainer, rows = cfg.trainer, expected_rows(cfg.data)
    if rows is None:
        return f"at most {trainer.max_steps:,}" if trainer.max_steps else "?"
    full, rest = divmod(rows, trainer.batch_size)
    if trainer.drop_last or rest < 2:
        return f"{steps_of(trainer, full):,}"
    fewest, most = steps_of(trainer, full), steps_of(trainer, full + 1)
    if "whitening" in cfg.objective and fewest < most:  # the number of rows that a batch needs depends on the width
        return f"at most {most:,}"
    return f"{most:,}"


def steps_of(trainer: DictConfig, batches: int) -> int:
    """Return the number of steps of a run. batches: the number of batches in an epoch."""
    planned = max(1, round(trainer.epochs * (batches / trainer.accumulate)))  # rounded as in cse.training.loop
    return min(trainer.max_steps or planned, planned)


def expected_rows(data: DictConfig) -> int | None:
    """Return the number of rows within data.limit: from the settings, else as published for the corpus, else None."""
    published = DATASETS.get(data.name)
    rows = OmegaConf.select(data, "rows.n") or OmegaConf.select(data, "rows.limit")
    rows = rows or (published.rows[0] if published and published.rows else None)
    if rows is None or data.limit is None:
        return rows
    return round(data.limit * rows) if isinstance(data.limit, float) else min(data.limit, rows)
