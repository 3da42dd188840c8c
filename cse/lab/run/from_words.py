"""From the words of a line to the settings of a run, in three steps. Each returns a config of its own.

config_of       what the words give, or what the run has that they resume or repeat
checked_config  the same, complete, with each setting checked against the part that takes it; imports the parts
fitted          the same, as a new run uses it: with the sources of its values, and small with smoke=true

The second is read-only, as is a Job's.
"""

from collections.abc import Sequence

from omegaconf import DictConfig, OmegaConf, open_dict

from cse.lab.run import resume, startup
from cse.lab.run.evaluators import selected_score
from cse.lab.settings import groups, own, provenance, smoke
from cse.lab.settings.compose import composed, without_hydra
from cse.lab.settings.explaining import explaining
from cse.lab.settings.words import Word, texts_of, typed_keys


def checked_settings(command: str, words: Sequence[Word]) -> DictConfig:
    """The settings that the words of one job give, with Hydra's own node in them. command: "train" or "evaluate".

    Raises UserError.
    """
    with explaining(texts_of(without_added(words)), command):
        config = config_of(command, words)
        startup.before_libraries()
        return checked_config(config, command)


def without_added(words: Sequence[Word]) -> list[Word]:
    """The words without those that cse added itself."""
    return [word for word in words if word.by != "cse"]


def origin_of(command: str, words: Sequence[Word]) -> resume.Origin | None:
    """The run that the words resume or repeat; None for a new run, and for cse-eval."""
    return resume.started_from(words) if command == "train" else None


def config_of(command: str, words: Sequence[Word]) -> DictConfig:
    """The config that the words give, with Hydra's own node in it."""
    origin = origin_of(command, words)
    return resume.resumed(origin, words) if origin else composed(command, texts_of(words))


def checked_config(config: DictConfig, command: str) -> DictConfig:
    """The config with the values that its parts take, and with the score that trainer.select names in full.

    Raises UserError, or OmegaConf's error for a reference to no key.
    """
    from cse.lab.settings.check import validate

    settings = validate(config, command)
    if command == "train":
        settings.trainer.select = selected_score(settings)
    OmegaConf.set_readonly(settings, True)
    return settings


def fitted(settings: DictConfig, command: str, words: Sequence[Word]) -> DictConfig:
    """The settings as a new run records and uses them, without Hydra's node.

    settings: with that node, which has the choice of each group and the files of the user's own. words: the line's.
    """
    chosen, files = settings.hydra.runtime.choices, own.own_files(settings)
    cfg = without_hydra(settings)
    with open_dict(cfg):
        if command == "train":
            cfg.sources = [
                *provenance.sources(chosen, words),
                *own.overridden(cfg, files, {word.key for word in words}),
            ]
        cfg.choices = groups.chosen(command, chosen, texts_of(words), map(str, cfg.eval))
    smoke.fit(cfg, typed_keys(words))
    return cfg
