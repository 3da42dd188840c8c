"""best/: the encoder of the best step, exported while the run trains, read back and scored at its end.

Only the process that writes the record calls these.
"""

import logging
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open

from cse.errors import UserError
from cse.eval.items import keep_cosines, keep_items
from cse.eval.scoring import MemoizedEncode, finite, score
from cse.files import checksum, read_json, recover, replaced_folder, write_json
from cse.lab.folder.card import model_card
from cse.lab.folder.origin import base_model
from cse.lab.run.record import Record
from cse.model.export import save_encoder
from cse.model.load import load_encoder
from cse.score import Scores
from cse.training.loop import Training
from cse.training.settings import Parts
from cse.types import Evaluator

log = logging.getLogger("cse")

SAMPLE, ALIKE = 32, 1e-4  # how many texts are encoded again, and by how much other batches may change a number


def recover_best(folder: Path, training: Training) -> None:
    """Before a run is resumed: repair a best/ that a kill left half replaced, and check it. folder: the run's.

    If best/ is not the one that last/ recorded, the best step is chosen anew from the steps to come. After a kill
    between the writes of the two this changes nothing, since those steps are made again.

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
            "%s is not of step %d: the best step is chosen anew from step %d on", best, state.best_step, state.step
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


def score_best(
    record: Record, evaluators: Mapping[str, Evaluator], device: torch.device, known: Mapping[str, np.ndarray]
) -> None:
    """Score best/ as a user will load it, every evaluator on all its splits, into the record's metrics.

    known: vectors of texts by the encoder that was exported. If a sample of them agrees with best/, all are reused.
    """
    encode = MemoizedEncode(finite(load_encoder(str(record.folder / "best"), pooling=None).to(device).encode))
    sample = list(known)[:SAMPLE]
    if sample and np.allclose(encode(sample), [known[text] for text in sample], rtol=0, atol=ALIKE):
        encode.rows.update(known)
    found = score(evaluators, encode, into=record.scores).values()
    record.results["items"] = keep_items(record.folder, found)
    keep_cosines(record.folder, "after", found)
