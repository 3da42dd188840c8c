"""While a line's words become a config: an error of Hydra's is a sentence, and no secret gets into a run's files.

`explaining` is for a block that reads words or fills in references. It runs nothing of the user's own, whose error
needs its traceback. `guarded_environment` is for any block that fills in references.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import yaml
from omegaconf import DictConfig, Node, OmegaConf
from omegaconf.basecontainer import BaseContainer

from cse.errors import UserError
from cse.lab.settings.groups import CONF_DIR, SWEEPS_DIR
from cse.lab.settings.mistakes import explain


@contextmanager
def explaining(words: Sequence[str], command: str) -> Iterator[None]:
    """Turn an error of Hydra, OmegaConf or YAML in the block into a UserError.

    In the block, only paths and conf/ itself may read the environment.
    """
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    try:
        with guarded_environment():
            yield
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(explain(error, words, command)) from error
    except yaml.YAMLError as error:  # in a choice of the user's own
        raise UserError(" ".join(str(error).split())) from error


@contextmanager
def guarded_environment() -> Iterator[None]:
    """In the block, ${oc.env:NAME} is `from_environment`. After it, it is OmegaConf's own, for the configs of others in
    this process: a notebook's, or a program's that imports cse."""
    before = BaseContainer._resolvers["oc.env"]
    OmegaConf.register_new_resolver("oc.env", from_environment, replace=True)
    try:
        yield
    finally:
        BaseContainer._resolvers["oc.env"] = before


def from_environment(name: str, *default: str | None, _node_: Node, _root_: BaseContainer) -> str | None:
    """${oc.env:NAME,DEFAULT}: OmegaConf's own, but refused if it could write a secret into a run's files, and an empty
    variable is none, as in shells and container files that name each.

    Values end up in results.json, train.log and every tracker. Configs that are not ours are left alone.
    """
    key = str(_node_._get_full_key(None))
    ours = isinstance(_root_, DictConfig) and {"paths", "eval", "hydra"} & set(_root_)
    if ours and not key.startswith("paths.") and name not in known_variables():
        raise UserError(
            f"{key} is written into a run's files, so it cannot read {name} from the environment: only paths.* can"
        )
    if name not in os.environ and not default:
        raise KeyError(f"Environment variable '{name}' not found")
    return os.environ.get(name) or (default[0] if default else None)


@cache
def known_variables() -> frozenset[str]:
    """The environment variables that conf/ and sweeps/ read."""
    files = [file for folder in (CONF_DIR, SWEEPS_DIR) for file in Path(folder).rglob("*.yaml")]
    return frozenset(name for file in files for name in re.findall(r"oc\.env:(\w+)", file.read_text(encoding="utf-8")))
