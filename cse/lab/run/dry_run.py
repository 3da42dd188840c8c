"""The log of a command that trains nothing and writes nothing.

log_forecast  dry_run=true: logs the measured time, memory and work of the run
log_plan      dry_run=true without weights or data: logs only facts from the settings
log_rows      data.preview=N: logs N rows as the model will get them
"""

import logging
import platform
from pathlib import Path

import numpy as np
import torch
from omegaconf import DictConfig

from cse.data.duplicates import sharing, text_keys
from cse.data.loader import Batches, Steps
from cse.device import is_gpu, total_memory
from cse.lab.folder.status import duration
from cse.lab.run.announce import (
    NEXT_LINE,
    method_in_words,
    rate_in_words,
    rows_in_words,
    text_in_words,
    truncation_in_words,
    views_in_words,
)
from cse.lab.run.instantiate import make
from cse.lab.run.planned_steps import steps_in_words
from cse.lab.run.run_log import log_fields
from cse.lab.run.texts import texts_with_objectives
from cse.lab.settings.references import resolved
from cse.progress import showing
from cse.training.forecast import forecast
from cse.training.loop import Training
from cse.training.settings import Trainer

log = logging.getLogger("cse")

SHOWN = 300  # characters of a row's first text


def log_forecast(training: Training) -> None:
    """Log the number of negatives, and the measured time, memory and work. The Training cannot be used afterwards."""
    trainer, parts, device = training.trainer, training.parts, training.accelerator.device
    done, steps = training.state.step, training.steps
    if training.is_over:
        log_fields(time=f"all {done:,} steps are done: the run is scored again")
        return
    if training.accelerator.num_processes > 1:
        log_fields(time="not measured for several processes; trainer.devices=1 measures one process")
        return
    with showing("measuring"):
        about = forecast(training)
    due = sum(map(training.is_due, range(done + (done > 0), steps + 1)))  # step 0 is scored before the first step
    dev_scores, left = due if about.dev_score else 0, steps - done
    seconds = left * about.step + dev_scores * about.dev_score + about.last_scores
    log_fields(
        negatives=f"{parts.objective.negatives(trainer.batch_size):,} per anchor",
        time=f"{left:,} steps of {about.step:.3g} s, {dev_scores} dev scores of {about.dev_score:.3g} s, "
        f"{about.last_scores:.3g} s to encode further texts for the final scores; total about {duration(seconds)}, "
        "without the time to fit classifiers",
        memory=f"{about.memory / 2**30:.1f} of {total_memory(device) / 2**30:.0f} GiB at the peak"
        + ("" if is_gpu(device) else " of these steps; long runs needed up to 1.6 times as much"),
        work=f"{left * about.flop / 1e15:.3g} PFLOP in {left:,} steps; this machine sustains "
        f"{about.flop / about.step / 1e12:.3g} TFLOP/s",
        measured=f"{about.timed} step{'s' if about.timed > 1 else ''} on {platform.node()}, {processor(device)}",
    )


def processor(device: torch.device) -> str:
    """Return the name of the device on which the time was measured."""
    if is_gpu(device):
        return torch.cuda.get_device_name(device)
    threads = torch.get_num_threads()
    return f"{threads} thread{'s' if threads > 1 else ''} of {platform.processor() or platform.machine()}"


def log_plan(cfg: DictConfig, folder: Path) -> None:
    """Log the facts of a run that follow from its settings, because nothing can be measured without weights or data."""
    trainer: Trainer = make(cfg.trainer)
    log_fields(
        **method_in_words(resolved(cfg)),
        encoder=cfg.model.name,
        data=NEXT_LINE.join(text_in_words(learned.text) for learned in texts_with_objectives(cfg)),
        schedule=f"{steps_in_words(cfg)} steps, {rate_in_words(trainer, trainer.warmup)}",
        folder=folder,
    )


def log_rows(batches: Steps, count: int, choice: str) -> None:
    """Log the first training rows of each text, and their views in the first epoch.

    choice: the value of augmentation=.
    """
    for own in batches.sources.values():
        shared = int(sharing(text_keys(own.text)).sum())
        log_fields(
            data=rows_in_words(own),
            truncation=truncation_in_words(own),
            views=views_in_words(own, choice),
            duplicates=f"rows that share a text: {shared:,}" if shared else "",
        )
        for row in map(int, own.row_numbers[:count]):
            log_row(own, row)


def log_row(batches: Batches, row: int) -> None:
    """Log a row, its score, and its views after masking, as text and as token ids.

    "(max)" marks a view that reaches the maximum length: any further text is truncated.
    """
    text, views, rows = batches.text, batches.views, np.array([row])
    whole = text.text(row)
    log.info(f"row {text.number(row)}: {whole[:SHOWN]}{' ...' if len(whole) > SHOWN else ''}")
    if text.scores:
        log.info(f"  score   {text.scores.in_words(float(text.targets_N[row]))}")
    lacking = [number for number, column in enumerate(views.column_of_view) if text.lacks(row, column)]
    for number, view in enumerate(views.of_rows(rows, 0)):
        if number in lacking:  # a row with fewer hard negatives
            log.info(f"  view {number}  none")
            continue
        name = f"view {number}" if number < views.num_views else "masked"  # masking "copies" adds masked copies
        for made in view:
            read = made.ids if views.augmentation.level == "text" else views.ids_of(rows, made.column)[0]
            mark = " (max)" if len(read) >= views.max_length else ""
            log.info(f"  {name}  {len(made.ids):3d} tokens{mark}  {views.tokenizer.hf.decode(made.ids)}")
            log.info(f"          ids  {' '.join(map(str, made.ids))}")
