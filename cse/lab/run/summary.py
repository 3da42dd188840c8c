"""What a run says before it starts, instead of starting (dry_run, data.preview), and when it is done."""

import logging
import math
import platform
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
import torch
from omegaconf import DictConfig

from cse.data.duplicates import met
from cse.data.loader import Batches
from cse.data.overlap import Overlap, in_words
from cse.data.text import Text
from cse.device import computes_bf16, device_name, is_gpu, peak_memory, total_memory
from cse.errors import UserError
from cse.eval.sts import ScoredPairs
from cse.files import write_text
from cse.lab.folder.card import copy_mteb, model_card
from cse.lab.folder.plots import draw
from cse.lab.folder.score_tables import IS_ALTERED, problems_of, shown
from cse.lab.folder.status import duration
from cse.lab.run.build import make
from cse.lab.run.job import steps_in_words
from cse.lab.run.record import Record
from cse.lab.sections import in_columns
from cse.lab.settings.compose import resolved
from cse.lab.settings.dotted import Config
from cse.model.recorded import recorded_modules
from cse.score import decimals, in_short, no_better, values
from cse.sources.encoder import locate
from cse.training.forecast import STEPS, forecast
from cse.training.loop import Training
from cse.training.settings import Parts, State, Trainer
from cse.types import Evaluator

log = logging.getLogger("cse")


def announce(config: Config, training: Training, found: Overlap, asked: str) -> None:
    """Log the run in a few lines: what, on what, how long, where. asked: trainer.precision as it was typed."""
    parts, encoder, accelerator = training.parts, training.parts.encoder, training.accelerator
    precision, count = precision_in_words(config["trainer"]["precision"], asked), accelerator.num_processes
    name, low = config["model"]["name"], training.eval_precision == "bf16"
    head = "its dense head, which is kept, " * (encoder.head is not None)
    print_fields(
        **method_in_words(config),
        encoder=f"{name}, {pooling_in_words(name, encoder.pooling)}, {head}{encoder.size}",
        data=data_in_words(parts.batches.text, len(parts.batches.rows)),
        cut=cut_in_words(parts.batches),
        views=views_in_words(parts.batches, config["choices"]["augmentation"]),
        duplicates=duplicates_in_words(parts, found["duplicates"]),
        overlap=in_words(found) if parts.evaluators else "",
        selection=selection_in_words(parts.trainer.select, parts.evaluators, parts.evaluators),
        partial=partial_in_words(parts.evaluators),
        schedule=schedule_in_words(f"{training.steps:,}", parts.trainer, training),
        device=f"{device_name(accelerator.device)}, {precision}"
        + ", dev scores too, but not those of best/" * low
        + f", {count} processes" * (count > 1),
        folder=training.folder,
    )


def pooling_in_words(name: str, pooling: str) -> str:
    """The pooling, beside that which the encoder's folder records, if it is another."""
    with suppress(UserError, OSError, ValueError, KeyError):  # a remark: what cannot be read is refused elsewhere
        recorded = recorded_modules(Path(locate(name)))
        if recorded is not None and recorded.pooling != pooling:
            return f"{pooling} pooling (its folder records {recorded.pooling}, which model.pooling=null takes)"
    return f"{pooling} pooling"


def precision_in_words(precision: str, asked: str) -> str:
    """The precision, and why auto chose it; a warning where someone asked for bf16 that this machine only emulates."""
    if asked == "auto":
        return f"{precision} (auto: {'computed' if precision == 'bf16' else 'no bf16'} in hardware)"
    emulated = precision == "bf16" and not computes_bf16()
    return f"{precision} (emulated here, many times slower than fp32)" if emulated else precision


def selection_in_words(select: str | None, choosers: Mapping[str, Evaluator], tested: Mapping[str, Evaluator]) -> str:
    """How many of the pairs that choose the kept step are pairs of a test that the run is scored on; "" for none.

    select: the score that chooses it, of one of the choosers. tested: the evaluators that score it.
    """
    name = (select or "").split("/")[1:2]
    chooser = choosers.get(*name) if name else None
    if not isinstance(chooser, ScoredPairs):
        return ""
    pairs = chooser.pairs("dev")
    tests = {key: set(one.pairs("test")) for key, one in tested.items() if isinstance(one, ScoredPairs)}
    shared = {key: sum(pair in of for pair in pairs) for key, of in tests.items()}
    found = [
        f"{count:,} of its {len(pairs):,} pairs are pairs of {key}'s tests" for key, count in shared.items() if count
    ]
    return "; ".join([f"by {select}", *found]) if found else ""


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
        f"{about.last_scores:.3g} s to encode the rest at the end: {duration(seconds)}, and what is fitted on vectors",
        memory=f"{about.memory / 2**30:.1f} of {total_memory(device) / 2**30:.0f} GiB at the peak",
        work=f"{left * about.flop / 1e15:.3g} PFLOP in {left:,} steps; this machine sustains "
        f"{about.flop / about.step / 1e12:.3g} TFLOP a second",
        measured=f"{STEPS} steps on {platform.node()}, {processor(device)}",
    )


