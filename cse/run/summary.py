"""What a run says before it starts, instead of starting (dry_run), and when it is done."""

import logging
import math
import platform
from collections.abc import Mapping, Sequence, Set
from pathlib import Path

import torch
from accelerate import Accelerator
from omegaconf import DictConfig

from cse.columns import in_columns
from cse.config.compose import resolved
from cse.data.overlap import Overlap, in_words
from cse.device import is_gpu, peak_memory, total_memory
from cse.dotted import Config
from cse.eval.score import nature
from cse.files import write_text
from cse.record.scores import partial_scores, problems_of
from cse.record.status import duration
from cse.run.build import make, precision_name
from cse.run.estimate import estimate, rows_of
from cse.run.plots import draw
from cse.run.record import Record
from cse.sharing.card import model_card
from cse.training.forecast import forecast
from cse.training.loop import Training
from cse.training.settings import Outcome, Parts, Trainer
from cse.types import Evaluator

log = logging.getLogger("cse")


def announce(config: Config, parts: Parts, training: Training, found: Overlap, recorded_use: str) -> None:
    """The run in a few lines: what, on what, how long, where. recorded_use: see cse.run.recorded."""
    encoder = parts.encoder
    print_fields(
        **method_in_words(config),
        encoder=f"{config['model']['name']}, {encoder.pooling} pooling, {encoder.size}",
        recorded=recorded_use and f"{recorded_use}: so its makers use it, and training starts from another encoder",
        data=f"{config['data']['name']}, {len(parts.batches.rows):,} rows",
        overlap=in_words(found) if parts.evaluators else "",
        partial=partial_in_words(parts.evaluators),
        schedule=f"{training.steps:,} of {training.planned:,} steps, {schedule_in_words(parts.trainer)}",
        device=device_in_words(training.accelerator),
        folder=training.folder,
    )


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
    processor = f"{torch.get_num_threads()} threads of {platform.processor() or platform.machine()}"
    if is_gpu(device):
        processor = torch.cuda.get_device_name(device)
    print_fields(
        negatives=f"{negatives:,} an anchor" if negatives else "none",
        time=f"{training.steps:,} steps of {about.step:.3g} s{scored}{last}: {duration(seconds)}{not_included}",
        memory=f"{about.memory / 2**30:.1f} of {total_memory(device) / 2**30:.0f} GiB at the peak",
        work=f"{training.steps * about.flop / 1e15:.3g} PFLOP in {training.steps:,} steps; another machine takes that "
        f"by what it sustains, this one {about.flop / about.step / 1e12:.3g} TFLOP a second",
        measured=f"{about.steps} steps on {platform.node()}, {processor}",
    )


def print_estimate(cfg: DictConfig, accelerator: Accelerator, folder: Path) -> None:
    """Print what does not depend on the weights or data that cannot be had; nothing can be measured without them."""
    found, rows = estimate(cfg), rows_of(cfg.data)
    print_fields(
        **method_in_words(resolved(cfg)),
        encoder=cfg.model.name,
        data=f"{cfg.data.name}, {f'{rows:,}' if rows else '?'} rows",
        schedule=f"{f'{found.steps:,}' if found.steps else '?'} steps, {schedule_in_words(make(cfg.trainer))}",
        device=device_in_words(accelerator),
        folder=folder,
        work=f"at most {found.flop / 1e15:.3g} PFLOP, by a formula" if found.flop else "",
        time="nothing can be measured without what is missing",
    )


def print_fields(**lines: object) -> None:
    """Print a line for each, its name first; none for one that is empty."""
    for name, line in lines.items():
        if line:
            log.info("%-10s %s", name, line)


def method_in_words(config: Config) -> dict[str, str]:
    """What is learned, under the names that a person types, and where the values come from, a source a line."""
    choices = config["choices"]
    beside = "" if choices["aux_modality"] == "none" else f" + {choices['aux_modality']}"
    return {
        "objective": f"{choices['objective']}{beside}, augmentation {choices['augmentation']}",
        "recipe": ("\n" + 11 * " ").join(config["sources"]),
    }


def schedule_in_words(trainer: Trainer) -> str:
    """Batch size, schedule and learning rate."""
    return f"batch {trainer.batch_size}, {trainer.schedule} from lr {trainer.lr:g}"


