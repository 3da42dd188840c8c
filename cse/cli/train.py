"""cse-train: one line, one experiment."""

import logging
import os

from cse import api
from cse.cli import command
from cse.cli.exits import exit_on_error
from cse.cli.help import TRAIN
from cse.errors import UserError
from cse.run import slurm
from cse.training.signals import Signals


def main() -> None:
    """The console script. Exit codes: 0 done, 1 the run failed, 2 the user's mistake."""
    slurm.hold()
    with exit_on_error():
        words = command.words_of_one_job("train", TRAIN)
        slurm.join()
        if slurm.is_follower():
            logging.disable(logging.WARNING)
        refuse_lone_process()
        with Signals(lambda: "the same line starts again"):
            api.train(*words)


def refuse_lone_process() -> None:
    """Raise UserError if accelerate was to start several processes and, without GPUs and MPI, started this one alone.

    For several processes it sets a master address, and for each one that it does start a rank.
    """
    if {"ACCELERATE_MIXED_PRECISION", "MASTER_ADDR"} <= os.environ.keys() and "RANK" not in os.environ:
        raise UserError(
            "accelerate launch was asked for several processes but started one, as it does without several GPUs: "
            "give it --multi_gpu and no --cpu, which works on CPUs too, or use cse-train trainer.devices=N"
        )


if __name__ == "__main__":
    main()