def processor(device: torch.device) -> str:
    """The device that the steps were measured on, by name."""
    if is_gpu(device):
        return torch.cuda.get_device_name(device)
    return f"{torch.get_num_threads()} threads of {platform.processor() or platform.machine()}"


def print_plan(cfg: DictConfig, folder: Path) -> None:
    """Log the part of the plan that does not need the missing weights or data; nothing can be measured without them."""
    print_fields(
        **method_in_words(resolved(cfg)),
        encoder=cfg.model.name,
        data=data_in_words(make(cfg.data)),
        schedule=schedule_in_words(steps_in_words(cfg), make(cfg.trainer)),
        folder=folder,
    )


def print_rows(batches: Batches, count: int, choice: str) -> None:
    """data.preview: log what the views are, the first rows that are trained on, and their views in the first epoch,
    masked as they are read, as text and ids. choice: augmentation=."""
    print_fields(data=data_in_words(batches.text, len(batches.rows)), views=views_in_words(batches, choice))
    decode = batches.tokenizer.hf.decode
    for row in map(int, batches.rows[:count]):
        log.info(f"row {batches.text.number(row)}: {batches.text.text(row)[:300]}")
        if scores := batches.text.scores:
            log.info(f"  score   {scores.in_words(float(batches.text.targets_N[row]))}")
        for view, sequences in enumerate(batches.read_views(np.array([row]), 0)):
            for one in sequences:
                log.info(f"  view {view}  {len(one.ids):3d} tokens  {decode(one.ids)}")
                log.info(f"          ids  {' '.join(map(str, one.ids))}")


def print_fields(**lines: object) -> None:
    """Log a line for each field that is not empty, its name first."""
    for name, line in lines.items():
        if line:
            log.info("%-10s %s", name, line)


def method_in_words(config: Config) -> dict[str, str]:
    """The method, under the names that one types, and the sources of its values, one a line."""
    choices = config["choices"]
    beside = "" if choices["aux_modality"] == "none" else f" + {choices['aux_modality']}"
    return {
        "objective": f"{choices['objective']}{beside}, augmentation {choices['augmentation']}",
        "values": ("\n" + 11 * " ").join(config["sources"]),
    }


def data_in_words(text: Text, rows: int | None = None) -> str:
    """The text, the rows that are trained on, if known, the file or dataset that was named, and its columns."""
    place, columns = text.copy or text.path, ", ".join(text.columns or [])
    words = [
        text.name,
        "" if rows is None else f", {rows:,} rows",
        f" of {place}" if place else "",
        f", columns {columns}" if columns else "",
        f", scores {text.scores.name}" if text.scores else "",
    ]
    return "".join(words)


def cut_in_words(batches: Batches) -> str:
    """How many rows have a text of as many tokens as a view may have, or more, of which the rest is lost; "" for none,
    and for text that each view tokenises anew."""
    text, most = batches.text, batches.max_length
    read = [ids for column, ids in enumerate(text.token_ids) if column in batches.columns]
    full = [np.diff(ids.offsets)[text.chosen[batches.rows]] >= most for ids in read]
    count, kept = np.count_nonzero(np.any(full, axis=0)), most - batches.tokenizer.template_length
    return f"{count:,} rows have {kept} tokens or more, of which {kept} are kept (trainer.max_length)" if count else ""


def duplicates_in_words(parts: Parts, count: int) -> str:
    """How many rows have a text that another row has too, and of a first batch; "" for none, or without negatives.
    count: those of all rows."""
    batches = parts.batches
    if not (count and parts.objective.negatives(parts.trainer.batch_size)):
        return ""
    rows_B = batches.rows_of(0)
    said = f"{count:,} rows share a text with another, {met(batches.text, rows_B)} of {len(rows_B)} in the first batch"
    apart = parts.trainer.no_duplicates
    return said + ("" if apart else ", where it is a negative (trainer.no_duplicates=true keeps them apart)")


