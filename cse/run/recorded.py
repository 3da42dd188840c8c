"""The checkpoint as its makers use it, to compare training with: with the pooling and the dense head that its folder
records, and all its layers."""

import logging
from pathlib import Path

from omegaconf import DictConfig

from cse.errors import UserError
from cse.eval.score import score
from cse.model.encoder import Encoder
from cse.model.integrity import loading
from cse.model.load import load_encoder, local_folder
from cse.model.recorded import recorded_modules
from cse.run.startup import random_states_kept
from cse.score import values
from cse.sources import hub
from cse.training.loop import Training

log = logging.getLogger("cse")


def recorded_use(model: DictConfig, encoder: Encoder) -> str:
    """How the checkpoint's folder says to use it, in words; "" if it says nothing, or if training starts the same way.

    model: of the config. Logs a warning for a record that cse cannot use. Raises MissingResource if it is damaged.
    """
    try:
        with loading(model.name), hub.cache_only():  # the encoder was loaded from there
            recorded = recorded_modules(Path(local_folder(model.name)))
    except UserError as error:  # training does not need it
        log.warning(
            "%s; training starts with %s pooling, and is not compared with the recorded use", error, encoder.pooling
        )
        return ""
    is_cut = model.num_layers is not None or model.bidirectional
    if recorded is None or not (is_cut or recorded.head or recorded.pooling != encoder.pooling):
        return ""
    more = [", its dense head"] * (recorded.head is not None) + [", all layers as they are"] * is_cut
    return f"{recorded.pooling} pooling{''.join(more)}"


def scores_as_recorded(model: DictConfig, training: Training) -> dict[str, float] | None:
    """The dev scores that training watches, of the checkpoint as its folder records it; None if it cannot be loaded.

    Keeps the random states.
    """
    with random_states_kept():
        try:
            encoder = load_encoder(model.name, pooling=None, prefix=model.prefix).to(training.accelerator.device)
        except UserError as error:
            log.warning("%s; training is not compared with the recorded use", error)
            return None
        splits = {name: ["dev"] for name in training.watched}
        return values(score(training.parts.evaluators, splits, encoder.encode, logging.DEBUG).values())
