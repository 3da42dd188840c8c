"""Choices of one's own: Hydra looks into the folders of --config-dir and CSE_CONF too (cse.config.groups)."""

from hydra.core.config_search_path import ConfigSearchPath
from hydra.plugins.search_path_plugin import SearchPathPlugin

from cse.config import groups


class OwnChoices(SearchPathPlugin):
    """Adds those folders after conf/."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Called by Hydra whenever it composes."""
        for folder in groups.own_folders():
            search_path.append(groups.PROVIDER, f"file://{folder}")
