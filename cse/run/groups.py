"""conf/ as a list of what can be chosen. Standard library only, so that --help answers at once."""

import re
from pathlib import Path

PACKAGE_DIR = Path(__file__).resolve().parents[1]
CONF_DIR = str(PACKAGE_DIR / "conf" if (PACKAGE_DIR / "conf").is_dir() else PACKAGE_DIR.parent / "conf")
SWEEPS_DIR = str(Path(CONF_DIR).parent / "sweeps")
"""conf/ and sweeps/ beside cse/ in a checkout, inside it in an installed wheel."""


def groups(config_name: str) -> dict[str, str]:
    """The groups that a command chooses from, in the order of its defaults list, and what its YAML says of each."""
    text = Path(CONF_DIR, f"{config_name}.yaml").read_text(encoding="utf-8")
    return dict(re.findall(r"^  - (\w+): [^#\n]*# (.*)$", text, re.MULTILINE))


def choices(group: str) -> list[str]:
    """What `GROUP=` takes, sorted. A file whose name begins with _ is only included by others."""
    folder = folder_of(group)
    files = folder.glob("*/*.yaml" if group == "sweep" else "[!_]*.yaml")  # PAPER/TABLE
    return sorted(path.relative_to(folder).with_suffix("").as_posix() for path in files)


def first_comment(group: str, choice: str) -> str:
    """The first sentence of a choice's YAML, without its period. `# @package` and the choice's own command are no part
    of it."""
    words: list[str] = []
    for line in (folder_of(group) / f"{choice}.yaml").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        if not re.match(r"# (@package|(\w+=\S+ )?cse-train )", line):
            words.append(line.lstrip("# "))
    return re.split(r"\. (?=[A-Z])", " ".join(words))[0].removesuffix(".")


def folder_of(group: str) -> Path:
    """Where a group's YAML files are."""
    return Path(SWEEPS_DIR) if group == "sweep" else Path(CONF_DIR, group)
