"""The command cse-train, which trains an encoder: its help and its `main`."""

import logging
import os
from collections.abc import Sequence

from cse.errors import UserError
from cse.lab.commands.dispatch import run_command
from cse.lab.commands.exits import exit_on_error
from cse.lab.run import slurm, this_process
from cse.lab.run.start import start_training
from cse.lab.settings.arguments import Argument
from cse.training.signals import Signals

HELP = """\
cse-train: train a sentence encoder by a published method, or by your own mix of objective, augmentation and encoder.

  cse-train                                       unsupervised SimCSE on BERT, with the paper's settings
  cse-train experiment=demo                       a demo: no hub, no GPU, three minutes on two cores
  cse-train objective=barlow augmentation=shuffle model=roberta
                                                  Barlow Twins on RoBERTa, with our loss weights (the paper names none)
  cse-train objective=declutr model=distilroberta data=text data.path=documents.txt
                                                  DeCLUTR on your documents
  cse-train sweep=whitenedcse/table4              a paper's table; the same command resumes it
  cse-train -m objective=barlow,vicreg augmentation=shuffle seed=1,2
                                                  every combination; the same command resumes it

Choose (cse-train --help GROUP explains each choice)
CHOICES

Your own text
  data=text data.path=FILE        .txt .csv .tsv .jsonl (also .gz) .parquet, a folder of them, or a hub dataset
  data.columns=[sent0,sent1]      the columns of a table
  data.preview=3                  show three rows as the model will see them, and stop
  trainer.max_length=64           the most tokens of a text; the rest is truncated
  augmentation.max_length=64      the words of a span, for objective=declutr (a document has 2 x anchors x max_length)
  aux_modality=visual paths.images=FOLDER    train on pictures of yours too, in a folder for each class

Shorter, larger, elsewhere
  trainer.max_steps=100           stop early; the learning-rate schedule keeps its length (trainer.schedule_steps)
  trainer.eval_every=250          steps between dev scores, which select the checkpoint; 0.1 means ten times in all
  trainer.batch_size=64           texts per step, over all devices; aux_modality.data.batch_size=48: images or clips
  trainer.chunk=64                any batch size in the memory of 64 rows: the same loss, but other dropout masks
  trainer.precision=bf16          fp32, bf16 or fp16; auto by default
  dry_run=true                    print what would run, measure time and memory in a few steps, and stop
  smoke=true                      the same run in seconds, on a synthetic encoder and data
  --config-dir own/conf           your own choices, in a folder laid out as conf/ (also CSE_CONF)
  hydra.run.dir=FOLDER            the run's folder (default: outputs/DATE/TIME); for -m: hydra.sweep.dir=FOLDER
  jobs.parallel=2                 two jobs at a time, for -m and sweep=; jobs.fail_fast=true stops after a failure
  tracker.wandb.artifact=true     upload best/ to W&B
  rerun=FOLDER trainer.lr=1e-4    repeat that run with one change, in a new folder, on the same input files
  resume=FOLDER                   continue that run, bit for bit, from its last checkpoint

Look before you run (objective=? and objective=barlow.? also work; zsh expands [ ] and ?, so quote such arguments)
  cse-train --help objective           each choice of a group
  cse-train --help objective=barlow    the keys of a choice
  cse-train --help temperature         keys and choices, by their name, their comment, or another trainer's argument
  cse-train ... --cfg job              the whole configuration
  cse-train -sc install=bash           completion by TAB
  cse-doctor                           what this machine can run
  cse-data list                        every dataset, and whether it is here

Exit codes
  0    done
  1    the run failed, or a job of -m or sweep= failed
  2    a mistake in the command or in the data
  129, 130, 138, 140, 143    stopped by SIGHUP, Ctrl-C, SIGUSR1, SIGUSR2 or SIGTERM; last/ is saved if training began
"""


def main() -> None:
    """Run cse-train. Exit codes: 0 done, 1 the run failed, 2 the user's mistake."""
    slurm.hold()
    with exit_on_error():
        run_command("train", HELP, train_as_given)


def train_as_given(arguments: Sequence[Argument]) -> None:
    """Train with the arguments of one job, in this process or in several."""
    slurm.join()
    if this_process.is_follower():
        logging.disable(logging.WARNING)
    refuse_lone_process()
    with Signals(lambda: "the same command starts again"), this_process.alone():
        start_training(arguments)


def refuse_lone_process() -> None:
    """Raise UserError if `accelerate launch` was asked for several processes, but started only this process.

    This happens if the machine has neither GPUs nor MPI. This process then has MASTER_ADDR, but not RANK.
    """
    if {"ACCELERATE_MIXED_PRECISION", "MASTER_ADDR"} <= os.environ.keys() and "RANK" not in os.environ:
        raise UserError(
            "accelerate launch was asked for several processes but started one, because there are not several GPUs: "
            "give it --multi_gpu without --cpu (this works on CPUs too), or use cse-train trainer.devices=N"
        )


if __name__ == "__main__":
    main()
