"""results.json, which reports and continued sweeps read, and the trackers that take a run's numbers."""

import math
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from cse.config.groups import own_folders
from cse.files import write_json
from cse.tracking.about import About
from cse.tracking.trackers import Tracker, Trackers
from cse.types import Config, Json

PACKAGES = (
    *("torch", "transformers", "datasets", "accelerate", "sentence-transformers"),
    *("numpy", "scipy", "scikit-learn", "hydra-core", "mteb"),
)
GRACE = 15.0  # seconds for trackers after a signal: who stops a run waits about half a minute


class Record:
    """results.json and the trackers of one run, as a context: a failure is in all of them when it leaves.

    kind: the command. precision: of the arithmetic in training (fp32, bf16, fp16); weights and evaluation are fp32.
    trackers: what builds each of them. resumed_at: the step of the checkpoint that the run goes on from; None for a new
    run. writes: False on all processes but the first, where every method does nothing.
    """

    def __init__(
        self,
        folder: Path,
        config: Config,
        *,
        kind: Literal["train", "eval"],
        device: str,
        precision: str = "fp32",
        trackers: Iterable[partial[Tracker]],
        resumed_at: int | None = None,
        writes: bool = True,
    ):
        self.folder, self.path, self.writes = folder, folder / "results.json", writes
        self.resumed_at, self.builders = resumed_at, trackers
        self.step = resumed_at or 0
        self.metrics: dict[str, float] = {}
        self.kind: Literal["train", "eval"] = kind
        self.content: Json = {
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

    def __enter__(self) -> "Record":
        self.started = time.monotonic()
        if self.writes:
            what = self.content
            about = About(self.kind, what["config"], what["command"], what["git_commit"], what["versions"])
            self.trackers = Trackers(self.folder, about, self.builders, self.resumed_at)
            write_json(self.path, self.content)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if self.writes and error is not None:
            interrupted = isinstance(error, KeyboardInterrupt)
            reason = str(error) if interrupted else f"{type(error).__name__}: {error}"
            self.conclude(
                "interrupted" if interrupted else "failed", error=reason, steps=self.step, metrics=self.metrics
            )
            self.trackers.finish(1, {}, patience=GRACE if interrupted else math.inf)

    def log(self, step: int, metrics: dict[str, float]) -> None:
        """Hand a step's numbers to every tracker."""
        if self.writes:
            self.step = step
            self.trackers.log(metrics, step)

    def conclude(self, status: str, **more: object) -> Json:
        """Write results.json with its last status (done, interrupted, failed) and more; returns its content."""
        self.content |= {"status": status, "wall_seconds": round(time.monotonic() - self.started, 1), **more}
        write_json(self.path, self.content)
        return self.content


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
