"""One run or evaluation before its work: its settings, the folder that it will have, and how many steps it will make.

Imports no torch: sweeps are listed and refused with it.
"""

import logging
import os
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path

from omegaconf import DictConfig, OmegaConf, read_write

from cse.errors import UserError
from cse.files import make_folder
from cse.lab.folder.contents import RUN
from cse.lab.folder.status import line_to_resume
from cse.lab.run.evaluators import check_selection
from cse.lab.run.resume import call_with, functions_in
from cse.lab.settings.arguments import Argument, shell_line, texts_of
from cse.lab.settings.compose import resolved
from cse.lab.settings.groups import PROGRAMS, Kind, config_dirs
from cse.sources.catalogue import DATASETS

log = logging.getLogger("cse")

LOG_FILES: dict[Kind, str] = {"train": "train.log", "evaluate": "evaluate.log"}
OF_SEPARATE = tuple(f"aux_modality.{key}" for key in ("lr", "schedule", "weight_decay", "no_decay", "clip", "order"))
"""Settings of aux_modality.optimizer=separate alone."""


@dataclass(frozen=True)
class Job:
    """One run or evaluation. cfg: the settings that it uses. arguments: of its command. folder: where it will be."""

    cfg: DictConfig
    arguments: list[Argument]
    folder: Path

    def __post_init__(self) -> None:
        """From here on nothing writes to the settings."""
        OmegaConf.set_readonly(self.cfg, True)

    @property
    def trains(self) -> bool:
        """Whether it is a run of cse-train, not an evaluation."""
        return "trainer" in self.cfg

    @property
    def command(self) -> str:
        """The command that starts it, quoted for a shell."""
        program = PROGRAMS["train" if self.trains else "evaluate"]
        return shell_line(program, *texts_of(self.arguments), *config_dirs())

    @property
    def writes(self) -> bool:
        """False for dry_run and data.preview, which leave nothing."""
        return not self.trains or not (self.cfg.dry_run or self.cfg.data.preview)

    @property
    def log_file(self) -> Path:
        """What it logs, beside the screen."""
        return self.folder / LOG_FILES["train" if self.trains else "evaluate"]

    def with_precision(self, precision: str) -> "Job":
        """The job, with what its trainer.precision, which may be auto, means on this machine."""
        cfg = deepcopy(self.cfg)
        with read_write(cfg):
            cfg.trainer.precision = precision
        return replace(self, cfg=cfg)

    def check(self) -> None:
        """Raise UserError for a folder that holds another run, and for settings that contradict each other.

        Makes the folder of the cache, since only that shows whether it can be made.
        """
        self.check_unused()
        if not self.trains:
            check_evaluation(self.cfg)
        make_folder(Path(self.cfg.paths.cache), "paths.cache")
        if self.trains and not self.cfg.data.preview:  # a preview scores nothing
            check_selection(self.cfg)

    def check_unused(self) -> None:
        """Raise UserError if the folder holds a run or scores that this one would replace."""
        held = [name for name in ("best", "last", "scores.csv") if os.path.lexists(self.folder / name)]
        if held and not (self.trains and self.cfg.resume):
            resume = f", or continue the run: {line_to_resume(self.folder)}" if self.trains else ""
            raise UserError(
                f"{self.folder} already holds a run or its scores ({held[0]}): choose another hydra.run.dir{resume}"
            )
        if held == ["best"] and not (self.folder / RUN).exists():
            raise UserError(
                f"{self.folder / 'best'} was not made by a run of cse and would be replaced: choose another "
                "hydra.run.dir"
            )

    def resume_hint(self) -> str:
        """What to tell the user when a run stopped early."""
        if not self.writes:
            return "nothing was trained"
        functions = functions_in(resolved(self.cfg))
        again = call_with(f"resume={self.folder}", functions) if functions else line_to_resume(self.folder)
        if (self.folder / "last").is_dir():
            return f"this continues it: {again}"
        if (self.folder / RUN).is_file():
            return f"nothing is saved yet, this starts again: {again}"
        return "nothing is saved yet"


def check_given(cfg: DictConfig, given: Sequence[Argument]) -> None:
    """Raise UserError for an argument that nothing reads beside the other settings."""
    idle = [argument for argument in given if argument.key in OF_SEPARATE]
    if idle and OmegaConf.select(cfg, "aux_modality.optimizer") == "joint":
        raise UserError(f"{idle[0]} has no effect with aux_modality.optimizer=joint, which is the text's optimizer")


def check_evaluation(cfg: DictConfig) -> None:
    """Raise UserError for settings of cse-eval that contradict each other."""
    if ("_target_" in cfg.model) == (cfg.checkpoint is not None):
        raise UserError("name the encoder to score, by either checkpoint=FOLDER_OR_NAME or model=NAME")
    if not cfg.eval:
        raise UserError("there is nothing to score: set eval=[stsb,sts], for example")
    whitening = cfg.whitening
    if (whitening.kind is None) != (whitening.fit is None) or (whitening.kind is None and whitening.components):
        raise UserError("whitening needs both: whitening.kind=pca (or zca) and whitening.fit=FILE, a file of sentences")


def check_place(folder: Path) -> None:
    """Raise UserError if the folder cannot be made or written, or lies in a run's best/ or last/. Makes nothing."""
    above = (folder.absolute(), *folder.absolute().parents)
    try:
        for place in above:
            if place.name in ("best", "last") and (place.parent / RUN).exists():
                why = f"lies in {place}, which its run replaces"
                raise UserError(f"hydra.run.dir={folder} {why}: name a folder of yours")
        there = next(place for place in above if place.exists())
        reason = None if there.is_dir() and os.access(there, os.W_OK | os.X_OK) else f"{there} is no folder to write in"
    except OSError as error:  # a name that is too long, links in a circle
        reason = error.strerror
    if folder == Path():
        raise UserError("hydra.run.dir is empty or is the current folder; name a folder of yours")
    if reason:
        raise UserError(f"hydra.run.dir={folder}: {reason}; name a folder of yours")


def steps_in_words(cfg: DictConfig) -> str:
    """How many steps a composed cse-train config makes: at most max_steps, or ?, where only reading tells the rows."""
    trainer, rows = cfg.trainer, expected_rows(cfg.data)
    if rows is None:
        return f"at most {trainer.max_steps:,}" if trainer.max_steps else "?"
    full, rest = divmod(rows, trainer.batch_size)
    batches = full if trainer.drop_last or rest < 2 else full + 1  # of an epoch, as cse.data.loader.Batches has them
    planned = max(1, round(trainer.epochs * batches / trainer.accumulate))
    return f"{min(trainer.max_steps or planned, planned):,}"


def expected_rows(data: DictConfig) -> int | None:
    """The rows that are asked for, or a published corpus's, as its paper counts them; None for the user's own text."""
    published = DATASETS.get(data.name)
    rows = OmegaConf.select(data, "rows.n") or OmegaConf.select(data, "rows.limit")
    rows = rows or (published.rows[0] if published and published.rows else None)
    if rows is None or data.limit is None:
        return rows
    return round(data.limit * rows) if isinstance(data.limit, float) else min(data.limit, rows)
