"""best/: the best checkpoint's encoder, exported while the run trains, read back and scored at its end; and all that
a finished run leaves beside it.

In the order of a run: recover_best, save_best, finish_run. Only the process that writes the record calls these.
"""

import logging
import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import numpy as np
import torch
from safetensors import SafetensorError, safe_open

from cse.device import peak_memory
from cse.errors import UserError
from cse.eval.items import KeptItems, keep_cosines, keep_items
from cse.eval.scoring import MemoizedEncode, refuse_nan
from cse.files import Json, checksum, read_json, recover, replaced_folder, write_json, write_text
from cse.lab.folder.contents import Results
from cse.lab.run.record import Record
from cse.lab.sharing.card import model_card
from cse.lab.sharing.hub_metadata import base_model
from cse.lab.sharing.plots import draw_plots
from cse.lab.sharing.score_tables import IS_MODIFIED, marked_name
from cse.lab.text_columns import to_columns
from cse.model.export import save_encoder
from cse.model.load import load_encoder
from cse.score import Score, Scores, decimals, in_short, no_better, values
from cse.training.checkpoint import drop_tensors
from cse.training.loop import Training
from cse.training.settings import Parts, State
from cse.types import Evaluator

log = logging.getLogger("cse")

SAMPLE, TOLERANCE = 32, 1e-4  # how many texts are encoded again, and by how much other batches may change a number


def recover_best(folder: Path, training: Training) -> None:
    """Before a run is resumed: repair a best/ that a kill left half replaced, and check it. folder: the run's.

    If best/ is not the one that last/ recorded, the best step is selected anew from the steps to come. After a kill
    between the writes of the two this changes nothing: the run makes these steps again.

    Raises UserError if the exported best step is gone or damaged, or if it is another one and no step is left: the run
    would lose its scores, or report another's.
    """
    best, state = folder / "best", training.state
    recover(best)
    if not state.best_step:
        return
    try:
        (best / "config.json").read_bytes()
        with safe_open(best / "model.safetensors", "pt"):  # checks the file's length against its header
            pass
    except (OSError, SafetensorError) as error:
        raise UserError(
            f"{best}, which should hold step {state.best_step}, is gone or damaged ({error}): put a copy back, or "
            "train again in another folder"
        ) from error
    if state.best_sum not in (None, checksum(best / "model.safetensors")):
        if training.is_over:
            raise UserError(f"{best} is not what this run left there at step {state.best_step}: put a copy back")
        log.warning(
            "%s is not of step %d: the best step is selected anew from step %d on", best, state.best_step, state.step
        )
        state.best_score = None  # its step stays, from which trainer.patience counts


def save_best(record: Record, parts: Parts, step: int, scores: Scores) -> str:
    """Replace best/ with the encoder as it is now. Returns the checksum of its weights.

    Raises RunError, and leaves the old best/, if the disk refuses.
    """
    folder = record.folder / "best"
    config = record.results["config"]
    with replaced_folder(folder) as temporary:
        card = model_card(record.results | {"best_step": step}, scores.values())
        save_encoder(parts.encoder, temporary, parts.objective.test_head(), card)
        if parts.encoder.lora:  # peft names a folder of this machine
            adapter = temporary / "adapter" / "adapter_config.json"
            base = {"base_model_name_or_path": base_model(config) or config["model"]["name"]}
            write_json(adapter, read_json(adapter) | base)
        return checksum(temporary / "model.safetensors")


def finish_run(record: Record, training: Training, state: State) -> None:
    """Score best/, and write what a finished run leaves. A run in which nothing selects keeps its last step."""
    parts, device = training.parts, training.accelerator.device
    if state.best_step == 0:
        state.best_step, state.best_sum = state.step, save_best(record, parts, state.step, {})
    items = score_best(record, parts.evaluators, device, training.known(state.best_step))
    if not training.trainer.keep_last:
        drop_tensors(record.folder, state)
    leave_results(record, parts, state, items)


