"""One run or evaluation: its settings, its arguments, and its future folder. Does not import torch."""

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
        """Whether it is a run of cse-train, not an evaluation."""
        return self.kind == "train"

    @property
    def command(self) -> str:
        """The command that starts it, quoted for a shell."""
        return shell_line(PROGRAMS[self.kind], *texts_of(self.arguments), *config_dirs())

    @property
    def writes(self) -> bool:
        """Whether the job leaves a folder. A dry run and a preview (data.preview) leave no folder."""
        return not self.trains or not (self.cfg.dry_run or self.cfg.data.preview)

    @property
    def log_file(self) -> Path:
        """The file of its log lines."""
        return self.folder / LOG_FILES[self.kind]

    def with_precision(self, precision: str) -> "Job":
        """The same job with this trainer.precision: the precision of this machine, instead of auto."""
        cfg = deepcopy(self.cfg)
        with read_write(cfg):
            cfg.trainer.precision = precision
        return replace(self, cfg=cfg)
