"""One run or evaluation, and its folder: made once nothing can refuse it, with a record of how it was started."""

import os
from dataclasses import dataclass
from pathlib import Path

import yaml
from omegaconf import DictConfig, OmegaConf

from cse.config.compose import resolved
from cse.config.groups import own_folders
from cse.config.spelling import line_to_resume
from cse.errors import UserError
from cse.files import make_folder, write_text
from cse.record.results import git_patch
from cse.run.logs import begin_log_files

RUN = "run.yaml"
"""The run's resolved, checked config as data. `resume=FOLDER` reads it; `.hydra/` is for people."""

ABOUT = f"# {RUN}: this run's settings as data. cse-train resume=FOLDER reads them, and lays what is typed over them.\n"


@dataclass(frozen=True)
class Job:
    """One run or evaluation: cfg, the settings that it uses; words, what was typed; folder, where it will be.

    hydra: a config of Hydra's own node alone, as composed.
    """

    cfg: DictConfig
    words: list[str]
    folder: Path
    hydra: DictConfig

    @property
    def trains(self) -> bool:
        """Whether it is a run of cse-train, not an evaluation."""
        return "trainer" in self.cfg

    @property
    def writes(self) -> bool:
        """False for dry_run and data.preview, which leave nothing."""
        return not self.trains or not (self.cfg.dry_run or self.cfg.data.preview)

    def check_unused(self) -> None:
        """Raise UserError if the folder holds a run or scores that this one would replace."""
        names = ("best", "last") if self.trains else ("best", "last", "scores.csv")
        held = [name for name in names if os.path.lexists(self.folder / name)]
        if held and not (self.trains and self.cfg.resume):
            raise UserError(
                f"{self.folder} already holds a run or its scores ({held[0]}): choose another hydra.run.dir, or resume "
                "the run with cse-train resume=auto"
            )
        if held == ["best"] and not any((self.folder / name).exists() for name in (RUN, ".hydra")):
            raise UserError(
                f"{self.folder / 'best'} was not made by a run of cse and would be replaced: choose another "
                "hydra.run.dir"
            )

    def files(self) -> dict[str, str]:
        """The files, text by name, that record how the run was started."""
        run = {"config_dirs": list(map(str, own_folders())), "config": resolved(self.cfg)}
        return {
            ".hydra/config.yaml": OmegaConf.to_yaml(self.cfg),
            ".hydra/hydra.yaml": OmegaConf.to_yaml(self.hydra),
            ".hydra/overrides.yaml": yaml.safe_dump(self.words, allow_unicode=True),
            **({"code.patch": patch} if (patch := git_patch()) else {}),
            RUN: ABOUT + yaml.safe_dump(run, sort_keys=False, allow_unicode=True),
        }

    def make_folder(self) -> None:
        """Make the folder, its files and its log. Raises UserError if it cannot be made."""
        make_folder(self.folder, "hydra.run.dir")
        for name, text in self.files().items():
            write_text(self.folder / name, text)
        begin_log_files()

    def resume_hint(self) -> str:
        """What to tell the user when a run stopped early."""
        if not self.writes:
            return "nothing was trained"
        again = line_to_resume(self.folder)
        if (self.folder / "last").is_dir():
            return f"this goes on: {again}"
        if (self.folder / RUN).is_file():
            return f"nothing is saved yet, this starts again: {again}"
        return "nothing is saved yet"


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
