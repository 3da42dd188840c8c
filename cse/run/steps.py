"""How many steps a run takes, from its settings alone: to list a sweep, and to plan a run whose data is missing."""

from omegaconf import DictConfig, OmegaConf

from cse.sources.catalogue import DATASETS


def steps_of(cfg: DictConfig) -> int | None:
    """The steps of a composed cse-train config; None if the number of rows is not known without reading them."""
    trainer, rows = cfg.trainer, rows_of(cfg.data)
    if rows is None:
        return trainer.max_steps
    planned = max(1, round(trainer.epochs * (rows // (trainer.batch_size * trainer.accumulate))))
    return min(trainer.max_steps or planned, planned)


def rows_of(data: DictConfig) -> int | None:
    """The rows requested, or those of a published corpus as its paper counts them; None for the user's own text."""
    published = DATASETS.get(data.name)
    rows = OmegaConf.select(data, "rows.n") or OmegaConf.select(data, "rows.limit")
    rows = rows or (published.rows[0] if published and published.rows else None)
    if rows is None or data.limit is None:
        return rows
    return round(data.limit * rows) if isinstance(data.limit, float) else min(data.limit, rows)
