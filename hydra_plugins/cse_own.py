"""What Hydra is told of cse: choices of one's own, and the names hydra/sweeper=smac and hydra/launcher=submitit_*.

Hydra itself starts no job of a sweep: cse.sweep reads these values and does.
"""

from dataclasses import dataclass, field
from typing import Any

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.plugins.search_path_plugin import SearchPathPlugin

from cse.config import groups


class OwnChoices(SearchPathPlugin):
    """Adds the folders of --config-dir and CSE_CONF after conf/."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Called by Hydra whenever it composes."""
        for folder in groups.own_folders():
            search_path.append(groups.PROVIDER, f"file://{folder}")


@dataclass
class Smac:
    """n_trials: jobs of a search. batch: jobs that SMAC proposes before it is told a result. seed: of the search.

    initial_share: of the trials, those of the Sobol design.
    """

    n_trials: int = 50
    batch: int = 1
    initial_share: float = 0.25
    seed: int = 0
    params: dict[str, str] | None = None


@dataclass
class Queue:
    """What submitit asks of any cluster. submitit_folder: of its files; None: .submitit in the jobs' folder."""

    submitit_folder: str | None = None
    timeout_min: int = 60
    cpus_per_task: int | None = None
    gpus_per_node: int | None = None
    tasks_per_node: int = 1
    mem_gb: int | None = None
    nodes: int = 1
    name: str = "cse"
    stderr_to_stdout: bool = False


@dataclass
class Slurm(Queue):
    """What it asks of SLURM besides: sbatch's own options, and submitit's last five."""

    partition: str | None = None
    qos: str | None = None
    comment: str | None = None
    constraint: str | None = None
    exclude: str | None = None
    gres: str | None = None
    cpus_per_gpu: int | None = None
    gpus_per_task: int | None = None
    mem_per_gpu: str | None = None
    mem_per_cpu: str | None = None
    account: str | None = None
    signal_delay_s: int = 120
    max_num_timeout: int = 0
    additional_parameters: dict[str, Any] = field(default_factory=dict)
    array_parallelism: int = 256
    setup: list[str] | None = None


STORE = ConfigStore.instance()
STORE.store("smac", Smac, group="hydra/sweeper", provider="cse")
STORE.store("submitit_slurm", Slurm, group="hydra/launcher", provider="cse")
STORE.store("submitit_local", Queue, group="hydra/launcher", provider="cse")
