"""The same words are composed once in a test session: that takes a quarter of a second, and tests repeat themselves.

Only while conf/ and sweeps/ are the checkout's own, which no test changes.
"""

import os
import pickle
from functools import lru_cache

import hydra
import yaml
from hydra import compose
from omegaconf import DictConfig

from cse.lab.settings import groups

MOST = 1000  # configs that are kept, of 26 kB each
SWEEPS = groups.SWEEPS_DIR
texts: dict[str, bytes] = {}
load = yaml.load


def install() -> None:
    """Put both functions in place of the slow ones, which they call for what is new."""
    hydra.compose, yaml.load = compose_once, load_once


def compose_once(name: str, words: list[str], return_hydra_config: bool) -> DictConfig:
    """hydra.compose as cse.lab.settings.compose calls it."""
    if os.environ.get(groups.FOLDERS_VARIABLE) or groups.SWEEPS_DIR != SWEEPS:
        return compose(name, words, return_hydra_config)
    config = pickle.loads(pickled(name, tuple(words), return_hydra_config))
    config.hydra.runtime.cwd = os.getcwd()  # all that Hydra reads of the process
    return config


@lru_cache(MOST)
def pickled(name: str, words: tuple[str, ...], return_hydra_config: bool) -> bytes:
    """What hydra.compose makes of them."""
    return pickle.dumps(compose(name, list(words), return_hydra_config))


def load_once(stream, Loader):
    """yaml.load; OmegaConf reads some twenty files for a config, a fifth of its time."""
    if Loader.__name__ != "OmegaConfLoader":
        return load(stream, Loader)
    text = stream if isinstance(stream, str) else stream.read()
    if text not in texts:
        if stream is not text:
            stream.seek(0)  # a mistake is told with the file's name
        texts[text] = pickle.dumps(load(stream, Loader))
    return pickle.loads(texts[text])
