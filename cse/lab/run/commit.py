"""The commit of this code, and the versions of packages. A wheel or sdist has the commit that it was built from.

hatch_build.py calls `git_commit` before a package is installed, so this module imports only the standard library.
"""

import logging
import subprocess
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

log = logging.getLogger("cse")

PATCH = 2**20  # bytes: the largest code.patch
PLACES = ("cse", "conf", "sweeps", "hydra_plugins")  # the folders of code
BUILT = "cse/commit.txt"
"""The file that holds the commit from which a wheel or sdist was built."""


def git(*words: str) -> str:
    """Return the output of git for this code's checkout; "" outside a checkout, and without git."""
    here = code_folder()
    if not (here / ".git").exists():
        return ""
    command = ["git", "-c", "safe.directory=*", "-C", str(here), *words]  # the checkout may belong to another user
    try:
        return subprocess.run(command, capture_output=True).stdout.decode(errors="replace")
    except FileNotFoundError:
        return ""


def code_folder() -> Path:
    """Return the folder that contains the package cse: a checkout, or the folder of installed packages."""
    return Path(__file__).resolve().parents[3]


def git_commit() -> str | None:
    """Return the commit of this code; None if unknown.

    The commit ends in "+" if the checkout has changes (see git_patch), or had changes when the wheel was built.
    """
    changed = git("status", "--porcelain", "--untracked-files=no") or new_files()
    if commit := git("rev-parse", "--verify", "--quiet", "HEAD").strip():
        return f"{commit}+" if changed else commit
    built = code_folder() / BUILT
    return built.read_text(encoding="utf-8").strip() if built.is_file() else None


def new_files() -> list[str]:
    """Return the checkout's files of code that git does not track yet."""
    return git("ls-files", "--others", "--exclude-standard", "-z", "--", *PLACES).split("\0")[:-1]


def git_patch() -> str:
    """Return the checkout's changes since its commit, and its new files of code, as a patch for `git apply`.

    If the patch is larger than PATCH bytes, return "" and log a warning.
    """
    diffs = [("HEAD",), *(("--no-index", "/dev/null", name) for name in new_files())]
    patch = "".join(git("diff", "--binary", *what) for what in diffs)
    if len(patch.encode()) > PATCH:
        log.warning("code       the changes since the commit are too large for code.patch: commit the changes")
        return ""
    return patch


def installed(name: str) -> str | None:
    """Return the version of a package, or None if the package is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def versions_of(names: Iterable[str]) -> dict[str, str]:
    """Return {name: version} of the packages that are installed."""
    versions = {name: installed(name) for name in names}
    return {name: known for name, known in versions.items() if known is not None}
