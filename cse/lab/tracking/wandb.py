"""The tracker for Weights & Biases (W&B). Without an API key, or if W&B refuses the run, mode online logs offline.

A warning then says so, and the log has the `wandb sync` command for a later upload. W&B's own step counter drops the
steps that a resumed run repeats. Therefore, `train/step` is a logged metric, and the x axis of all other metrics. The
config of a W&B run has the choice of each group under the group's name, so that dashboards can group runs by
`objective`. The key `settings` has the settings. The summary has the best value so far of each dev score, which W&B's
sweeps can read.
"""

import logging
import os
import secrets
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

from pydantic import AfterValidator, ValidationError

from cse.errors import in_short
from cse.files import Json
from cse.lab.settings.values import PlainConfig
from cse.lab.tracking.run_info import RunInfo
from cse.lab.tracking.wandb_folder import KeptRun, unsent, upload_command
from cse.ranges import Name, Positive
from cse.score import Score

if TYPE_CHECKING:  # importing wandb is slow
    import wandb

log = logging.getLogger(__name__)

TEARDOWN_SECONDS = 2.0
RESTART_SECONDS = 15.0  # to end the service after a failed start; this takes 2 s if the server never answers

T = TypeVar("T")


def accepted(setting: str) -> AfterValidator:
    """Return a validator that checks a value as W&B checks `setting`. Its ValueError has W&B's message."""

    def validated(value: T) -> T:
        import wandb

        try:
            wandb.Settings.model_validate({setting: value})
        except ValidationError as refused:
            raise ValueError(refused.errors()[0]["msg"].removeprefix("Value error, ")) from None
        except wandb.errors.UsageError as refused:
            raise ValueError(str(refused)) from None
        return value

    return AfterValidator(validated)


SEPARATE = AfterValidator(lambda texts: [tag for text in texts for tag in text.split(",") if tag])
"""A validator that splits tags at commas, as W&B splits WANDB_TAGS."""


