"""Weights & Biases, which may never delay a run by more than seconds, let alone end it.

Without an API key, or where the server does not answer a TCP connection within 2 seconds, the run is logged offline
and one warning gives the `wandb sync` command that uploads it later. W&B's own step counter drops what a resumed run
repeats, so `train/step` is a logged metric and the x axis of all others.
"""

import logging
import netrc
import os
import secrets
import shlex
import socket
import threading
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from cse.dotted import Config, Json
from cse.files import write_text
from cse.ranges import Name, Positive

log = logging.getLogger(__name__)

PREFLIGHT_SECONDS = 2.0


class Wandb:
    """One W&B run.

    folder: the run's; W&B writes into folder/wandb unless WANDB_DIR says otherwise. config: the resolved config.
    resume_step: not None where the run in `folder` goes on; it then keeps its W&B id.
    mode: "auto" (online with a key and a server that answers, else offline), "online" (W&B tries by itself, up to
    init_timeout, then offline), "offline" (never asks the network).
    id: null draws one and keeps it in folder/wandb/id. name: null is the folder's name. notes: the command line.
    init_timeout, finish_timeout: seconds for the server to accept the run, and for the last upload.
    """

    def __init__(
        self,
        folder: str | Path,
        config: Config,
        mode: Literal["auto", "online", "offline"],
        project: Name,
        init_timeout: Positive,
        finish_timeout: Positive,
        resume_step: int | None = None,
        entity: Name | None = None,
        group: Name | None = None,
        name: Name | None = None,
        job_type: Name | None = None,
        tags: list[Name] | None = None,
        notes: str | None = None,
        id: Name | None = None,
    ):
        import wandb

        self.wandb, folder = wandb, Path(folder)
        wandb.setup(wandb.Settings(silent=True))
        settings = wandb.Settings(
            silent=True, console="off", symlink=False, init_timeout=init_timeout, finish_timeout=finish_timeout
        )
        start: Config = dict(
            project=project,
            entity=entity,
            group=group,
            name=name or folder.resolve().name,
            job_type=job_type,
            tags=tags,
            notes=notes,
            config=config,
            settings=settings,
            reinit="finish_previous",
            dir=os.environ.get("WANDB_DIR") or str(folder),
        )
        run_id = id or stored_id(folder, new=resume_step is None)
        why_offline = "" if mode == "offline" else why_not_online(ask_server=mode == "auto")
        if mode != "offline" and not why_offline:
            try:
                self.run = wandb.init(**start, id=run_id, mode="online", resume="allow")
            except Exception as error:  # a refused key, a proxy's page, a timeout: W&B has no common base for these
                why_offline = f"{type(error).__name__}: {' '.join(str(error).split())}"
                run_id = id or stored_id(folder, new=True)  # W&B's service holds on to the one that failed
        if mode == "offline" or why_offline:
            self.run = wandb.init(**start, id=run_id, mode="offline")  # one id joins all pieces at `wandb sync`
        if why_offline:
            log.warning("W&B is offline (%s); upload this run later with: %s", why_offline, self.where)
        self._define_metrics()

    def _define_metrics(self) -> None:
        """Give every chart the x axis train/step, and a run's summary the best dev score."""
        self.run.define_metric("train/step")
        for split in ("train", "test"):  # patterns that never overlap: which of two wins is left to chance
            self.run.define_metric(f"{split}/*", step_metric="train/step")
        self.run.define_metric("dev/*", step_metric="train/step", summary="max")

    @property
    def where(self) -> str:
        """The run's page, or the command that uploads it."""
        offline = self.run.settings.mode == "offline"
        return f"wandb sync {shlex.quote(str(Path(self.run.dir).parent))}" if offline else str(self.run.url)

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Metrics of one step, by name."""
        self.run.log({**metrics, "train/step": step})

    def image(self, name: str, path: Path, step: int) -> None:
        """A picture in a PNG file."""
        self.run.log({name: self.wandb.Image(str(path)), "train/step": step})

    def table(self, name: str, columns: list[str], rows: Sequence[Sequence[object]]) -> None:
        """A table; each row has a value for each column."""
        self.run.log({name: self.wandb.Table(columns=[*columns], data=[list(row) for row in rows])})

    def finish(self, exit_code: int, summary: Json) -> None:
        """Close the run with its scores; waits at most finish_timeout for the upload."""
        self.run.summary.update(summary)
        self.run.finish(exit_code=exit_code)


def stored_id(folder: Path, new: bool) -> str:
    """The run's W&B id, stored in its folder, so that a resumed run goes on where it stopped."""
    path = folder / "wandb" / "id"
    if new or not path.exists():
        write_text(path, secrets.token_hex(4))
    return path.read_text(encoding="utf-8").strip()


def why_not_online(ask_server: bool) -> str:
    """Why W&B cannot be online, in a few words; "" where it can."""
    import wandb

    settings = wandb.setup().settings
    server = urlsplit(settings.base_url)
    if not (settings.api_key or settings.identity_token_file or in_netrc(server.hostname or "")):
        return "no API key: `wandb login` stores one"
    if ask_server and not answers(server.geturl(), PREFLIGHT_SECONDS):
        return f"{server.hostname} did not answer within {PREFLIGHT_SECONDS:g} s"
    return ""


def in_netrc(host: str) -> bool:
    """Whether the user's netrc file, where `wandb login` puts the key, has one for `host`."""
    path = Path(os.environ.get("NETRC") or "~/.netrc").expanduser()
    try:
        return netrc.netrc(path).authenticators(host) is not None
    except (OSError, netrc.NetrcParseError):
        return False


def answers(url: str, seconds: float) -> bool:
    """Whether `url`'s host, or the proxy on the way to it, takes a TCP connection within `seconds`.

    In a thread, because a timeout of `create_connection` does not bound the name's look-up.
    """
    host = urlsplit(url).hostname or ""
    proxy = None if urllib.request.proxy_bypass(host) else urllib.request.getproxies().get(urlsplit(url).scheme)
    target = urlsplit(proxy or url)
    port = target.port or {"http": 80, "https": 443}[target.scheme]
    reached = threading.Event()

    def connect() -> None:
        try:
            socket.create_connection((target.hostname or "", port), timeout=seconds).close()
            reached.set()
        except OSError:
            pass

    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(seconds)
    return reached.is_set()
