"""What a run says before it starts, or instead of starting: a dry run's forecast or plan, a preview's rows.

    announce        every run: the method, the encoder, the text, the views, what to know of the data, the schedule
    print_forecast  (dry_run) then its time, memory and work, measured
    print_plan      (dry_run) in place of both, where weights or data are missing
    print_rows      (data.preview) some rows as the model will see them

Each `..._in_words` below `announce` is one of its lines; an empty line is not printed (`print_fields`).
"""

import logging
import platform
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
import torch
from omegaconf import DictConfig

from cse.data.duplicates import met
from cse.data.loader import Batches, Steps
from cse.data.mixture import MixedBatches
from cse.data.overlap import Overlap, overlap_in_words
from cse.data.rows import TextRows
from cse.data.text import Text
from cse.device import computes_bf16, device_name, is_gpu, total_memory
from cse.errors import UserError
from cse.eval.sts import ScoredPairs
from cse.lab.folder.status import duration
from cse.lab.run.instantiate import make
from cse.lab.run.job import steps_in_words
from cse.lab.run.texts import texts_with_objectives
from cse.lab.settings.compose import resolved
from cse.lab.settings.values import Config
from cse.lab.sharing.score_tables import problems_of
from cse.model.encoder import Encoder
from cse.model.recorded import recorded_modules
from cse.sources.encoder import locate
from cse.training.forecast import STEPS, forecast
from cse.training.loop import Training
from cse.training.settings import Parts, Trainer
from cse.types import Evaluator

log = logging.getLogger("cse")

NEXT_LINE = "\n" + 11 * " "  # of a field of several lines


def announce(plain: Config, training: Training, overlap: Overlap) -> None:
    """Log the run in a few lines: what, on what, how long, where. overlap: how many of its texts are scored too."""
    parts, choice = training.parts, plain["choices"]["augmentation"]
    texts = [data_in_words(batches.text, len(batches.row_numbers)) for batches in parts.batches.sources.values()]
    scored_too = ""
    if parts.evaluators:
        scored_too = of_each(parts.batches, lambda batches: overlap_in_words(of_source(overlap, batches)))
    print_fields(
        **method_in_words(plain),
        encoder=encoder_in_words(plain["model"]["name"], parts.encoder),
        data=NEXT_LINE.join(texts),
        sources=shares_in_words(parts),
        truncation=of_each(parts.batches, truncation_in_words),
        views=of_each(parts.batches, lambda batches: views_in_words(batches, choice)),
        duplicates=of_each(parts.batches, lambda batches: duplicates_in_words(parts, batches, overlap)),
        overlap=scored_too,
        selection=selection_in_words(parts.trainer.select, parts.evaluators, parts.evaluators),
        partial=partial_in_words(parts.evaluators),
        schedule=schedule_in_words(f"{training.steps:,}", parts.trainer, training),
        device=device_in_words(training),
        folder=training.folder,
    )


def of_each(batches: Steps, in_words: Callable[[Batches], str]) -> str:
    """What there is to say of the text. Of a mixture, a line for each text, after its name."""
    lines = {name: in_words(own) for name, own in batches.sources.items()}
    if len(lines) == 1:
        return next(iter(lines.values()))
    return NEXT_LINE.join(f"{name}: {words}" for name, words in lines.items() if words)


def of_source(overlap: Overlap, batches: Batches) -> Overlap:
    """The counts of one text. A mixture has the counts of each."""
    return overlap.get("sources", {}).get(batches.text.name, overlap)


def shares_in_words(parts: Parts) -> str:
    """Whose batches an epoch of a mixture has, and which objective learns from each; "" for one text."""
    if not isinstance(parts.batches, MixedBatches):
        return ""
    shares = zip(parts.batches.names, parts.batches.shares, strict=True)
    named = [f"{share} of {name} ({type(parts.objective.of(name)).__name__})" for name, share in shares]
    return f"an epoch has {parts.batches.steps_per_epoch:,} batches: {', '.join(named)}"


def method_in_words(plain: Config) -> dict[str, str]:
    """The method, under the names of its choices, and the recipes of its hyper-parameters, one a line."""
    choices = plain["choices"]
    beside = "" if choices["aux_modality"] == "none" else f" + {choices['aux_modality']}"
    return {
        "objective": f"{choices['objective']}{beside}, augmentation {choices['augmentation']}",
        "recipe": NEXT_LINE.join(plain["sources"]),
    }


def encoder_in_words(name: str, encoder: Encoder) -> str:
    """The encoder by its name, its pooling, and its size."""
    words = [name, pooling_in_words(name, encoder.pooling)]
    if encoder.head is not None:
        words.append("its dense head, which is kept")
    return ", ".join([*words, encoder.size])


