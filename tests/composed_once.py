"""A cache of composed configs, for one test session. Composing takes a quarter of a second, and many tests compose the
same arguments.

The cache works only with the checkout's conf/ and sweeps/, which no test changes.
"""

import os
import pickle
from functools import lru_cache

import hydra
import yaml
from hydra import compose
from omegaconf import DictConfig

from cse.lab.settings import groups

MOST = 1000  # the most configs in the cache; a config has 26 kB
SWEEPS = groups.SWEEPS_DIR
texts: dict[str, bytes] = {}
load = yaml.load


def install() -> None:
    """Replace hydra.compose and yaml.load by cached functions. For new arguments, these call the replaced functions."""
    hydra.compose, yaml.load = compose_once, load_once


def compose_once(name: str, words: list[str], return_hydra_config: bool) -> DictConfig:
    """Return the result of hydra.compose, with the arguments with which cse.lab.settings.compose calls it."""
    if os.environ.get(groups.FOLDERS_VARIABLE) or groups.SWEEPS_DIR != SWEEPS:
        return compose(name, words, return_hydra_config)
    config = pickle.loads(pickled(name, tuple(words), return_hydra_config))
    config.hydra.runtime.cwd = os.getcwd()  # the only value that Hydra reads from the process
    return config


@lru_cache(MOST)
def pickled(name: str, words: tuple[str, ...], return_hydra_config: bool) -> bytes:
    """Return the result of hydra.compose for these arguments, pickled."""
    return pickle.dumps(compose(name, list(words), return_hydra_config))


def load_once(stream, Loader):
    """Return the result of yaml.load. OmegaConf reads some twenty files for a config, in a fifth of the time."""
    if Loader.__name__ != "OmegaConfLoader":
        return load(stream, Loader)
    text = stream if isinstance(stream, str) else stream.read()
    if text not in texts:
        if stream is not text:
            stream.seek(0)  # yaml reads the stream, because its error then has the file's name
        texts[text] = pickle.dumps(load(stream, Loader))
    return pickle.loads(texts[text])
