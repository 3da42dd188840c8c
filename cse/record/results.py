"""results.json: what a run is from its first moment on, how it ended and what it scored. Reports and sweeps read it."""

import shlex
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from cse.config.groups import own_folders
from cse.dotted import Config, Json

PACKAGES = (
    *("torch", "transformers", "datasets", "accelerate", "sentence-transformers"),
    *("numpy", "scipy", "scikit-learn", "hydra-core", "mteb"),
)


def first_results(config: Config, device: str, precision: str) -> Json:
    """What results.json holds when a run begins. precision: of training (fp32, bf16, fp16); scoring is fp32."""
    return {
        "status": "running",
        "config": config,
        "seed": config.get("seed"),
        "command": command_line(),
        "git_commit": git_commit(),
        "versions": {"python": sys.version.split()[0]} | {name: v for name in PACKAGES if (v := installed(name))},
        "device": device,
        "precision": precision,
        "metrics": {},
    }


def command_line() -> str:
    """What was typed, as a shell takes it again."""
    own = [word for folder in own_folders() for word in ("--config-dir", str(folder))]
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:], *own])


def git_commit() -> str | None:
    """The commit of the checkout that this code runs from, "+" where files differ from it; None outside one."""
    here = Path(__file__).resolve().parents[2]
    if not (here / ".git").exists():
        return None

    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", str(here), *words], capture_output=True, text=True).stdout.strip()

    return (git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain") else "")) or None


def installed(name: str) -> str | None:
    """The version of an installed package, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None
