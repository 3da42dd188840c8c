"""Whether a run would end before its first step, without its weights and its data."""

from contextlib import suppress

from omegaconf import DictConfig

from cse.errors import MissingResource
from cse.lab.run.build import Attempts, make_objective, of_text
from cse.lab.run.compatible import check_scored_widths
from cse.sources.hub import cache_only


def rehearse(cfg: DictConfig) -> None:
    """Make a run's parts, its augmentation and its objective with no numbers in it, for the width that the encoder's
    files say.

    Raises the UserError that the run would end with, but for what only its weights or data can tell.
    """
    from accelerate import init_empty_weights

    from cse.model.load import width_of

    of_text(cfg, Attempts())
    with suppress(MissingResource), cache_only():
        width = width_of(cfg.model.name, cfg.model.pooling)
        with init_empty_weights():
            make_objective(cfg.objective, width)
        check_scored_widths(cfg.get("eval"), width)
