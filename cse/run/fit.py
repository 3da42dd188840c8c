"""Turn a composed config into the run's own: fill in where its values come from, and shrink it for smoke=true."""

import logging
from collections.abc import Sequence
from pathlib import Path

from omegaconf import DictConfig, OmegaConf, open_dict

from cse.config import groups, recipe, smoke
from cse.config.keys import key_of
from cse.errors import UserError
from cse.files import make_folder
from cse.run.job import Job

log = logging.getLogger("cse")


def fit(cfg: DictConfig, command: str, *, composed: DictConfig, words: Sequence[str]) -> None:
    """Change a config in place into the one that the run uses, and log which typed values smoke=true replaces.

    command: "train" or "evaluate". composed: the config with Hydra's own node, which has the choice of each group.
    words: what was typed.
    """
    chosen = composed.hydra.runtime.choices
    with open_dict(cfg):
        if command == "train":
            cfg.sources = recipe.sources(chosen, words)
        cfg.choices = groups.chosen(command, chosen, words, map(str, cfg.eval))
    typed = {key: OmegaConf.select(cfg, key) for key in map(key_of, words)}
    smoke.fit(cfg, typed)
    for key, value in typed.items():
        if not isinstance(value, DictConfig) and (now := OmegaConf.select(cfg, key)) != value:
            log.info("smoke      %s=%s was typed, and smoke=true has %s instead", key, value, now)


def check(job: Job) -> None:
    """Raise UserError for a folder that holds another run, and for settings that contradict each other."""
    from cse.run import build

    job.check_unused()
    if not job.trains:
        check_evaluation(job.cfg)
    make_folder(Path(job.cfg.paths.cache), "paths.cache")
    if job.trains and not job.cfg.data.preview:  # a preview scores nothing
        build.check_selection(job.cfg)


def check_evaluation(cfg: DictConfig) -> None:
    """Raise UserError for settings of cse-eval that contradict each other."""
    if ("_target_" in cfg.model) == (cfg.checkpoint is not None):
        raise UserError("name the encoder to score, by either checkpoint=FOLDER_OR_NAME or model=NAME")
    if not cfg.eval:
        raise UserError("there is nothing to score: set eval=[stsb,sts], for example")
    whitening = cfg.whitening
    if (whitening.kind is None) != (whitening.fit is None) or (whitening.kind is None and whitening.components):
        raise UserError("whitening needs both: whitening.kind=pca (or zca) and whitening.fit=FILE, a file of sentences")
