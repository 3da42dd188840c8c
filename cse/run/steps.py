"""How many steps a run takes, from its settings alone: for a sweep's list, and for a run whose data is missing."""

from omegaconf import DictConfig, OmegaConf

from cse.sources.catalogue import DATASETS


def steps_of(cfg: DictConfig) -> int | None:
    """Of a composed config of cse-train; None where the rows are not known before they are read."""
    trainer, rows = cfg.trainer, rows_of(cfg.data)
    if rows is None:
        return trainer.max_steps
    planned = max(1, round(trainer.epochs * (rows // (trainer.batch_size * trainer.accumulate))))
    return min(trainer.max_steps or planned, planned)


def rows_of(data: DictConfig) -> int | None:
    """Rows that are asked for, or those of a published corpus, as its paper counts them; None for text of one's own."""
    published = DATASETS.get(data.name)
    rows = OmegaConf.select(data, "rows.n") or OmegaConf.select(data, "rows.limit")
    rows = rows or (published.rows[0] if published and published.rows else None)
    if rows is None or data.limit is None:
        return rows
    return round(data.limit * rows) if isinstance(data.limit, float) else min(data.limit, rows)
