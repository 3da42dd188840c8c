"""The number of steps of a run, before it starts. Only a count of the user's own text imports torch.

The number of batches in an epoch follows the rules of cse.data.loader.Batches.
"""

import json
from functools import cache

from hydra.utils import get_class
from omegaconf import DictConfig, OmegaConf

from cse.data.listing import is_on_hub
from cse.errors import MissingResource, within
from cse.lab.run.instantiate import make
from cse.lab.run.texts import texts_with_objectives
from cse.lab.settings.references import resolved
from cse.sources.catalogue import DATASETS


def steps_in_words(cfg: DictConfig) -> str:
    """Return the number of steps, such as "30,952"; if it depends on the text or the encoder, "at most 70" or "?"."""
    trainer, rows, may_be_fewer = cfg.trainer, expected_rows(cfg.data), False
    if rows is None:
        rows = own_rows(cfg)
        may_be_fewer = rows is not None and leaves_out_rows(cfg.augmentation)
    if rows is None:
        return f"at most {trainer.max_steps:,}" if trainer.max_steps else "?"
    full, rest = divmod(rows, trainer.batch_size)
    fewest = steps_of(trainer, full)
    most = fewest if trainer.drop_last or rest < 2 else steps_of(trainer, full + 1)
    if "whitening" in cfg.objective and fewest < most:  # the number of rows that a batch needs depends on the width
        may_be_fewer = True
    return f"at most {most:,}" if may_be_fewer else f"{most:,}"


def steps_of(trainer: DictConfig, batches: int) -> int:
    """Return the number of steps of a run. batches: the number of batches in an epoch."""
    planned = max(1, round(trainer.epochs * (batches / trainer.accumulate)))  # rounded as in cse.training.loop
    return min(trainer.max_steps or planned, planned)


def expected_rows(data: DictConfig) -> int | None:
    """Return the number of rows within data.limit, as in data.rows or as published for the corpus; None if unknown."""
    published = DATASETS.get(data.name)
    rows = OmegaConf.select(data, "rows.n") or OmegaConf.select(data, "rows.limit")
    rows = rows or (published.rows[0] if published and published.rows else None)
    if rows is None or data.limit is None:
        return rows
    return round(data.limit * rows) if isinstance(data.limit, float) else min(data.limit, rows)


def own_rows(cfg: DictConfig) -> int | None:
    """Return the number of usable rows of the user's own file or folder, within data.limit.

    Return None for other text, and if there is no such file. Reads the text, as the run does. Raises UserError for a
    text that cannot be used.
    """
    path = cfg.data.get("path")
    if not isinstance(path, str) or is_on_hub(path):
        return None
    (learned,) = texts_with_objectives(cfg)
    return rows_of(json.dumps(resolved(cfg.data)), learned.required)


@cache
def rows_of(data: str, required: int | None) -> int | None:
    """Return the number of usable rows of a text; None if the text does not exist.

    Jobs with the same data count the rows only once.
    data: the settings of the text as JSON. required: see Text.read.
    """
    try:
        with within("data"):
            return len(make(DictConfig(json.loads(data))).read(required=required))
    except MissingResource:
        return None


def leaves_out_rows(augmentation: DictConfig) -> bool:
    """Return whether an augmentation may leave out rows, such as short documents."""
    from cse.types import Augmentation

    kind: type[Augmentation] = get_class(augmentation._target_)
    return kind.usable_rows is not Augmentation.usable_rows
