"""The folder best/ with the encoder of the best step. The functions are in the order of a run.

    recover_best  before a resumed run: repairs and checks best/
    save_best     at each step that is better than all earlier steps: exports the encoder
    finish_run    at the end: scores best/, and writes and logs the results of the run

Only the first process of a run calls these functions. `recover_best` and `finish_run` may change the best step or the
best score in the training's State, which last/ records.
"""

import logging
import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import numpy as np
from safetensors import SafetensorError, safe_open

from cse.device import peak_memory
from cse.errors import UserError
from cse.eval.items import KeptItems, keep_cosines, keep_items
from cse.eval.scoring import MemoizedEncode, refuse_nan
from cse.files import Json, checksum, read_json, recover, replaced_folder, write_json, write_text
from cse.lab.folder.contents import Results
from cse.lab.run.record import Record
from cse.lab.settings.values import PlainConfig, flattened
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

log = logging.getLogger("cse")

SAMPLE, TOLERANCE = 32, 1e-4  # how many texts are encoded again; how much a vector's numbers may change with the batch


def recover_best(training: Training) -> None:
    """Before the run continues, repair best/ if a kill interrupted a write, and check best/.

    If best/ is not the encoder that last/ records, set the state's best score to None: the run then selects the best of
    its remaining steps. After a kill between the writes of best/ and last/, these steps include the step of best/.

    Raises UserError if best/ is missing or damaged, or if no steps remain and best/ is not the encoder that last/
    records: the run would report the scores of another step.
    """
    best, state = training.folder / "best", training.state
    recover(best)
    if not state.best_step:
        return
    try:
        (best / "config.json").read_bytes()
        with safe_open(best / "model.safetensors", "pt"):  # checks the file's length against its header
            pass
    except (OSError, SafetensorError) as error:
        raise UserError(
            f"{best} should hold the checkpoint of step {state.best_step}, but is missing or damaged ({error}): "
            "restore it from a copy, or train again in another folder"
        ) from error
    if state.best_sum not in (None, checksum(best / "model.safetensors")):
        if training.is_over:
            raise UserError(f"{best} is not what this run saved at step {state.best_step}: restore it from a copy")
        log.warning("%s is not from step %d: model selection begins anew at step %d", best, state.best_step, state.step)
        state.best_score = None  # best_step stays, because trainer.patience counts from this step


def save_best(record: Record, parts: Parts, step: int, scores: Scores) -> str:
    """Replace best/ by the encoder of this step, and return the checksum of the encoder's weights.

    If writing fails, the old best/ remains, and RunError is raised.
    """
    folder = record.folder / "best"
    plain = record.results["config"]
    with replaced_folder(folder) as temporary:
        card = model_card(record.results | {"best_step": step}, scores.values())
        save_encoder(parts.encoder, temporary, parts.objective.test_head(), card)
        if parts.encoder.lora:  # peft would write the name of a folder on this machine
            adapter = temporary / "adapter" / "adapter_config.json"
            base = {"base_model_name_or_path": base_model(plain) or plain["model"]["name"]}
            write_json(adapter, read_json(adapter) | base)
        return checksum(temporary / "model.safetensors")


def finish_run(record: Record, training: Training, state: State) -> None:
    """Score best/, and write and log the results of a finished run.

    If no score selected a step, first export the encoder of the last step, and make this step the state's best step.
    """
    parts, trackers = training.parts, record.trackers
    if state.best_step == 0:
        state.best_step, state.best_sum = state.step, save_best(record, parts, state.step, {})
    items = score_best(record, training, state.best_step)
    if not training.trainer.keep_last:
        drop_tensors(record.folder, state)
    before = dict(state.curve).get(0, {})  # the untrained encoder's dev scores
    record.note(
        items=items,
        steps=state.step,
        best_step=state.best_step,
        weights_sum=state.best_sum,
        untrained=before,
        seconds=round(state.seconds, 1),
        tokens_per_second=round(state.tokens_per_second, 1),
        peak_memory=peak_memory(parts.encoder.device),
        data={name: evaluator.source() for name, evaluator in parts.evaluators.items()},
    )
    write_text(record.folder / "best" / "README.md", model_card(record.results, record.scores.values()))
    copy_mteb(record.folder / "best", record.results)
    scores = values(record.scores.values())
    if test := {name: score for name, score in scores.items() if name.startswith("test/")}:
        trackers.log(test, state.best_step)  # dashboards draw these as a curve of one point
    plots = draw_plots(record.folder, parts.trainer.select, state.best_step, record.results["seed"])
    for name, path in plots.items():
        trackers.image(f"plots/{name}", path, state.step)
    log_scores(record, before)
    log_checkpoint(record, state, is_no_better=no_better(record.scores, str(parts.trainer.select), before))