def pooling_in_words(name: str, pooling: str) -> str:
    """The pooling; beside it the pooling that the encoder's folder records, if that is another."""
    with suppress(UserError, OSError, ValueError, KeyError):  # a remark: what cannot be read is refused elsewhere
        recorded = recorded_modules(Path(locate(name)))
        if recorded is not None and recorded.pooling != pooling:
            return f"{pooling} pooling (its folder records {recorded.pooling}: model.pooling=null uses that)"
    return f"{pooling} pooling"


def data_in_words(text: Text | TextRows, rows: int | None = None) -> str:
    """The text, the rows that are trained on, if known, the file or dataset that was named, and its columns."""
    words = text.name if rows is None else f"{text.name}, {rows:,} rows"
    if text.place:
        words += f" of {text.place}"
    if text.columns:
        words += f", columns {', '.join(text.columns)}"
    if text.scores:
        words += f", scores {text.scores.name}"
    return words


def truncation_in_words(batches: Batches) -> str:
    """How many rows have a text of as many tokens as a view may have, or more. Longer texts are truncated.

    "" for none, and for text that each view tokenises anew.
    """
    text, most = batches.text, batches.views.max_length
    read = [ids for column, ids in enumerate(text.token_ids) if column in batches.views.columns]
    full = [np.diff(ids.offsets)[text.chosen[batches.row_numbers]] >= most for ids in read]
    count, kept = np.count_nonzero(np.any(full, axis=0)), most - batches.views.tokenizer.template_length
    return f"{count:,} rows reach trainer.max_length={kept}" if count else ""


def views_in_words(batches: Batches, choice: str) -> str:
    """What the views of a row are: columns, or one text several times; and what changes them. choice: augmentation=."""
    text, augmentation, count = batches.text, batches.views.augmentation, batches.views.num_views
    several = text.num_columns > 1
    if several:
        views = ", ".join(text.column_names[:count])
        if unread := text.column_names[count:]:
            views += f" ({', '.join(unread)} not read)"
    else:
        views = {1: "each text", 2: "each text twice"}.get(count, f"each text {count} times")
    if not augmentation.keeps_text:
        views += f", changed by augmentation={choice}"
        return f"{views} except the first" if augmentation.keeps_first else views
    return views if several or count == 1 else f"{views}, with different dropout"


def duplicates_in_words(parts: Parts, batches: Batches, overlap: Overlap) -> str:
    """How many rows share a text with another row, in all and in the first batch; "" for none, or without negatives.

    overlap: has the count of all rows.
    """
    count = of_source(overlap, batches)["duplicates"]
    if not (count and parts.objective.of(batches.text.name).negatives(parts.trainer.batch_size)):
        return ""
    rows_B = batches.row_numbers_of(0)
    meet = met(batches.text, rows_B)
    counted = f"{count:,} rows share a text with another row; {meet} of the {len(rows_B)} rows in the first batch"
    if parts.trainer.no_duplicates:
        return counted
    return f"{counted}, where they are negatives of each other (trainer.no_duplicates=true separates them)"


def selection_in_words(select: str | None, selecting: Mapping[str, Evaluator], tested: Mapping[str, Evaluator]) -> str:
    """How many of the pairs that model selection uses are also test pairs of the run; "" for none.

    select: the score that selects the step. selecting: the evaluators, the one that gives it among them. tested: the
    evaluators that score the run.
    """
    name = (select or "").split("/")[1:2]
    selector = selecting.get(*name) if name else None
    if not isinstance(selector, ScoredPairs):
        return ""
    pairs = selector.pairs("dev")
    shared = []
    for key, evaluator in tested.items():
        tests = set(evaluator.pairs("test")) if isinstance(evaluator, ScoredPairs) else set()
        if count := sum(pair in tests for pair in pairs):
            shared.append(f"{count:,} of its {len(pairs):,} pairs are test pairs of {key} too")
    return "; ".join([f"on {select}", *shared]) if shared else ""


def partial_in_words(evaluators: Mapping[str, Evaluator]) -> str:
    """What is wrong with the evaluators' data: the first problem, and how many there are; "" if it is whole."""
    lines = problems_of({name: evaluator.source() for name, evaluator in evaluators.items()})
    return f"{lines[0].removeprefix('partial: ')}; problems in results.json: {len(lines)}" if lines else ""


def schedule_in_words(steps: str, trainer: Trainer, training: Training | None = None) -> str:
    """Steps, batch size, schedule, learning rate and warm-up. training: None for a plan, before the rows are known."""
    words, over, warmup = f"{steps} steps", "", trainer.warmup
    if training:
        warmup = training.update.warmup
        if (trainer.max_steps or 0) > training.steps:
            words += f" (all of trainer.epochs={trainer.epochs:g}, fewer than trainer.max_steps)"
        if training.update.steps != training.steps:
            over = f" over {training.update.steps:,} steps"
    words += f", batch {trainer.batch_size}, {trainer.schedule} from lr {trainer.lr:g}{over}"
    if not warmup:
        return words
    return words + (
        f", warm-up {warmup:.0%} of the schedule" if isinstance(warmup, float) else f", warm-up {warmup:,} steps"
    )


