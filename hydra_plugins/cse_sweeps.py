"""Makes the folder sweeps/ of the checkout (cse/sweeps in an installed wheel) the config group `sweep`.

A link conf/sweep would do the same, but archives and some systems drop links.
"""

from hydra._internal.core_plugins import file_config_source

from cse.lab.settings import groups

GROUP = "sweep"


class SweepSource(file_config_source.FileConfigSource):
    """`sweeps://` in hydra.searchpath. sweep/PAPER/TABLE is SWEEPS_DIR/PAPER/TABLE.yaml; other paths do not exist."""

    def __init__(self, provider: str, path: str):
        super().__init__(provider, f"sweeps://{groups.SWEEPS_DIR}")

    @staticmethod
    def scheme() -> str:
        """The scheme of the source's URL in hydra.searchpath."""
        return "sweeps"

    def available(self) -> bool:
        """Whether the folder exists."""
        return super().is_group("")

    def load_config(self, config_path: str):
        """The config of sweep/PAPER/TABLE."""
        return super().load_config(config_path.removeprefix(f"{GROUP}/"))

    def is_group(self, config_path: str) -> bool:
        """Whether the path is `sweep` or a folder below `sweep`."""
        return config_path == GROUP or (inside(config_path) and super().is_group(config_path.removeprefix(f"{GROUP}/")))

    def is_config(self, config_path: str) -> bool:
        """Whether the path is a file below `sweep`."""
        return inside(config_path) and super().is_config(config_path.removeprefix(f"{GROUP}/"))

    def list(self, config_path: str, results_filter):
        """The names directly in a folder."""
        if not inside(f"{config_path}/"):
            return [] if config_path else [GROUP]
        return super().list(config_path.removeprefix(GROUP).removeprefix("/"), results_filter)


def inside(config_path: str) -> bool:
    """Whether the path is below sweep/."""
    return config_path.startswith(f"{GROUP}/")
