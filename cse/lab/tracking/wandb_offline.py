"""W&B without its server: whether there is a key for it, and what uploads later what runs logged offline."""

import logging
import os
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from cse.files import read_json

log = logging.getLogger(__name__)


def has_key() -> bool:
    """Whether W&B finds an API key in the environment, in its settings, or in the user's netrc file."""
    import wandb
    from requests.utils import get_netrc_auth

    settings = wandb.Settings()  # wandb.setup()'s need its service, which writes files
    settings.update_from_system_settings()
    settings.update_from_env_vars(dict(os.environ))
    return bool(settings.api_key or settings.identity_token_file or get_netrc_auth(settings.base_url))


def sync_line(folder: Path, names: Iterable[str]) -> str:
    """The command that uploads what these runs of a folder logged offline; "" if there is nothing."""
    pieces: list[Path] = []
    for run in (folder / name for name in names):
        file = run / "wandb" / "run.json"
        id = read_json(file).get("id")
        if isinstance(id, str):
            pieces += unsent(Path(os.environ.get("WANDB_DIR") or run) / "wandb", id)
        elif file.exists():
            log.warning("%s is damaged: `wandb sync` uploads what is beside it", file)
    if len(pieces) > 1 and set(folder.glob("*/wandb/offline-run-*")) == set(pieces):
        return f"wandb sync {shlex.quote(str(folder))}/*/wandb/offline-run-*"
    return upload_command(pieces) if pieces else ""


def unsent(folder: Path, id: str) -> list[Path]:
    """What W&B wrote into its folder offline for a run, one piece for each start, and did not upload since."""
    pieces = sorted(folder.glob(f"offline-run-*-{id}"))
    return [piece for piece in pieces if not any(piece.glob("*.synced"))]


def upload_command(pieces: Sequence[Path]) -> str:
    """The command that uploads these pieces. W&B joins the pieces that have one id."""
    return shlex.join(["wandb", "sync", *map(str, pieces)])
