"""The groups of settings and their choices, in conf/ and in the user's own folders, which --config-dir adds.

No import is slow, so that --help answers at once.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from cse.errors import UserError
from cse.lab.settings.conf_files import Default, declared_package, groups_listed, names_listed

PACKAGE_DIR = Path(__file__).resolve().parents[2]
CONF_DIR = str(PACKAGE_DIR / "conf" if (PACKAGE_DIR / "conf").is_dir() else PACKAGE_DIR.parent / "conf")
SWEEPS_DIR = str(Path(CONF_DIR).parent / "sweeps")
"""conf/ and sweeps/ are beside the package cse/ in a checkout, and inside the package in an installed wheel."""

Kind = Literal["train", "evaluate"]
"""The kind of a command: "train" for cse-train, "evaluate" for cse-eval. Its config is composed from conf/KIND.yaml."""
PROGRAMS: dict[Kind, str] = {"train": "cse-train", "evaluate": "cse-eval"}
"""The program of each kind."""
KINDS = {program: kind for kind, program in PROGRAMS.items()}
"""The kind of each program."""

OPTIONAL_GROUPS = ("experiment", "variant", "sweep")
"""The groups from which a command makes no choice by default. Their files set keys of the other groups."""
GLOBAL_GROUPS = (*OPTIONAL_GROUPS, "recipe")
"""The groups whose files set keys of the whole config. A run's other choices decide its recipe."""
ONE_CHOICE_ONLY = ("model", "objective", "augmentation", "aux_modality")
"""The groups whose choices are in the file names of conf/recipe. For a list of choices, Hydra would find no recipe."""
SWEEP_KEYS = ("cases", "report", "same_runs_as", "search_each")
"""The keys that a sweep's file has in addition to settings."""


def groups(kind: Kind) -> dict[str, Default]:
    """Return the groups of a kind of command, each with its default, in the order of the command's defaults list."""
    return groups_listed(Path(CONF_DIR, f"{kind}.yaml"))


def is_group(key: str) -> bool:
    """Return whether a key is a group: a folder of conf/, or `sweep`."""
    root = key.partition("@")[0].partition("/")[0]
    return root == "sweep" or os.path.isdir(Path(CONF_DIR, root))  # Path.is_dir raises OSError for a very long name


def choices(group: str) -> list[str]:
    """Return the choices of a group, sorted. A file whose name begins with _ is no choice: other files include it."""
    pattern = "*/*.yaml" if group == "sweep" else "[!_]*.yaml"  # PAPER/TABLE
    names = [path.relative_to(folder) for folder in folders_of(group) for path in folder.glob(pattern)]
    return sorted(name.with_suffix("").as_posix() for name in names)


def file_of(group: str, choice: str) -> Path:
    """Return the YAML file of an existing choice."""
    return next(path for folder in folders_of(group) if (path := folder / f"{choice}.yaml").is_file())


def section_of(group: str, file: Path) -> list[str]:
    """Return the parent keys of a choice's settings in a config: [] for the top, ["eval", NAME], or [GROUP]."""
    if declared_package(file) == "_global_":
        return []
    return [group, file.stem] if group == "eval" else [group]


def included(file: Path) -> list[Path]:
    """Return a choice's file and all files that the file includes, also indirectly, in Hydra's order."""
    listed = names_listed(file)
    files: list[Path] = []
    for name in listed if "_self_" in listed else [*listed, "_self_"]:
        if name == "_self_":
            files.append(file)
            continue
        group = file.parent.name
        places = [folder / f"{name}.yaml" for folder in folders_of(group)]
        for path in filter(Path.is_file, places):
            files += included(path)
    return files


def folders_of(group: str) -> list[Path]:
    """Return the folders with a group's YAML files, first the folder of cse; [] for a group that does not exist."""
    ours = Path(SWEEPS_DIR) if group == "sweep" else Path(CONF_DIR, group)
    return [*filter(os.path.isdir, [ours, *(folder / group for folder in user_folders())])]


# The user's own folders


FOLDERS_VARIABLE = "CSE_CONF"
"""The environment variable with the user's folders, joined as in PATH. Each folder has subfolders of groups, as conf/
has. --config-dir sets the variable, which all processes of a run and of a sweep's jobs inherit, also on a cluster."""


def user_folders() -> list[Path]:
    """Return the folders that --config-dir or CSE_CONF names."""
    return [Path(folder) for folder in os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep) if folder]


def config_dirs() -> list[str]:
    """Return the arguments that name the user's own folders: --config-dir FOLDER for each folder."""
    return [argument for folder in user_folders() for argument in ("--config-dir", str(folder))]


def adopt_folders(arguments: Sequence[str]) -> list[str]:
    """Add the folders of --config-dir to the user's own folders, and return the arguments without --config-dir.

    Raises UserError for a flag without a folder, a folder that cannot be used, and a choice that exists already.
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
            raise UserError(f"{flag} lacks its value: give --config-dir FOLDER")
    folders = list(dict.fromkeys(Path(name).expanduser().absolute() for name in names))
    check_folders(folders)
    if folders:
        os.environ[FOLDERS_VARIABLE] = os.pathsep.join(map(str, folders))
    return others


def check_folders(folders: Sequence[Path]) -> None:
    """Raise UserError for a folder that does not exist, has no choices, or has a name that cannot be in CSE_CONF.

    Also raise UserError for a file with the same relative path as a file of cse or of an earlier folder, because only
    the first of the two files would be read.
    """
    group_folders = [*sorted(path.name for path in Path(CONF_DIR).iterdir() if path.is_dir()), "sweep"]
    for folder in folders:
        if os.pathsep in str(folder):
            raise UserError(
                f"--config-dir {folder}: in {FOLDERS_VARIABLE} a {os.pathsep!r} separates folders: rename this folder"
            )
        if not os.path.isdir(folder):
            raise UserError(f"--config-dir {folder}: there is no such folder")
        if not any((folder / name).is_dir() for name in group_folders):
            raise UserError(f"--config-dir {folder}: it has no folder of a group, such as objective/ or eval/")
    owners = {path.relative_to(CONF_DIR): "cse" for path in Path(CONF_DIR).rglob("*.yaml")}
    owners |= {Path("sweep", path.relative_to(SWEEPS_DIR)): "cse" for path in Path(SWEEPS_DIR).rglob("*.yaml")}
    for folder in {folder.resolve(): folder for folder in folders}.values():  # a link and its folder are the same
        for path in sorted(path for group in group_folders for path in (folder / group).rglob("*.yaml")):
            name = path.relative_to(folder)
            owner = owners.setdefault(name, str(folder))
            if owner != str(folder):
                group = "sweep" if name.parts[0] == "sweep" else name.parent.as_posix()  # PAPER/TABLE is one choice
                choice = name.with_suffix("").as_posix().removeprefix(f"{group}/")
                raise UserError(f"{path}: {group}={choice} is a choice of {owner} already; give yours another name")
