"""The config groups and their choices, in conf/ and in the user's own folders. Nothing slow is imported, so that --help
answers at once.
"""

import os
from pathlib import Path
from typing import Literal

from cse.lab.settings.conf_files import Default, declared_package, groups_listed, names_listed

PACKAGE_DIR = Path(__file__).resolve().parents[2]
CONF_DIR = str(PACKAGE_DIR / "conf" if (PACKAGE_DIR / "conf").is_dir() else PACKAGE_DIR.parent / "conf")
SWEEPS_DIR = str(Path(CONF_DIR).parent / "sweeps")
"""conf/ and sweeps/ beside cse/ in a checkout, inside it in an installed wheel."""

Kind = Literal["train", "evaluate"]
"""The kind of a command: what cse-train does, or what cse-eval does. conf/KIND.yaml is where its settings begin."""
PROGRAMS: dict[Kind, str] = {"train": "cse-train", "evaluate": "cse-eval"}
"""The program of each kind."""
KINDS = {program: kind for kind, program in PROGRAMS.items()}
"""The kind of each program."""

OPTIONAL_GROUPS = ("experiment", "variant", "sweep")
"""The groups that a command has only if it names them. Their files set keys of the other groups."""
GLOBAL_GROUPS = (*OPTIONAL_GROUPS, "recipe")
"""The groups whose files set keys of the whole config. The other choices of a run choose its recipe."""
ONE_CHOICE_ONLY = ("model", "objective", "augmentation", "aux_modality")
"""The groups whose choices name the files of conf/recipe. Of a list of choices Hydra would find none, silently."""
SWEEP_KEYS = ("cases", "report", "same_runs_as", "search_each")
"""The keys that a sweep's file has beside settings."""

FOLDERS_VARIABLE = "CSE_CONF"
"""The environment variable with folders laid out as conf/ is, joined as in PATH. --config-dir sets it, as all processes
of a run and of a sweep's jobs inherit it, those on a cluster too."""


def groups(kind: Kind) -> dict[str, Default]:
    """The groups of a kind of command in the order of its defaults list, each with what it has there."""
    return groups_listed(Path(CONF_DIR, f"{kind}.yaml"))


def is_group(key: str) -> bool:
    """Whether a key chooses from a folder of conf/, or a sweep."""
    root = key.partition("@")[0].partition("/")[0]
    return root == "sweep" or Path(CONF_DIR, root).is_dir()


def choices(group: str) -> list[str]:
    """The choices of `GROUP=`, sorted. A file whose name begins with _ is none: other files include it."""
    pattern = "*/*.yaml" if group == "sweep" else "[!_]*.yaml"  # PAPER/TABLE
    names = [path.relative_to(folder) for folder in folders_of(group) for path in folder.glob(pattern)]
    return sorted(name.with_suffix("").as_posix() for name in names)


def file_of(group: str, choice: str) -> Path:
    """The YAML file of an existing choice."""
    return next(path for folder in folders_of(group) if (path := folder / f"{choice}.yaml").is_file())


def section_of(group: str, file: Path) -> list[str]:
    """Where in a config the settings of a choice lie: [] at the top, ["eval", NAME], or [GROUP]."""
    if declared_package(file) == "_global_":
        return []
    return [group, file.stem] if group == "eval" else [group]


def included(file: Path) -> list[Path]:
    """A choice's file, after the files of its group that its defaults list names, or where the list has `_self_`."""
    listed = names_listed(file)
    files: list[Path] = []
    for name in listed if "_self_" in listed else [*listed, "_self_"]:
        if name == "_self_":
            files.append(file)
            continue
        places = [folder / f"{name}.yaml" for folder in folders_of(file.parent.name)]  # a group is its folder's name
        for path in filter(Path.is_file, places):
            files += included(path)
    return files


def folders_of(group: str) -> list[Path]:
    """The folders of a group's YAML files, ours first."""
    ours = Path(SWEEPS_DIR) if group == "sweep" else Path(CONF_DIR, group)
    return [ours, *(folder / group for folder in user_folders())]


def user_folders() -> list[Path]:
    """The folders that --config-dir or CSE_CONF names."""
    return [Path(folder) for folder in os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep) if folder]