def views_in_words(batches: Batches, choice: str) -> str:
    """What the views of a row are: columns, or one text several times; and what changes them. choice: augmentation=."""
    text, augmentation, count = batches.text, batches.augmentation, batches.num_views
    several, unread = text.num_columns > 1, text.column_names[count:]
    views = f"each text {count} times" if count > 1 else "each text"
    if several:
        views = ", ".join(text.column_names[:count]) + (f" ({', '.join(unread)} not read)" if unread else "")
    if augmentation.keeps_text:
        return views if several or count == 1 else f"{views}, told apart by dropout"
    return f"{views}, changed by augmentation={choice}" + (" but for the first" if augmentation.keeps_first else "")


def schedule_in_words(steps: str, trainer: Trainer, training: Training | None = None) -> str:
    """Steps, batch size, schedule, learning rate and warm-up. training: None for a plan, whose rows are not known."""
    all_epochs, over, warmup = "", "", trainer.warmup
    if training:
        if (trainer.max_steps or 0) > training.steps:
            all_epochs = f" (all of trainer.epochs={trainer.epochs:g}, fewer than trainer.max_steps)"
        over = f" over {training.update.steps:,} steps" * (training.update.steps != training.steps)
        warmup = training.update.warmup
    said = f"{steps} steps{all_epochs}, batch {trainer.batch_size}, {trainer.schedule} from lr {trainer.lr:g}{over}"
    size = f"{warmup:.0%} of the schedule" if isinstance(warmup, float) else f"{warmup:,} steps"
    return f"{said}, warm-up {size}" if warmup else said


def partial_in_words(evaluators: Mapping[str, Evaluator]) -> str:
    """What is wrong with the evaluators' data: the first problem, and how many there are; "" if it is whole."""
    lines = problems_of({name: one.source() for name, one in evaluators.items()})
    return f"{lines[0].removeprefix('partial: ')}; problems in results.json: {len(lines)}" if lines else ""


def conclude(record: Record, parts: Parts, state: State) -> None:
    """Write all that a finished run leaves beside its encoder: results.json, model card, plots, the final log lines."""
    folder, metrics, trackers = record.folder, values(record.scores.values()), record.trackers
    best_step, before = state.best_step or state.step, dict(state.curve).get(0, {})
    record.conclude(
        "done",
        steps=state.step,
        best_step=best_step,
        weights_sum=state.best_sum,
        untrained=before,
        seconds=round(state.seconds, 1),
        tokens_per_second=round(state.tokens_per_second, 1),
        peak_memory=peak_memory(parts.encoder.device),
        data={name: evaluator.source() for name, evaluator in parts.evaluators.items()},
    )
    write_text(folder / "best" / "README.md", model_card(record.results, record.scores.values()))
    copy_mteb(folder / "best", record.results)
    if test := {name: score for name, score in metrics.items() if name.startswith("test/")}:
        trackers.log(test, best_step)  # dashboards draw a curve of one point
    for name, path in draw(folder, parts.trainer.select, best_step, record.results["seed"]).items():
        trackers.image(f"plots/{name}", path, state.step)
    print_scores(record, before)
    not_better = ", no better than untrained" * no_better(record.scores, str(parts.trainer.select), before)
    log.info(
        f"\nfolder     {folder}\n"
        f"kept step  {best_step} of {state.step}{not_better}, "
        f"{state.seconds:.0f} s of training, {state.tokens_per_second:,.0f} tokens/s\nload it with\n"
        "    from sentence_transformers import SentenceTransformer\n"
        f'    model = SentenceTransformer("{folder / "best"}")\n'
        '    vectors = model.encode(["A sentence.", "Another one."])'
    )
    trackers.finish(0, metrics | {"best_step": best_step})


def print_scores(record: Record, untrained: Mapping[str, float]) -> None:
    """Send trackers a table of all scores before and after training, and log the headline ones."""
    columns, rows, headline = ["score", "before", "after"], [], []
    for name, score in record.scores.items():
        numbers = [untrained.get(name, math.nan), score.value]
        rows.append((name, *numbers))
        if score.headline:
            places = decimals(score.value)
            change = f"{round(score.value, places) - round(numbers[0], places):+z.{places}f}"
            cells = [*map(in_short, numbers), change]
            headline.append((shown(score), *("" if "nan" in cell else cell for cell in cells)))
    record.trackers.table("scores", columns, rows)
    if headline:
        log.info("\n%s", in_columns([(*columns, "change"), *headline], right=range(1, len(columns) + 1)))
        if any(score.altered for score in record.scores.values()):
            log.info("%s", IS_ALTERED)
        if note := record.results["config"]["note"]:
            log.info("\n%s", note)
    if len(headline) < len(rows):
        log.info("scores in results.json: %d", len(rows))
