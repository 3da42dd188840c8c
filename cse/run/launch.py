"""One process a device: spawned here inside the Hydra job, or joined where torchrun, accelerate, SLURM started it."""

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig, OmegaConf

from cse.errors import Interrupted, MissingResource, RunError, UserError
from cse.files import make_folder
from cse.run import slurm
from cse.run.run import goes_on

if TYPE_CHECKING:
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

log = logging.getLogger("cse")

ALONE = 30.0  # seconds of waiting for other processes, before it is said


def fit(cfg: DictConfig, folder: Path, *, chosen: Mapping[str, str | None], overrides: Sequence[str]) -> DictConfig:
    """The config as the job will run: where its values come from, and shrunk where scale= or smoke= asks for it.

    chosen, overrides: Hydra's choice of each group, and the words. Raises UserError for a folder that holds a run, and
    for a score that nothing gives.
    """
    from cse.config import groups, recipe, scale
    from cse.config.smoke import shrink
    from cse.run import build

    cfg.sources = recipe.sources(chosen, overrides)
    cfg.choices = groups.chosen("train", chosen, overrides, map(str, cfg.eval))
    if (folder / "last").exists() and cfg.resume is None:
        raise UserError(f"{folder} holds a run: resume=auto goes on with it, hydra.run.dir=ANOTHER starts a new one")
    make_folder(Path(cfg.paths.cache), "paths.cache")
    scale.fit(cfg)
    if cfg.smoke:
        shrink(cfg)
    if not cfg.data.preview:  # which scores nothing
        build.check_selection(cfg)
    return cfg


def launch(cfg: DictConfig, folder: Path) -> float | None:
    """Run the job on cfg.trainer.devices processes. Raises RunError with the failed process's last words."""
    from cse.data.loader import check_even_split
    from cse.run.run import run

    if "RANK" in os.environ:
        return run(cfg, shared_folder(folder))
    check_even_split(cfg.trainer.batch_size, cfg.trainer.devices)  # here, before there are processes to say it
    if cfg.trainer.devices == 1:
        mention_idle_gpus()
        return run(cfg, folder)
    slurm.release()  # to the launcher of processes
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    from cse.training.signals import handled

    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // cfg.trainer.devices)))
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=cfg.trainer.devices,
        run_id="cse",
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=0,
        start_method="spawn",
    )
    for name in ("torch.distributed.elastic", "torch.multiprocessing"):  # they would tell each traceback again
        logging.getLogger(name).setLevel(logging.CRITICAL)
    os.environ.setdefault("TORCHELASTIC_SIGNALS_TO_HANDLE", ",".join([*(one.name for one in handled()), "SIGQUIT"]))
    try:
        return elastic_launch(config, worker)(OmegaConf.to_yaml(cfg), str(folder))[0]
    except SignalException as error:  # it was handed to the processes, which saved
        raise interruption(error.sigval, cfg, folder) from error
    except ChildFailedError as error:
        raise explained(error, cfg, folder) from error


def explained(error: "ChildFailedError", cfg: DictConfig, folder: Path) -> Interrupted | UserError | RunError:
    """The error that says why the run's processes ended: one was killed, stopped by a signal, or failed by itself."""
    devices = cfg.trainer.devices
    for rank, failure in error.failures.items():
        if failure.exitcode == -signal.SIGKILL:  # the others failed for want of it
            return RunError(f"process {rank} of {devices} was killed (is memory short?); {goes_on(cfg, folder)}")
    rank, failure = error.get_first_failure()
    if failure.exitcode > 128:
        return interruption(failure.exitcode - 128, cfg, folder)
    told: dict = failure.message if isinstance(failure.message, dict) else {"message": failure.message}
    said = str(told["message"])
    name, _, sentence = said.partition(": ")
    for kind in (UserError, MissingResource, RunError):
        if name == kind.__name__:
            return kind(sentence)
    log.error("%s", told.get("extraInfo", {}).get("py_callstack", ""))
    return RunError(f"process {rank} of {devices} failed: {said}")


def interruption(number: int, cfg: DictConfig, folder: Path) -> Interrupted:
    """What the first process says, in the words of the one that started it."""
    return Interrupted(f"stopped by {signal.Signals(number).name}; {goes_on(cfg, folder)}", 128 + number)


def mention_idle_gpus() -> None:
    """One line of advice where a run on one device leaves others without work."""
    import torch

    visible = torch.cuda.device_count()
    if visible > 1:
        log.info("%d GPUs are visible and one is used; trainer.devices=%d uses them all", visible, visible)


def worker(config: str, folder: str) -> float | None:
    """One spawned process. An error ends the others too: they may be waiting for this one."""
    from cse.run import startup
    from cse.run.run import run

    startup.quiet()
    logging.basicConfig(level=logging.INFO if os.environ["RANK"] == "0" else logging.ERROR, format="%(message)s")
    try:
        outcome = run(OmegaConf.create(config), Path(folder))  # type: ignore[arg-type]
    except Interrupted as error:  # which torch would take for the parent's own end; the parent says it
        sys.exit(error.code)
    leave()
    return outcome


def leave() -> None:
    """Close this process's group, if it is in one: left to the interpreter's end, the group's threads can abort it."""
    import torch.distributed as dist

    if dist.is_initialized():
        dist.destroy_process_group()


def shared_folder(folder: Path) -> Path:
    """Rank 0's folder, on every rank: each process composed its own from the clock."""
    import torch
    from accelerate.state import PartialState

    from cse.run.run import PATIENCE
    from cse.training.distributed import gather_objects

    with said_when_alone():
        PartialState(cpu=not torch.cuda.is_available(), timeout=PATIENCE)
    return Path(gather_objects(str(folder))[0])


@contextmanager
def said_when_alone() -> Iterator[None]:
    """A block in which the processes of a run meet: says after half a minute whom it waits for, and goes on waiting.

    A cluster may start its other nodes later. Raises UserError for a rank without the rest of what a launcher sets.
    """
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
    if missing := [name for name in names if name not in os.environ]:
        raise UserError(
            f"RANK={os.environ['RANK']} is set in the environment, but not {', '.join(missing)}: start every process "
            "with torchrun, accelerate or srun, or unset RANK for a run of one process"
        )
    rank, world, address, port = (os.environ[name] for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"))
    told = "RANK=%s: still waiting for the other processes of WORLD_SIZE=%s at %s:%s; is each of them started?"
    timer = threading.Timer(ALONE, lambda: log.error(told, rank, world, address, port))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
