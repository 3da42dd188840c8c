"""Weights & Biases, offline if there is no API key or the server does not accept the run in time.

A warning says so, and a log line then gives the `wandb sync` command that uploads the run later. W&B's own step counter
drops the steps that a resumed run repeats, so `train/step` is a logged metric and the x axis of all others.
A W&B run's config has the choice of each group under the group's name, so that dashboards can group by `objective`, and
all settings below `settings`. Its summary has the best value so far of each dev score, a number that sweeps can read.
"""

import logging
import os
import secrets
import shlex
import threading
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from cse.dotted import Config, Json
from cse.errors import in_short
from cse.files import read_json, write_json
from cse.ranges import Name, Positive
from cse.record.events import read_events
from cse.tracking.about import About

log = logging.getLogger(__name__)

RESULTS = ("results.json", "metrics.jsonl", "train.log", "scores.csv", "plots")  # in a run's folder, if they exist
TEARDOWN_SECONDS = 2.0


class Wandb:
    """One W&B run.

    folder: of the run; W&B writes into folder/wandb unless WANDB_DIR is set. resume_step: not None if the run in
    `folder` is resumed; it then continues its W&B run, unless entity or project differ.
    mode: "online" (offline after init_timeout seconds without an answer), "offline" (never uses the network) or
    "disabled" (W&B's word for nothing at all). name, job_type, notes: null for OBJECTIVE-MODEL-sSEED, train or eval,
    and the command line. tags: in addition to the choices. id: null draws one. artifact: whether to upload best/ and
    the results as artifacts when the run is done. finish_timeout: seconds for the last upload.
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
        self.patience = finish_timeout + 5  # seconds, so that W&B's own limit and message come first
        self.dev: dict[str, list[float]] = {}  # every value of each dev score so far
        self.best: dict[str, float] = {}
        self.run_file = self.folder / "wandb" / "run.json"
        self.identity: Json = {"id": id or secrets.token_hex(4), "project": project, "entity": entity}
        if resume_step is not None:
            self._resume()
        # W&B's service reads these once: its cache and staging area go into the run's folder, unless the user set them
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
        write_json(self.run_file, self.identity)
        if mode != "disabled":
            log.info("%-10s %s", "W&B", self.where)

    def _resume(self) -> None:
        """Read which W&B run this folder belongs to, and its dev scores."""
        if before := read_json(self.run_file):
            if all(before[key] == self.identity[key] for key in ("entity", "project")):
                self.identity = before
            else:
                log.warning("%s is of %s/%s: this is a new W&B run", self.run_file, before["entity"], before["project"])
        for event in read_events(self.folder / "metrics.jsonl"):
            self._keep(event)

    def _start_online(self) -> Any:
        """Start the run online, or offline with a warning that says why."""
        why = "no API key: `wandb login` stores one"  # in a terminal W&B would prompt for one and wait
        if has_key():
            try:
                return self._start("online")
            except Exception as error:  # a refused key, a proxy's page, a timeout: W&B has no common base class
                why = in_short(error)
                self.identity["id"] = secrets.token_hex(4)  # W&B's service still holds the failed one
        log.warning("W&B is offline (%s)", why)
        return self._start("offline")  # `wandb sync` joins all pieces with one id

    def _start(self, mode: Literal["online", "offline", "disabled"]) -> Any:
        """Start the run, with train/step as the x axis of everything."""
        settings = self.wandb.Settings(silent=True, console="wrap", symlink=False, **self.limits)
        self.start["resume"] = "allow" if mode == "online" else None
        run = self.wandb.init(**self.start, **self.identity, mode=mode, settings=settings)
        run.define_metric("train/step")
        for split in ("train", "test"):  # patterns must not overlap: which of two would win is undefined
            run.define_metric(f"{split}/*", step_metric="train/step")
        run.define_metric("dev/*", step_metric="train/step", summary="none")  # self.best goes there instead
        return run

    @property
    def where(self) -> str:
        """The run's page, or the command that uploads it: all pieces of a resumed run that are not uploaded yet."""
        if self.run.settings.mode != "offline":
            return str(self.run.url)
        pieces = sorted(Path(self.run.dir).parents[1].glob(f"offline-run-*-{self.run.id}"))
        return shlex.join(["wandb", "sync", *(str(piece) for piece in pieces if not any(piece.glob("*.synced")))])

    def log(self, metrics: dict[str, float], step: int, lower_is_better: Collection[str] = ()) -> None:
        """Log the metrics of one step, by name."""
        self.run.log({**metrics, "train/step": step})
        for name in self._keep(metrics):
            self.best[name] = (min if name in lower_is_better else max)(self.dev[name])
        self.run.summary.update(self.best)

    def image(self, name: str, path: Path, step: int) -> None:
        """Log a picture in a PNG file."""
        self.run.log({name: self.wandb.Image(str(path)), "train/step": step})

    def table(self, name: str, columns: list[str], rows: Sequence[Sequence[object]]) -> None:
        """Log a table; each row has a value for each column."""
        self.run.log({name: self.wandb.Table(columns=[*columns], data=[list(row) for row in rows])})

    def finish(self, exit_code: int, summary: Json) -> None:
        """Close the run with its scores; wait at most finish_timeout seconds for the upload."""
        self.run.summary.update({**summary, **self.best})  # `summary` has the dev scores of one step
        if self.artifact and exit_code == 0:
            self._upload(summary)
        where = self.where
        self.run.finish(exit_code=exit_code)
        if self.run.settings.mode != "disabled":
            log.info("%-10s %s", "W&B", where)

    def abandon(self) -> None:
        """Tear down W&B's service, its exit hook first, in a thread, because a hanging service never answers."""
        ending = threading.Thread(target=self._tear_down, daemon=True)
        ending.start()
        ending.join(TEARDOWN_SECONDS)

    def _tear_down(self) -> None:
        with suppress(Exception, SystemExit):  # SystemExit would end this process with W&B's exit code
            self.wandb.teardown()

    def _keep(self, metrics: Json) -> list[str]:
        """Keep a step's dev scores that are numbers, and return their names. JSON has null for NaN."""
        found = {name: x for name, x in metrics.items() if name.startswith("dev/") and x is not None and x == x}
        for name, value in found.items():
            self.dev.setdefault(name, []).append(value)
        return [*found]

    def _upload(self, summary: Json) -> None:
        """Upload best/, if there is one, as a model and the results as results, with the choices and scores."""
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
    """Whether W&B finds an API key in the environment, in its settings, or in the user's netrc file."""
    import wandb
    from requests.utils import get_netrc_auth

    settings = wandb.setup().settings
    return bool(settings.api_key or settings.identity_token_file or get_netrc_auth(settings.base_url))


def config_of(about: About) -> Config:
    """What dashboards group and filter by; see the top of this file."""
    settings = {key: value for key, value in about.config.items() if key not in ("choices", "seed")}
    known = {**about.choices, "seed": about.config.get("seed"), "commit": about.commit}
    return {**known, "versions": about.versions, "settings": settings}
