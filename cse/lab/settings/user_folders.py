"""The folders of --config-dir: laid out as conf/ is, with choices of the user's own."""

import os
from collections.abc import Sequence
from pathlib import Path

from cse.errors import UserError
from cse.lab.settings.groups import CONF_DIR, FOLDERS_VARIABLE, SWEEPS_DIR, user_folders


def config_dirs() -> list[str]:
    """The arguments that name these folders: --config-dir FOLDER for each."""
    return [argument for folder in user_folders() for argument in ("--config-dir", str(folder))]


def adopt_folders(arguments: Sequence[str]) -> list[str]:
    """Add the folders of --config-dir to the user's own. Returns the arguments without it.

    Raises UserError for a flag without a folder, a folder that does not exist, and a choice whose name is taken.
    """
    others: list[str] = []
    names = [str(folder) for folder in user_folders()]
    remaining = iter(arguments)
    for argument in remaining:
        flag, equals, value = argument.partition("=")
        if flag not in ("--config-dir", "-cd"):
            others.append(argument)
            continue
        names.append(value if equals else next(remaining, ""))
        if not names[-1]:
            raise UserError(f"{flag} lacks its value: type --config-dir FOLDER")
    folders = list(dict.fromkeys(Path(name).expanduser().absolute() for name in names))
    for folder in folders:
        if os.pathsep in str(folder):
            raise UserError(f"--config-dir {folder}: {FOLDERS_VARIABLE} joins folders by {os.pathsep}: rename this one")
        if not folder.is_dir():
            raise UserError(f"--config-dir {folder}: there is no such folder")
        if not any((folder / root).is_dir() for root in roots()):
            raise UserError(f"--config-dir {folder}: it has no folder of a group, such as objective/ or eval/")
    refuse_taken_names(folders)
    if folders:
        os.environ[FOLDERS_VARIABLE] = os.pathsep.join(map(str, folders))
    return others


def roots() -> list[str]:
    """The folders that a folder of the user's own may have: those of conf/, and sweep."""
    return [*sorted(path.name for path in Path(CONF_DIR).iterdir() if path.is_dir()), "sweep"]


def refuse_taken_names(folders: Sequence[Path]) -> None:
    """Raise UserError for a file that cse or an earlier folder has too, at any depth: only the first would be read."""
    owners = {path.relative_to(CONF_DIR): "cse" for path in Path(CONF_DIR).rglob("*.yaml")}
    owners |= {Path("sweep", path.relative_to(SWEEPS_DIR)): "cse" for path in Path(SWEEPS_DIR).rglob("*.yaml")}
    for folder in {folder.resolve(): folder for folder in folders}.values():  # a link and its folder are one
        for path in sorted(path for root in roots() for path in (folder / root).rglob("*.yaml")):
            name = path.relative_to(folder)
            owner = owners.setdefault(name, str(folder))
            if owner != str(folder):
                group = "sweep" if name.parts[0] == "sweep" else name.parent.as_posix()  # PAPER/TABLE is one choice
                choice = name.with_suffix("").as_posix().removeprefix(f"{group}/")
                raise UserError(f"{path}: {group}={choice} is a choice of {owner} already; give yours another name")
