"""conf/ as a list of what can be chosen. Standard library only, so that --help answers at once."""

from pathlib import Path

PACKAGE_DIR = Path(__file__).resolve().parents[1]
CONF_DIR = str(PACKAGE_DIR / "conf" if (PACKAGE_DIR / "conf").is_dir() else PACKAGE_DIR.parent / "conf")
SWEEPS_DIR = str(Path(CONF_DIR).parent / "sweeps")
"""conf/ and sweeps/ beside cse/ in a checkout, inside it in an installed wheel."""


def choices(group: str) -> list[str]:
    """What `GROUP=` takes, sorted. A file whose name begins with _ is only included by others."""
    return sorted(path.stem for path in Path(CONF_DIR, group).glob("[!_]*.yaml"))


def first_comment(group: str, choice: str) -> str:
    """The first sentence of a choice's YAML: comment lines up to a period at a line's end, `# @package` left out."""
    lines = Path(CONF_DIR, group, f"{choice}.yaml").read_text(encoding="utf-8").splitlines()
    words: list[str] = []
    for line in lines:
        if not line.startswith("#"):
            break
        if not line.startswith(("# @package", "# cse-train")):
            words.append(line.lstrip("# "))
            if line.endswith("."):
                break
    return " ".join(words).removesuffix(".")
