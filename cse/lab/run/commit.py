"""The commit of this code, and the versions of packages. A wheel or sdist has the commit that it was built from.

hatch_build.py calls `git_commit` before anything is installed, so this module imports only the standard library.
"""

import logging
import subprocess
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

log = logging.getLogger("cse")

PATCH = 2**20  # bytes
PLACES = ("cse", "conf", "sweeps", "hydra_plugins")  # of code
BUILT = "cse/commit.txt"
"""The file of a wheel or sdist that holds the commit that it was built from."""


def git(*words: str) -> str:
    """The output of git for this code's checkout; "" outside a checkout, and without git."""
    here = code_folder()
    if not (here / ".git").exists():
        return ""
    command = ["git", "-c", "safe.directory=*", "-C", str(here), *words]  # it may belong to another user
    try:
        return subprocess.run(command, capture_output=True).stdout.decode(errors="replace")
    except FileNotFoundError:
        return ""


def code_folder() -> Path:
    """The folder of the package cse: a checkout, or where packages are installed."""
    return Path(__file__).resolve().parents[3]


def git_commit() -> str | None:
    """The commit of this code; None if unknown.

    It ends in "+" if the checkout has changes (see git_patch), or had changes when the wheel was built.
    """
    changed = git("status", "--porcelain", "--untracked-files=no") or new_files()
    if commit := git("rev-parse", "--verify", "--quiet", "HEAD").strip():
        return f"{commit}+" if changed else commit
    built = code_folder() / BUILT
    return built.read_text(encoding="utf-8").strip() if built.is_file() else None


def new_files() -> list[str]:
    """The checkout's new files of code, which git does not track yet."""
    return git("ls-files", "--others", "--exclude-standard", "-z", "--", *PLACES).split("\0")[:-1]


def git_patch() -> str:
    """The changes of the checkout since its commit, and its new files of code, for `git apply`.

    If there are more than PATCH bytes, the result is "", with a warning.
    """
    diffs = [("HEAD",), *(("--no-index", "/dev/null", name) for name in new_files())]
    patch = "".join(git("diff", "--binary", *what) for what in diffs)
    if len(patch.encode()) > PATCH:
        log.warning("code       its changes since the commit are too large to be kept in code.patch: commit them")
        return ""
    return patch


def installed(name: str) -> str | None:
    """The version of an installed package, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def versions_of(names: Iterable[str]) -> dict[str, str]:
    """The versions of the packages that are installed, by name."""
    versions = {name: installed(name) for name in names}
    return {name: known for name, known in versions.items() if known is not None}
