"""cse-train: one line, one experiment."""

import logging
import os
from collections.abc import Sequence

from cse.errors import UserError
from cse.lab.commands.exits import exit_on_error
from cse.lab.commands.line import run_command
from cse.lab.run import slurm, startup
from cse.lab.run.start import start_training
from cse.lab.settings.words import Word
from cse.training.signals import Signals

HELP = """\
cse-train: train a sentence encoder as a paper did, or as you like.

  cse-train                                       unsupervised SimCSE on BERT, as published
  cse-train experiment=demo                       needs no hub and no GPU: minutes on two cores
  cse-train objective=barlow model=roberta        that row of the paper, with that row's hyper-parameters
  cse-train objective=declutr model=distilroberta data=text data.path=documents.txt
  cse-train sweep=whitenedcse/table4              a paper's table; the same line again continues it
  cse-train -m objective=barlow,vicreg seed=1,2   every combination; the same line again continues them

Choose                                            (cse-train --help GROUP says what each choice is)
CHOICES

Your own text
  data=text data.path=FILE        .txt .csv .tsv .jsonl (also .gz) .parquet, a folder of them, or a hub dataset
  data.columns=[sent0,sent1]      for files with columns
  data.preview=3                  print what the model will see of three rows, and stop; no data for scores is needed
  augmentation.max_length=64      with objective=declutr: documents need 2 x anchors x max_length words (2,048)

Shorter, larger, elsewhere
  trainer.max_steps=100           stop early; the schedule keeps its length (trainer.schedule_steps changes it)
  trainer.eval_every=250          steps between scores on the dev set, by which the best step is chosen; 0.1: ten in all
  trainer.batch_size=64           rows of text over all devices; aux_modality.data.batch_size=48: images or clips each
  trainer.chunk=64                any batch size in the memory of 64 rows, same loss and gradient
  trainer.precision=bf16          fp32, bf16, fp16; auto by default
  dry_run=true                    print what would run, its time and its memory, measured here, and stop
  smoke=true                      any run in seconds, on a made-up encoder and data; a typed KEY=VALUE keeps its value
  --config-dir own/conf           add choices of your own, in a folder laid out as conf/ (also CSE_CONF)
  hydra.run.dir=FOLDER            where the run goes (outputs/DATE/TIME by default; of -m: hydra.sweep.dir=FOLDER)
  jobs.parallel=2                 of -m and sweep=: jobs at the same time; jobs.fail_fast=true: none after a failure
  tracker.wandb.artifact=true     upload best/ to W&B
  rerun=FOLDER trainer.lr=1e-4    repeat that run with one change in a new folder; its inputs must be the same bytes
  resume=FOLDER                   continue that run, bit for bit, from its last checkpoint

Look before you run                                             (objective=? and objective=barlow.? do the same)
  cse-train --help objective         what each choice is           cse-doctor     what this machine can run
  cse-train --help objective=barlow  a choice's keys, explained    cse-data list  the data, and whether it is here
  cse-train --help temperature       keys and choices by name or by a word in their comments; other trainers' names too
  cse-train ... --cfg job            the whole configuration       cse-train -sc install=bash   completion by TAB
  zsh expands [ ] and ?: quote such words
Exit codes: 0 done, 1 the run (of -m and sweep=, any job) failed, 2 a mistake on the command line or in the data;
129, 130, 138, 140, 143: stopped by SIGHUP, Ctrl-C, SIGUSR1, SIGUSR2 or SIGTERM, with last/ saved once it trains.
"""


def main() -> None:
    """The console script. Exit codes: 0 done, 1 the run failed, 2 the user's mistake."""
    slurm.hold()
    with exit_on_error():
        run_command("train", HELP, train_as_typed)


def train_as_typed(words: Sequence[Word]) -> None:
    """Train as the words of one job say, in this process or in several."""
    slurm.join()
    if slurm.is_follower():
        logging.disable(logging.WARNING)
    refuse_lone_process()
    with Signals(lambda: "the same line starts again"), startup.alone():
        start_training(words)


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