def device_in_words(training: Training) -> str:
    """Where the run computes, in which precision, and in how many processes if in several."""
    accelerator = training.accelerator
    words = [device_name(accelerator.device), precision_in_words(training.trainer.precision)]
    if training.eval_precision == "bf16":
        words.append("dev scores in bf16, final scores in fp32")
    if accelerator.num_processes > 1:
        words.append(f"{accelerator.num_processes} processes")
    return ", ".join(words)


def precision_in_words(precision: str) -> str:
    """The precision, with a warning where this machine only emulates it."""
    if precision == "bf16" and not computes_bf16():
        return "bf16 (emulated here, many times slower than fp32)"
    return precision


def print_forecast(training: Training) -> None:
    """Log negatives, time, memory and work, measured on this machine. The Training cannot be used afterwards."""
    trainer, parts, device = training.trainer, training.parts, training.accelerator.device
    done, steps = training.state.step, training.steps
    if training.is_over:
        print_fields(time=f"all {done:,} steps are done: the run is scored again")
        return
    if training.accelerator.num_processes > 1:
        print_fields(time="not measured for several processes; measure one with trainer.devices=1")
        return
    about = forecast(training)
    due = sum(map(training.is_due, range(done + (done > 0), steps + 1)))  # step 0 is scored before the first step
    dev_scores, left = due if about.dev_score else 0, steps - done
    seconds = left * about.step + dev_scores * about.dev_score + about.last_scores
    print_fields(
        negatives=f"{parts.objective.negatives(trainer.batch_size):,} an anchor",
        time=f"{left:,} steps of {about.step:.3g} s, {dev_scores} dev scores of {about.dev_score:.3g} s, "
        f"{about.last_scores:.3g} s to encode the other texts at the end; total about {duration(seconds)}, without "
        "fitting classifiers",
        memory=f"{about.memory / 2**30:.1f} of {total_memory(device) / 2**30:.0f} GiB at the peak",
        work=f"{left * about.flop / 1e15:.3g} PFLOP in {left:,} steps; this machine sustains "
        f"{about.flop / about.step / 1e12:.3g} TFLOP/s",
        measured=f"{STEPS} steps on {platform.node()}, {processor(device)}",
    )


def processor(device: torch.device) -> str:
    """The device that the steps were measured on, by name."""
    if is_gpu(device):
        return torch.cuda.get_device_name(device)
    threads = torch.get_num_threads()
    return f"{threads} thread{'s' if threads > 1 else ''} of {platform.processor() or platform.machine()}"


def print_plan(cfg: DictConfig, folder: Path) -> None:
    """Log the part of the plan that does not need the missing weights or data; nothing can be measured without them."""
    print_fields(
        **method_in_words(resolved(cfg)),
        encoder=cfg.model.name,
        data=NEXT_LINE.join(data_in_words(learned.text) for learned in texts_with_objectives(cfg, make(cfg.data))),
        schedule=schedule_in_words(steps_in_words(cfg), make(cfg.trainer)),
        folder=folder,
    )


def print_rows(batches: Steps, count: int, choice: str) -> None:
    """data.preview: log what the views are, the first rows that are trained on, and their views in the first epoch.

    Views are shown as the encoder reads them, masked, as text and ids. A mixture's sources come one after the other.
    choice: augmentation=.
    """
    for own in batches.sources.values():
        print_rows_of_text(own, count, choice)


def print_rows_of_text(batches: Batches, count: int, choice: str) -> None:
    """See print_rows."""
    print_fields(data=data_in_words(batches.text, len(batches.row_numbers)), views=views_in_words(batches, choice))
    decode = batches.views.tokenizer.hf.decode
    for row in map(int, batches.row_numbers[:count]):
        log.info(f"row {batches.text.number(row)}: {batches.text.text(row)[:300]}")
        if scores := batches.text.scores:
            log.info(f"  score   {scores.in_words(float(batches.text.targets_N[row]))}")
        for view, sequences in enumerate(batches.views.of_rows(np.array([row]), 0)):
            for sequence in sequences:
                log.info(f"  view {view}  {len(sequence.ids):3d} tokens  {decode(sequence.ids)}")
                log.info(f"          ids  {' '.join(map(str, sequence.ids))}")


def print_fields(**lines: object) -> None:
    """Log a line for each field that is not empty, its name first."""
    for name, line in lines.items():
        if line:
            log.info("%-10s %s", name, line)
