"""The class Job: the settings, the arguments and the future folder of one run or evaluation. Does not import torch."""

from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path

from omegaconf import DictConfig, OmegaConf, read_write

from cse.lab.settings.arguments import Argument, shell_line, texts_of
from cse.lab.settings.groups import PROGRAMS, Kind, config_dirs

LOG_FILES: dict[Kind, str] = {"train": "train.log", "evaluate": "evaluate.log"}


@dataclass(frozen=True)
class Job:
    """One run or evaluation: its kind, its settings (read-only), its command's arguments, and its future folder."""

    kind: Kind
    cfg: DictConfig
    arguments: list[Argument]
    folder: Path

    def __post_init__(self) -> None:
        OmegaConf.set_readonly(self.cfg, True)

    @property
    def trains(self) -> bool:
        """Whether the job is a run of cse-train, and not of cse-eval."""
        return self.kind == "train"

    @property
    def command(self) -> str:
        """The command that starts the job, quoted for a shell."""
        return shell_line(PROGRAMS[self.kind], *texts_of(self.arguments), *config_dirs())

    @property
    def writes(self) -> bool:
        """Whether the job makes a folder. A dry run and a preview (data.preview) make none."""
        return not (self.cfg.dry_run or (self.trains and self.cfg.data.preview))

    @property
    def log_file(self) -> Path:
        """The job's log file."""
        return self.folder / LOG_FILES[self.kind]

    def with_precision(self, precision: str) -> "Job":
        """Return the same job with this value of trainer.precision, such as bf16 instead of auto."""
        cfg = deepcopy(self.cfg)
        with read_write(cfg):
            cfg.trainer.precision = precision
        return replace(self, cfg=cfg)