class Wandb:
    """A tracker that is one W&B run.

    The arguments that every tracker gets:
        folder       the run's folder; W&B writes into folder/wandb if WANDB_DIR is not set
        about        the facts of the run; they replace some null keys below
        resume_step  the step of the checkpoint; not None: the run is resumed, and continues its W&B run
    The keys of conf/tracker/wandb.yaml, each a setting tracker.wandb.KEY:
        mode         online (offline without an API key, or without an answer in init_timeout seconds), offline (never
                     uses the network), disabled (logs nothing), or auto: online with an API key, else disabled
        project, entity, id        the place of the run at W&B; a null id is drawn at random
        group, job_type            null: RunInfo's group and kind
        name, notes                null: RunInfo's name and command
        tags                       tags in addition to the choices; a text may have several tags, with commas between
        artifact                   whether to upload best/ when the run is done
        init_timeout, finish_timeout  seconds for the start and for the last upload
    """

    def __init__(
        self,
        folder: str | Path,
        about: RunInfo,
        mode: Literal["auto", "online", "offline", "disabled"],
        project: Annotated[Name, accepted("project")],
        init_timeout: Positive,
        finish_timeout: Positive,
        resume_step: int | None = None,
        entity: Name | None = None,
        group: Name | None = None,
        name: Name | None = None,
        tags: Annotated[list[Name], SEPARATE, accepted("run_tags")] | None = None,
        notes: str | None = None,
        id: Annotated[Name, accepted("run_id")] | None = None,
        job_type: Name | None = None,
        artifact: bool = False,
    ):
        import wandb

        self.wandb, self.folder, self.artifact = wandb, Path(folder), artifact
        self.patience = finish_timeout + 5  # seconds, so that W&B's own limit and message come first
        if mode == "auto":
            mode = "online" if has_key() else "disabled"
        self.writes = mode != "disabled"
        earlier = None if resume_step is None else KeptRun.read(self.folder)
        self.kept = earlier or KeptRun(id or secrets.token_hex(4))
        self.arguments: PlainConfig = dict(
            id=self.kept.id,
            project=project,
            entity=entity,
            group=group or about.group,
            name=name or about.name,
            job_type=job_type or about.kind,
            tags=[*about.tags, *(tags or [])],
            notes=notes or about.command,
            config=dashboard_config(about),
            reinit="finish_previous",
            dir=os.environ.get("WANDB_DIR") or str(folder),
        )
        self.environment = ExitStack()
        self.environment.enter_context(service_folders(self.folder))
        try:
            self.arguments["settings"] = wandb.Settings(
                silent=True, console="wrap", symlink=False, init_timeout=init_timeout, finish_timeout=finish_timeout
            )
            self.run = self._start_online() if mode == "online" else self._start(mode)
            if self.writes:
                self.kept.write(self.folder)
                log.info("%-10s %s", "W&B", self.where)
        except Exception:
            self.abandon()
            raise

    def _start_online(self) -> "wandb.Run":
        """Start the run online or, if this fails, offline with a warning about the reason."""
        if not has_key():  # in a terminal, W&B would prompt for a key and wait
            log.warning("W&B is offline (no API key: `wandb login` stores one)")
            return self._start("offline")
        try:
            return self._start("online")
        except Exception as error:  # a refused key, a proxy's page, a timeout: W&B's errors have no common base class
            if not self._tear_down(RESTART_SECONDS):  # the service has the failed run, and would refuse the run's id
                raise
            log.warning("W&B is offline (%s)", in_short(error))
        return self._start("offline")  # `wandb sync` joins all pieces with one id

    def _start(self, mode: Literal["online", "offline", "disabled"]) -> "wandb.Run":
        """Start the run, with train/step as the x axis of all metrics."""
        if self.writes:  # if disabled, not even the service's log is written
            self.wandb.setup(self.wandb.Settings(silent=True))
        again: PlainConfig = {"resume": "allow"} if mode == "online" else {}
        run = self.wandb.init(**self.arguments, **again, mode=mode)
        run.define_metric("train/step")
        for split in ("train", "test"):  # patterns must not overlap: W&B does not define which of two patterns applies
            run.define_metric(f"{split}/*", step_metric="train/step")
        run.define_metric("dev/*", step_metric="train/step", summary="none")  # `log` puts the best into the summary
        return run

    @property
    def where(self) -> str:
        """The address of the run's page or, if W&B is offline, the command that uploads the run's data."""
        if self.run.settings.mode != "offline":
            return str(self.run.url)
        return upload_command(unsent(Path(self.run.dir).parents[1], self.run.id))

    def log(self, metrics: dict[str, float], step: int, lower_is_better: Collection[str] = ()) -> None:
        """Log the metrics of one step, by name."""
        self.run.log({**metrics, "train/step": step})
        on_dev = {name: value for name, value in metrics.items() if name.startswith("dev/")}
        if on_dev and step > 0 and self.writes:  # step 0 is the untrained encoder
            for name, value in on_dev.items():
                self.kept.keep_if_better(Score(name, value, lower_is_better=name in lower_is_better))
            self.run.summary.update(self.kept.best)
            self.kept.write(self.folder)  # for a resumed run

    def image(self, name: str, path: Path, step: int) -> None:
        """Log a picture in a PNG file."""
        self.run.log({name: self.wandb.Image(str(path)), "train/step": step})

    def table(self, name: str, columns: list[str], rows: Sequence[Sequence[object]]) -> None:
        """Log a table; each row has a value for each column."""
        self.run.log({name: self.wandb.Table(columns=[*columns], data=[list(row) for row in rows])})

    def finish(self, exit_code: int, summary: Json) -> None:
        """Close the W&B run with the run's scores. W&B waits at most finish_timeout seconds for the upload."""
        self.run.summary.update({**self.kept.best, **summary})  # `summary` has the scores of the best checkpoint
        best, where = self.folder / "best", self.where
        if self.artifact and exit_code == 0 and best.is_dir():  # cse-eval makes no best/
            self.run.log_artifact(str(best), f"best-{self.run.id}", "model")
        self.run.finish(exit_code=exit_code)
        self.environment.close()
        if self.writes:
            log.info("%-10s %s", "W&B", where)

    def abandon(self) -> None:
        """End W&B's service, so that this process does not wait for the service at its exit."""
        self.environment.close()
        self._tear_down(TEARDOWN_SECONDS)

    def _tear_down(self, seconds: float) -> bool:
        """End W&B's service and its exit hook, and return whether the service ended within `seconds`.

        A thread ends the service, because the call never returns if the service hangs.
        """

        def tear_down() -> None:
            with suppress(Exception, SystemExit):  # SystemExit would end this process with W&B's exit code
                self.wandb.teardown()

        ending = threading.Thread(target=tear_down, daemon=True)
        ending.start()
        ending.join(seconds)
        return not ending.is_alive()


def has_key() -> bool:
    """Return whether W&B finds an API key in the environment, in its settings, or in the user's netrc file."""
    import wandb
    from requests.utils import get_netrc_auth

    settings = wandb.Settings()  # the settings of wandb.setup() need W&B's service, which writes files
    settings.update_from_system_settings()
    settings.update_from_env_vars(dict(os.environ))
    return bool(settings.api_key or settings.identity_token_file or get_netrc_auth(settings.base_url))


@contextmanager
def service_folders(folder: Path) -> Iterator[None]:
    """During the block, put W&B's cache and staging area into the run's folder, unless the user has set other folders.

    After the block, the environment variables are unset, so a later run of this process does not use this folder.
    """
    places = {"WANDB_CACHE_DIR": "cache", "WANDB_DATA_DIR": "staging"}
    unset = {name: place for name, place in places.items() if name not in os.environ}
    for name, place in unset.items():
        os.environ[name] = str(folder.resolve() / "wandb" / place)
    try:
        yield
    finally:
        for name in unset:
            os.environ.pop(name, None)


def dashboard_config(about: RunInfo) -> PlainConfig:
    """Return the config of the W&B run, by which dashboards group and filter runs; see the top of this file."""
    settings = {key: value for key, value in about.config.items() if key not in ("choices", "seed")}
    columns = {**about.choices, "seed": about.config.get("seed"), "commit": about.commit}
    return {**columns, "versions": about.versions, "settings": settings}