def score_best(record: Record, training: Training, step: int) -> KeptItems:
    """Load best/ as a user will, and score it on all splits of every evaluator. Return results.json's entry `items`.

    step: the step of best/. The training may still have vectors that its encoder made at this step. If a sample of
    these vectors equals the vectors of best/, all these vectors are reused.
    """
    device, known = training.accelerator.device, training.known(step)
    encoder = load_encoder(str(record.folder / "best"), pooling=None).to(device)
    encode = MemoizedEncode(refuse_nan(encoder.encode), full=lambda: encoder.full_n)
    sample = list(known)[:SAMPLE]
    if sample and np.allclose(encode(sample), [known[text] for text in sample], rtol=0, atol=TOLERANCE):
        encode.rows.update(known)
        encode.long |= training.encoding[1].long if training.encoding else set()
    longer = f"in cse-eval, {encoder.tokenizer.longer('max_length')}"
    scores = record.score(training.parts.evaluators, encode, longer)
    keep_cosines(record.folder, "after", scores)
    return keep_items(record.folder, scores)


def copy_mteb(best: Path, results: Results) -> None:
    """If mteb scored the encoder, copy mteb's own result files and run_settings.jsonl into best/mteb."""
    if "mteb" not in results["data"]:
        return
    model = cast("Json", results["data"]["mteb"])["model"]  # only mteb's data has this key
    cache = Path(results["config"]["eval"]["mteb"]["cache"])
    for file in sorted((cache / "results" / model["name"].replace("/", "__") / model["revision"]).glob("*.json*")):
        (best / "mteb").mkdir(exist_ok=True)
        shutil.copyfile(file, best / "mteb" / file.name)


def log_scores(record: Record, before: Mapping[str, float]) -> None:
    """Send a table of all scores to the trackers, and log the headline scores. before: the scores before training."""
    columns = ["score", "before", "after"]
    rows = [(name, before.get(name, math.nan), scored.value) for name, scored in record.scores.items()]
    record.trackers.table("scores", columns, rows)
    headline = [
        headline_in_words(scored, before.get(scored.name)) for scored in record.scores.values() if scored.headline
    ]
    if headline:
        log.info("\n%s", to_columns([(*columns, "change"), *headline], right=range(1, len(columns) + 1)))
        if any(scored.modified for scored in record.scores.values()):
            log.info("%s", IS_MODIFIED)
        if note := note_on(record.results["config"]):
            log.info("\n%s", note)
    if len(headline) < len(rows):
        log.info("results.json has all %d scores", len(rows))


def note_on(config: PlainConfig) -> str:
    """Return the texts of the setting `note` that apply to this run; "" for a smoke test: its weights are synthetic."""
    note = config["note"]
    if not note or config["smoke"]:
        return ""
    if isinstance(note, str):
        return note
    values = flattened(config)
    return " ".join(one["text"] for one in note if one["when"].items() <= values.items())


def headline_in_words(scored: Score, before: float | None) -> tuple[str, str, str, str]:
    """Return a score's row in the log: (name, before training, after training, change); "" for no value and for NaN."""
    after = "" if math.isnan(scored.value) else in_short(scored.value)
    if before is None or math.isnan(before):
        return marked_name(scored), "", after, ""
    if not after:
        return marked_name(scored), in_short(before), "", ""
    places = decimals(scored.value)
    change = f"{round(scored.value, places) - round(before, places):+z.{places}f}"
    return marked_name(scored), in_short(before), after, change


def log_checkpoint(record: Record, state: State, is_no_better: bool) -> None:
    """Log the folder of the run, its best step, and how to load the encoder.

    is_no_better: whether the best step is no better than the encoder before training.
    """
    kept = f"step {state.best_step} of {state.step}"
    if is_no_better:
        kept += ", no better than before training"
    log.info(
        f"\nfolder     {record.folder}\n"
        f"checkpoint {kept}, {state.seconds:.0f} s of training, {state.tokens_per_second:,.0f} tokens/s\nload it with\n"
        "    from sentence_transformers import SentenceTransformer\n"
        f'    model = SentenceTransformer("{record.folder / "best"}")\n'
        '    vectors = model.encode(["A sentence.", "Another one."])'
    )
