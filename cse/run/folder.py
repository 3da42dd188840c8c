"""A run's folder: made once nothing can refuse the run any more, with a record of how the run was started."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from omegaconf import DictConfig, OmegaConf

from cse.config.compose import resolved, without_hydra
from cse.config.groups import own_folders
from cse.config.spelling import line_to_resume
from cse.errors import UserError
from cse.files import make_folder, write_text
from cse.run.logs import begin_log_files

RUN = "run.yaml"
"""The run's resolved, checked config as data. `resume=FOLDER` reads it; `.hydra/` is for people."""

ABOUT = f"# {RUN}: this run's settings as data. cse-train resume=FOLDER reads them, and lays what is typed over them.\n"


@dataclass(frozen=True)
class RunFolder:
    """Where a run will be. files: the text of each file that `make` writes, by name.

    writes: False for dry_run and data.preview, which leave nothing.
    """

    path: Path
    files: dict[str, str]
    writes: bool = True

    def make(self) -> None:
        """Make the folder, its files and its log. Raises UserError if it cannot be made."""
        make_folder(self.path, "hydra.run.dir")
        for name, text in self.files.items():
            write_text(self.path / name, text)
        begin_log_files()

    def resume_hint(self) -> str:
        """What to tell the user when a run stopped early."""
        if not self.writes:
            return "nothing was trained"
        again = line_to_resume(self.path)
        if (self.path / "last").is_dir():
            return f"this goes on: {again}"
        if (self.path / RUN).is_file():
            return f"nothing is saved yet, this starts again: {again}"
        return "nothing is saved yet"


def files_to_write(composed: DictConfig, cfg: DictConfig, words: Sequence[str]) -> dict[str, str]:
    """The files, text by name, that record how a run was started.

    composed: the config with Hydra's own node, as Hydra's own jobs record it. cfg: the config that the run uses.
    words: what was typed.
    """
    run = {"config_dirs": list(map(str, own_folders())), "config": resolved(cfg)}
    return {
        ".hydra/config.yaml": OmegaConf.to_yaml(without_hydra(composed)),
        ".hydra/hydra.yaml": OmegaConf.to_yaml(OmegaConf.masked_copy(composed, ["hydra"])),
        ".hydra/overrides.yaml": OmegaConf.to_yaml(OmegaConf.create(list(words))),
        RUN: ABOUT + yaml.safe_dump(run, sort_keys=False, allow_unicode=True),
    }


def check_place(folder: Path) -> None:
    """Raise UserError if the folder cannot be made or written, or lies in a run's best/ or last/. Makes nothing."""
    above = (folder.absolute(), *folder.absolute().parents)
    try:
        if own := next((one for one in above if one.name in ("best", "last") and (one.parent / RUN).exists()), None):
            raise UserError(f"hydra.run.dir={folder} lies in {own}, which its run replaces: name a folder of yours")
        there = next(place for place in above if place.exists())
        reason = None if there.is_dir() and os.access(there, os.W_OK | os.X_OK) else f"{there} is no folder to write in"
    except OSError as error:  # a name that is too long, links in a circle
        reason = error.strerror
    if reason or folder == Path():
        raise UserError(f"hydra.run.dir={folder}: {reason or 'that is not a name'}; name a folder of yours")


def check_unused(cfg: DictConfig, command: str, folder: Path) -> None:
    """Raise UserError if the folder holds a run or scores that the new run or evaluation would replace."""
    names = ("best", "last", "scores.csv") if command == "evaluate" else ("best", "last")
    held = [name for name in names if os.path.lexists(folder / name)]
    if held and (command == "evaluate" or cfg.resume is None):
        raise UserError(
            f"{folder} already holds a run or its scores ({held[0]}): choose another hydra.run.dir, or resume the run "
            "with cse-train resume=auto"
        )
    if held == ["best"] and not any((folder / name).exists() for name in (RUN, ".hydra")):
        raise UserError(
            f"{folder / 'best'} was not made by a run of cse and would be replaced: choose another hydra.run.dir"
        )
