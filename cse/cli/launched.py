"""The processes of torchrun, accelerate and srun as one command: the first one writes and speaks for all."""

import atexit
import json
import logging
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

from cse.errors import UserError
from cse.run import slurm

FIRST = 10.0  # seconds in which a launcher ends the others, once the first process has failed


def following(arguments: list[str]) -> list[str]:
    """Of the processes that torchrun, accelerate or srun started, all but the first write no file and say only errors.

    A folder that was not given is each process's own, named by its clock; the run goes to the first one's.
    """
    if os.environ.get("RANK", "0") == "0":
        return arguments
    logging.disable(logging.WARNING)
    silent = ["hydra.output_subdir=null", f"hydra.job_logging.handlers.file.filename={os.devnull}", *arguments]
    if any(argument.startswith("hydra.run.dir=") for argument in arguments):
        return silent
    nowhere = tempfile.mkdtemp()
    atexit.register(os.rmdir, nowhere)
    return [f"hydra.run.dir={nowhere}", *silent]


def refuse_lone_process() -> None:
    """Raise UserError in the one process that accelerate starts for several on a machine without GPUs and MPI.

    It sets a master's address for several processes, and for each that it does start its rank.
    """
    if {"ACCELERATE_MIXED_PRECISION", "MASTER_ADDR"} <= os.environ.keys() and "RANK" not in os.environ:
        raise UserError(
            "accelerate launch was asked for several processes and has started one, as it does without several GPUs: "
            "give it --multi_gpu and no --cpu, which works on CPUs too, or say cse-train trainer.devices=N"
        )


@contextmanager
def in_turn() -> Iterator[None]:
    """A block whose error the first process raises at once, each other one only if it has not been ended by then.

    What is wrong is mostly wrong in all of them, or follows from the first one's end. One that its launcher ends has no
    code of its own: srun exits with the largest, which is then the first one's.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt):
        if os.environ.get("RANK", "0") != "0":
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
            slurm.release()
            time.sleep(FIRST + int(os.environ.get("LOCAL_RANK", "0")))
        raise


def tell(message: str) -> None:
    """Leave a failure's sentence where torchrun and accelerate read it, for the last lines of their own report."""
    file = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if file:
        failure = {"message": message, "extraInfo": {"timestamp": int(time.time())}}
        with open(file, "w", encoding="utf-8") as report:
            json.dump({"message": failure}, report)
