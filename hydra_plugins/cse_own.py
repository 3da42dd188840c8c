"""Hydra plugins: the user's own config folders, and the settings of hydra/sweeper=smac (cse.lab.sweep.search).

Every program of this environment that uses Hydra loads the plugins. They act only on programs that compose our conf/.
"""

from dataclasses import dataclass

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.plugins.search_path_plugin import SearchPathPlugin

from cse.lab.settings import groups
from cse.lab.settings.user_files import UserSource

__all__ = ["UserChoices", "UserSource"]  # Hydra finds a source by its name in a plugin's module


class UserChoices(SearchPathPlugin):
    """Adds the folders of --config-dir and CSE_CONF after conf/."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Add the folders. Hydra calls this method in each composition."""
        if not any(one.path == groups.CONF_DIR for one in search_path.get_path()):
            return
        ConfigStore.instance().store("smac", Smac, group="hydra/sweeper", provider="cse")
        for folder in groups.user_folders():
            search_path.append(UserSource.scheme(), f"{UserSource.scheme()}://{folder}")


@dataclass
class Smac:
    """n_trials: the jobs of a search. batch: how many jobs SMAC proposes at a time. seed: the seed of the search."""

    n_trials: int = 50
    batch: int = 1
    seed: int = 0
    params: dict[str, str] | None = None
