"""The facts about a W&B run in the run's folder, and the command that uploads an offline run."""

import logging
import os
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from cse.files import read_json, write_json
from cse.score import Score

log = logging.getLogger(__name__)


@dataclass
class KeptRun:
    """The facts in wandb/run.json in a run's folder, by which a resumed run continues its W&B run.

    id: the id of the W&B run. best: the best value so far of each dev score.
    """

    id: str
    best: dict[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> "KeptRun | None":
        """Return the facts in a run's folder; None without a file, and None with a warning for a damaged file."""
        file = file_of_kept(folder)
        content = read_json(file)
        id, best = content.get("id"), content.get("best", {})
        if isinstance(id, str) and isinstance(best, dict):
            return cls(id, {name: value for name, value in best.items() if value is not None})  # null: infinity
        if file.exists():
            log.warning("%s is damaged: `wandb sync` uploads the files beside it", file)
        return None

    def keep_if_better(self, score: Score) -> None:
        """If a dev score is the best so far, set it in `best`."""
        earlier = replace(score, value=self.best[score.name]) if score.name in self.best else None
        if score.better_than(earlier):
            self.best[score.name] = score.value

    def write(self, folder: Path) -> None:
        """Write the facts into a run's folder."""
        write_json(file_of_kept(folder), asdict(self))


def file_of_kept(folder: Path) -> Path:
    """Return the file with the facts about a run's W&B run."""
    return folder / "wandb" / "run.json"


def sync_line(folder: Path, names: Iterable[str]) -> str:
    """Return the command that uploads the offline logs of these runs in `folder`; "" without logs."""
    pieces: list[Path] = []
    for run in (folder / name for name in names):
        if kept := KeptRun.read(run):
            pieces += unsent(Path(os.environ.get("WANDB_DIR") or run) / "wandb", kept.id)
    if len(pieces) > 1 and set(folder.glob("*/wandb/offline-run-*")) == set(pieces):
        return f"wandb sync {shlex.quote(str(folder))}/*/wandb/offline-run-*"
    return upload_command(pieces) if pieces else ""


def unsent(folder: Path, id: str) -> list[Path]:
    """Return the folders of an offline W&B run that are not uploaded yet. Each start of the run writes one folder."""
    pieces = sorted(folder.glob(f"offline-run-*-{id}"))
    return [piece for piece in pieces if not any(piece.glob("*.synced"))]


def upload_command(pieces: Sequence[Path]) -> str:
    """Return the command that uploads these folders. W&B joins folders with the same id."""
    return shlex.join(["wandb", "sync", *map(str, pieces)])
