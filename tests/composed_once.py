"""The same words are composed once in a test session: that takes a quarter of a second, and tests repeat themselves.

Only while conf/ and sweeps/ are the checkout's own, which no test changes.
"""

import os
import pickle
from collections import OrderedDict

import hydra
import yaml
from hydra import compose
from omegaconf import DictConfig

from cse.config import groups

MOST = 1000  # configs that are kept, of 26 kB each
SWEEPS = groups.SWEEPS_DIR
configs: OrderedDict[tuple[str, ...], bytes] = OrderedDict()
texts: dict[str, bytes] = {}
load = yaml.load


def install() -> None:
    """Put both functions in place of the slow ones, which they call for what is new."""
    hydra.compose, yaml.load = compose_once, load_once


def compose_once(name: str, words: list[str], return_hydra_config: bool) -> DictConfig:
    """hydra.compose as cse.config.compose calls it."""
    if os.environ.get(groups.OWN) or groups.SWEEPS_DIR != SWEEPS:
        return compose(name, words, return_hydra_config)
    key = (name, *words)
    if key not in configs:
        configs[key] = pickle.dumps(compose(name, words, return_hydra_config))
        if len(configs) > MOST:
            configs.popitem(last=False)
    config = pickle.loads(configs[key])
    config.hydra.runtime.cwd = os.getcwd()  # all that Hydra reads of the process
    return config


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
