"""The processes of torchrun, accelerate and srun as one command: the first one writes and speaks for all."""

import json
import logging
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from cse.errors import UserError
from cse.run import slurm

FIRST = 10.0  # seconds in which a launcher ends the others, once the first process has failed


def quiet_followers() -> None:
    """Let all processes but the first say only errors."""
    if slurm.is_follower():
        logging.disable(logging.WARNING)


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
        if slurm.is_follower():
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
            slurm.release()
            time.sleep(FIRST + int(os.environ.get("LOCAL_RANK", "0")))
        raise


def report(sentence: str) -> None:
    """Leave a failure's sentence where torchrun and accelerate read it, for the last lines of their own report."""
    file = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if file:
        failure = {"message": sentence, "extraInfo": {"timestamp": int(time.time())}}
        with open(file, "w", encoding="utf-8") as stream:
            json.dump({"message": failure}, stream)