def score_best(
    record: Record, evaluators: Mapping[str, Evaluator], device: torch.device, known: Mapping[str, np.ndarray]
) -> KeptItems:
    """Score best/ as a user will load it, every evaluator on all its splits. Returns the entry of items.npz.

    known: vectors of texts by the encoder that was exported. If a sample of them agrees with best/, all are reused.
    """
    encode = MemoizedEncode(refuse_nan(load_encoder(str(record.folder / "best"), pooling=None).to(device).encode))
    sample = list(known)[:SAMPLE]
    if sample and np.allclose(encode(sample), [known[text] for text in sample], rtol=0, atol=TOLERANCE):
        encode.rows.update(known)
    scores = record.score(evaluators, encode)
    keep_cosines(record.folder, "after", scores)
    return keep_items(record.folder, scores)


def leave_results(record: Record, parts: Parts, state: State, items: KeptItems) -> None:
    """Write all that a finished run leaves beside its encoder: results.json, model card, plots, the final log lines."""
    folder, metrics, trackers = record.folder, values(record.scores.values()), record.trackers
    best_step, before = state.best_step or state.step, dict(state.curve).get(0, {})
    record.conclude(
        status="done",
        items=items,
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
    for name, path in draw_plots(folder, parts.trainer.select, best_step, record.results["seed"]).items():
        trackers.image(f"plots/{name}", path, state.step)
    print_scores(record, before)
    kept = f"step {best_step} of {state.step}"
    if no_better(record.scores, str(parts.trainer.select), before):
        kept += ", no better than untrained"
    log.info(
        f"\nfolder     {folder}\n"
        f"checkpoint {kept}, {state.seconds:.0f} s of training, {state.tokens_per_second:,.0f} tokens/s\nload it with\n"
        "    from sentence_transformers import SentenceTransformer\n"
        f'    model = SentenceTransformer("{folder / "best"}")\n'
        '    vectors = model.encode(["A sentence.", "Another one."])'
    )
    trackers.finish(0, metrics | {"best_step": best_step})


def copy_mteb(best: Path, record: Results) -> None:
    """Copy mteb's own results of the encoder, with run_settings.jsonl, into best/mteb, if mteb scored it."""
    if "mteb" not in record["data"]:
        return
    model = cast("Json", record["data"]["mteb"])["model"]  # a key of its own
    cache = Path(record["config"]["eval"]["mteb"]["cache"])
    for file in sorted((cache / "results" / model["name"].replace("/", "__") / model["revision"]).glob("*.json*")):
        (best / "mteb").mkdir(exist_ok=True)
        shutil.copyfile(file, best / "mteb" / file.name)


def print_scores(record: Record, untrained: Mapping[str, float]) -> None:
    """Send trackers a table of all scores before and after training, and log the headline ones."""
    columns = ["score", "before", "after"]
    rows = [(name, untrained.get(name, math.nan), scored.value) for name, scored in record.scores.items()]
    record.trackers.table("scores", columns, rows)
    headline = [
        headline_in_words(scored, untrained.get(scored.name)) for scored in record.scores.values() if scored.headline
    ]
    if headline:
        log.info("\n%s", to_columns([(*columns, "change"), *headline], right=range(1, len(columns) + 1)))
        if any(scored.modified for scored in record.scores.values()):
            log.info("%s", IS_MODIFIED)
        if note := record.results["config"]["note"]:
            log.info("\n%s", note)
    if len(headline) < len(rows):
        log.info("scores in results.json: %d", len(rows))


def headline_in_words(scored: Score, before: float | None) -> tuple[str, str, str, str]:
    """(name, before training, after, change), as printed; "" for what is not known, or no number."""
    after = "" if math.isnan(scored.value) else in_short(scored.value)
    if before is None or math.isnan(before):
        return marked_name(scored), "", after, ""
    if not after:
        return marked_name(scored), in_short(before), "", ""
    places = decimals(scored.value)
    change = f"{round(scored.value, places) - round(before, places):+z.{places}f}"
    return marked_name(scored), in_short(before), after, change
