"""Weights & Biases, offline where there is no API key or the server does not take the run in time.

One warning then gives the `wandb sync` command that uploads it later. W&B's own step counter drops what a resumed run
repeats, so `train/step` is a logged metric and the x axis of all others.
A W&B run's config has the choice of each group under the group's name, so that a dashboard groups by `objective`, and
every setting below `settings`. Its summary has the best of each dev score so far, as a number that sweeps can read.
"""

import logging
import math
import os
import secrets
import shlex
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict

from cse.dotted import Config, Json
from cse.errors import in_short
from cse.eval.score import nature
from cse.files import write_json
from cse.ranges import Name, Positive
from cse.record.events import read_events
from cse.record.results import checked
from cse.tracking.about import About

log = logging.getLogger(__name__)

RESULTS = ("results.json", "metrics.jsonl", "train.log", "scores.csv", "plots")  # of a run's folder, where they are
TEARDOWN_SECONDS = 2.0


class Kept(TypedDict):
    """wandb/run.json: which W&B run a folder's is. It may be a stranger's: nothing else in it counts."""

    id: Annotated[str, Field(pattern=r"^[\w.-]{1,128}$")]
    project: str
    entity: str | None


class Wandb:
    """One W&B run.

    folder: the run's; W&B writes into folder/wandb unless WANDB_DIR says otherwise. resume_step: not None where the
    run in `folder` goes on; it then goes on in the same W&B run, unless entity or project differ.
    mode: "online" (W&B tries for init_timeout seconds, then offline), "offline" (never asks the network), "disabled"
    (W&B's own word for nothing at all). name, job_type, notes: null for OBJECTIVE-MODEL-sSEED, train or eval, and the
    command line. tags: beside those of the choices. id: null draws one. artifact: whether best/ and the results are
    uploaded as artifacts when it is done. finish_timeout: seconds for the last upload.
    """

    def __init__(
        self,
        folder: str | Path,
        about: About,
        mode: Literal["online", "offline", "disabled"],
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
        artifact: bool = False,
    ):
        import wandb

        self.wandb, self.folder, self.about, self.artifact = wandb, Path(folder), about, artifact
        self.patience = finish_timeout + 5  # seconds; W&B's own limit comes first, with its own message
        self.best: dict[str, float] = {}
        self.kept = self.folder / "wandb" / "run.json"  # which W&B run this folder's is
        self.identity: Json = {"id": id or secrets.token_hex(4), "project": project, "entity": entity}
        if resume_step is not None:
            self._go_on()
        # W&B's service reads these once: its cache and its staging area belong to the run, unless the user has set them
        os.environ.setdefault("WANDB_CACHE_DIR", str(self.folder.resolve() / "wandb" / "cache"))
        os.environ.setdefault("WANDB_DATA_DIR", str(self.folder.resolve() / "wandb" / "staging"))
        wandb.setup(wandb.Settings(silent=True))
        self.start: Config = dict(
            group=group,
            name=name or about.name,
            job_type=job_type or about.kind,
            tags=[*about.tags, *(tags or [])],
            notes=notes or about.command,
            config=config_of(about),
            reinit="finish_previous",
            dir=os.environ.get("WANDB_DIR") or str(folder),
        )
        self.limits: Config = {"init_timeout": init_timeout, "finish_timeout": finish_timeout}
        try:
            self.run = self._start_online() if mode == "online" else self._start(mode)
        except Exception:
            self.abandon()
            raise
        write_json(self.kept, self.identity)
        if mode != "disabled":
            log.info("%-10s %s", "W&B", self.where)

    def _go_on(self) -> None:
        """Take up the W&B run of this folder, and the best of its dev scores."""
        try:
            kept = dict(checked(TypeAdapter(Kept), self.kept))
            if any(kept[key] != self.identity[key] for key in ("entity", "project")):
                raise ValueError(f"it is of {kept['entity']}/{kept['project']}")
            self.identity = kept
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as error:
            log.warning("%s is not taken up (%s): this is a new W&B run", self.kept, error)
        for event in read_events(self.folder / "metrics.jsonl"):
            self._keep_best(event)

    def _start_online(self) -> Any:
        """The run, offline where it cannot be online, with a warning that says why."""
        why = "no API key: `wandb login` stores one"  # in a terminal W&B would ask for one, and wait
        if has_key():
            try:
                return self._start("online")
            except Exception as error:  # a refused key, a proxy's page, a timeout: W&B has no common base for these
                why = in_short(error)
                self.identity["id"] = secrets.token_hex(4)  # W&B's service holds on to the one that failed
        log.warning("W&B is offline (%s)", why)
        return self._start("offline")  # one id joins all pieces at `wandb sync`

    def _start(self, mode: Literal["online", "offline", "disabled"]) -> Any:
        """Start the run, with our step as the x axis of everything."""
        settings = self.wandb.Settings(silent=True, console="wrap", symlink=False, **self.limits)
        self.start["resume"] = "allow" if mode == "online" else None
        run = self.wandb.init(**self.start, **self.identity, mode=mode, settings=settings)
        run.define_metric("train/step")
        for split in ("train", "test"):  # patterns that never overlap: which of two wins is left to chance
            run.define_metric(f"{split}/*", step_metric="train/step")
        run.define_metric("dev/*", step_metric="train/step", summary="none")  # which is `best`
        return run

    @property
    def where(self) -> str:
        """The run's page, or the command that uploads it: each piece of a run that was resumed, but those uploaded."""
        if self.run.settings.mode != "offline":
            return str(self.run.url)
        pieces = sorted(Path(self.run.dir).parents[1].glob(f"offline-run-*-{self.run.id}"))
        return shlex.join(["wandb", "sync", *(str(piece) for piece in pieces if not any(piece.glob("*.synced")))])

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Metrics of one step, by name."""
        self.run.log({**metrics, "train/step": step})
        if better := self._keep_best(metrics):
            self.run.summary.update(better)

    def image(self, name: str, path: Path, step: int) -> None:
        """A picture in a PNG file."""
        self.run.log({name: self.wandb.Image(str(path)), "train/step": step})

    def table(self, name: str, columns: list[str], rows: Sequence[Sequence[object]]) -> None:
        """A table; each row has a value for each column."""
        self.run.log({name: self.wandb.Table(columns=[*columns], data=[list(row) for row in rows])})

    def finish(self, exit_code: int, summary: Json) -> None:
        """Close the run with its scores; waits at most finish_timeout for the upload."""
        self.run.summary.update({**summary, **self.best})  # the summary names the dev scores of one step
        if self.artifact and exit_code == 0:
            self._upload(summary)
        where = self.where
        self.run.finish(exit_code=exit_code)
        if self.run.settings.mode != "disabled":
            log.info("%-10s %s", "W&B", where)

    def abandon(self) -> None:
        """End W&B's service, in a thread, because a service that hangs never answers; its hook at exit goes first."""
        ending = threading.Thread(target=self._tear_down, daemon=True)
        ending.start()
        ending.join(TEARDOWN_SECONDS)

    def _tear_down(self) -> None:
        with suppress(Exception, SystemExit):  # it would end this process with its own exit code
            self.wandb.teardown()

    def _keep_best(self, metrics: Json) -> dict[str, float]:
        """Those dev scores that are better than all before them. metrics: a step's; JSON has null for NaN."""
        dev = {name: math.nan if x is None else x for name, x in metrics.items() if name.startswith("dev/")}
        better = {name: x for name, x in dev.items() if nature(name).better(x, self.best.get(name, math.nan))}
        self.best |= better
        return better

    def _upload(self, summary: Json) -> None:
        """best/ as a model, where a run has one, and the results as results, with the scores and what made them."""
        metadata = {**self.about.choices, "command": self.about.command, "scores": summary}
        if (self.folder / "best").is_dir():  # cse-eval leaves none
            model = self.wandb.Artifact(f"best-{self.run.id}", "model", metadata=metadata)
            model.add_dir(str(self.folder / "best"))
            self.run.log_artifact(model)
        results = self.wandb.Artifact(f"results-{self.run.id}", "results", metadata=metadata)
        for name in RESULTS:
            place = self.folder / name
            if place.is_dir():
                results.add_dir(str(place), name=name)
            elif place.exists():
                results.add_file(str(place))
        self.run.log_artifact(results)


def has_key() -> bool:
    """Whether W&B finds an API key: in the environment, in its settings, or in the user's netrc file."""
    import wandb
    from requests.utils import get_netrc_auth

    settings = wandb.setup().settings
    return bool(settings.api_key or settings.identity_token_file or get_netrc_auth(settings.base_url))


def config_of(about: About) -> Config:
    """What a dashboard groups and filters by; see above."""
    settings = {key: value for key, value in about.config.items() if key not in ("choices", "seed")}
    known = {**about.choices, "seed": about.config.get("seed"), "commit": about.commit}
    return {**known, "versions": about.versions, "settings": settings}
