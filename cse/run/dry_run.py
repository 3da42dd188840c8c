"""What a dry run says beside a run's announcement: time, memory and work, as far as they can be had."""

import platform
from pathlib import Path

import torch
from accelerate import Accelerator
from omegaconf import DictConfig

from cse.config.compose import resolved
from cse.record.status import duration
from cse.run.build import make
from cse.run.estimate import estimate, rows_of
from cse.run.summary import choices_in_words, device_in_words, print_fields, recipe_lines, schedule_in_words
from cse.training.forecast import forecast
from cse.training.loop import Training
from cse.training.memory import total


def print_forecast(training: Training) -> None:
    """Print negatives, time, memory and work, measured on this machine. The Training cannot be used afterwards."""
    trainer, parts = training.trainer, training.parts
    if training.accelerator.num_processes > 1:
        print_fields(time="not measured for several processes; trainer.devices=1 measures one")
        return
    about = forecast(training)
    dev_scores = len({*range(0, training.steps, trainer.eval_every), training.steps}) if about.dev_score else 0
    seconds = training.steps * about.step + dev_scores * about.dev_score + about.last_scores
    scored = f", {dev_scores} dev scores of {about.dev_score:.3g} s" if dev_scores else ""
    last = f", {about.last_scores:.3g} s to encode what else is scored at the end" if about.last_scores else ""
    more = ", ".join(name for name, one in parts.evaluators.items() if one.more_than_encoding)
    not_included = f"; what {more} computes from its vectors is not included" if more else ""
    negatives = parts.objective.negatives(trainer.batch_size)
    device = training.accelerator.device
    print_fields(
        negatives=f"{negatives:,} an anchor" if negatives else "none",
        time=f"{training.steps:,} steps of {about.step:.3g} s{scored}{last}: {duration(seconds)}{not_included}",
        memory=f"{about.memory / 2**30:.1f} of {total(device) / 2**30:.0f} GiB at the peak",
        work=f"{training.steps * about.flop / 1e15:.3g} PFLOP in {training.steps:,} steps; another machine takes that "
        "by what it sustains, this one "
        f"{about.flop / about.step / 1e12:.3g} TFLOP a second",
        measured=f"{about.steps} steps on {machine(device)}",
    )


def print_estimate(cfg: DictConfig, accelerator: Accelerator, folder: Path) -> None:
    """Print what does not depend on the weights or data that cannot be had; nothing can be measured without them."""
    found, rows = estimate(cfg), rows_of(cfg.data)
    print_fields(
        objective=choices_in_words(cfg.choices),
        recipe=recipe_lines(resolved(cfg)),
        encoder=cfg.model.name,
        data=f"{cfg.data.name}, {f'{rows:,}' if rows else '?'} rows",
        schedule=f"{f'{found.steps:,}' if found.steps else '?'} steps, {schedule_in_words(make(cfg.trainer))}",
        device=device_in_words(accelerator),
        folder=folder,
        work=f"at most {found.flop / 1e15:.3g} PFLOP, by a formula" if found.flop else "",
        time="nothing can be measured without what is missing",
    )


def machine(device: torch.device) -> str:
    """This machine and the device that was measured, in a few words."""
    if device.type == "cuda":
        return f"{platform.node()}, {torch.cuda.get_device_name(device)}"
    return f"{platform.node()}, {torch.get_num_threads()} threads of {platform.processor() or platform.machine()}"