def device_in_words(accelerator: Accelerator) -> str:
    """The device, its precision, and how many there are."""
    precision = precision_name(accelerator.mixed_precision)
    return f"{accelerator.device}, {precision}, {accelerator.num_processes} process(es)"


def partial_in_words(evaluators: Mapping[str, Evaluator]) -> str:
    """The first thing that is wrong with the evaluators' data, and how many more; "" where it is whole."""
    lines = [line for name, one in evaluators.items() for line in problems_of(name, one.provenance())]
    more = f"; {len(lines) - 1} more such problems in results.json" if len(lines) > 1 else ""
    return lines[0].removeprefix("partial: ") + more if lines else ""


def conclude(record: Record, parts: Parts, outcome: Outcome) -> None:
    """Everything a finished run leaves but its encoder: results.json, the model card, plots, the last words."""
    folder, metrics, trackers = record.folder, record.metrics, record.trackers
    best_step = outcome.best_step or outcome.steps
    record.conclude(
        "done",
        steps=outcome.steps,
        best_step=best_step,
        seconds=round(outcome.seconds, 1),
        tokens_per_second=round(outcome.tokens_per_second, 1),
        peak_memory=peak_memory(parts.encoder.device),
        data={name: evaluator.provenance() for name, evaluator in parts.evaluators.items()},
        training_data=parts.batches.text.provenance(),
    )
    write_text(folder / "best" / "README.md", model_card(record.results, metrics, "best"))
    if test := {name: score for name, score in metrics.items() if name.startswith("test/")}:
        trackers.log(test, outcome.steps)  # as a curve's only point, which dashboards draw
    for name, path in draw(folder, parts.trainer.select, best_step, record.results["seed"]).items():
        trackers.image(f"plots/{name}", path, outcome.steps)
    before = outcome.curve[0][1] if outcome.curve else {}
    recorded = record.results["recorded"]
    untrained = [before] if recorded is None else [recorded["scores"], before]
    rows = [(name, *(scores.get(name, math.nan) for scores in untrained), value) for name, value in metrics.items()]
    titles = ["recorded"] if recorded else []
    trackers.table("scores", ["score", *titles, "step 0", f"step {best_step}"], rows)
    print_scores(
        [*titles, "before"], rows, record.results["config"]["note"], partial_scores(metrics, record.results["data"])
    )
    print_fields(partial=partial_in_words(parts.evaluators))
    select, not_better = str(parts.trainer.select), ""
    if outcome.best_score is not None and outcome.best_score <= before.get(select, -math.inf):
        not_better = ", no better than the untrained encoder"
    elif outcome.best_score is not None and recorded and outcome.best_score <= recorded["scores"][select]:
        not_better = f", no better than the untrained checkpoint with {recorded['use']}"
    chosen = "best trained" if not_better else "best" if parts.trainer.select else "last"
    log.info(
        f"\nfolder     {folder}\n"
        f"{chosen} step  {best_step} of {outcome.steps}{not_better}, "
        f"{outcome.seconds:.0f} s of training, {outcome.tokens_per_second:,.0f} tokens/s\nload it with\n"
        "    from sentence_transformers import SentenceTransformer\n"
        f'    model = SentenceTransformer("{folder / "best"}")\n'
        '    vectors = model.encode(["A sentence.", "Another one."])'
    )
    trackers.finish(0, metrics | {"best_step": best_step})


def print_scores(titles: Sequence[str], rows: Sequence[tuple], note: str | None, altered: Set[str]) -> None:
    """Print the headline scores before and after training in a table, and the note that is about them.

    rows: (score's key, untrained, ..., of the best step), NaN where it was not measured; titles: of those untrained, of
    which the last is where training started. altered: the scores on partial data.
    """
    headline = [row for row in rows if nature(row[0]).headline]
    lines = [("score", *titles, "after", "gain", *(["data"] if altered else []))]
    for name, *untrained, after in headline:
        gain = "" if math.isnan(untrained[-1]) else f"{after - untrained[-1]:+.2f}"
        data = ["partial" if name in altered else "whole"] if altered else []
        first = ("" if math.isnan(one) else f"{one:.2f}" for one in untrained)
        lines.append((name, *first, f"{after:.2f}", gain, *data))
    if headline:
        log.info("\n%s", in_columns(lines, right=range(1, len(lines[0]))))
    if len(headline) < len(rows):
        log.info("%d more scores in results.json", len(rows) - len(headline))
    if headline and note:
        log.info("\n%s", note)
