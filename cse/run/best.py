"""best/: the encoder of the best step, exported as the run goes on, read back at its end and scored."""

from typing import Literal

import torch

from cse.eval.cosines import keep_cosines
from cse.eval.score import Remembering, score
from cse.files import replaced_folder
from cse.model.export import save_encoder
from cse.model.load import load_encoder
from cse.run.record import Record, model_card
from cse.training.settings import Parts
from cse.types import Encode


class Best:
    """The encoder that a run leaves. Only the process that writes the record uses it."""

    def __init__(self, record: Record, parts: Parts):
        self.record, self.parts = record, parts
        self.folder = record.folder / "best"

    def keep(self, step: int, scores: dict[str, float]) -> None:
        """Replace best/ by the encoder as it is. Raises RunError where the disk refuses; the old one then stays."""
        card = model_card(self.record.content, step, scores)
        with replaced_folder(self.folder, "free space and run again with resume=auto") as temporary:
            save_encoder(self.parts.encoder, temporary, self.parts.objective.test_head(), card)

    def score(self, device: torch.device) -> None:
        """Score what a user will load, every evaluator on all its splits, into the record's metrics."""
        encode = Remembering(load_encoder(str(self.folder), pooling=None).to(device).encode)
        evaluators = self.parts.evaluators
        splits = {name: list(evaluator.splits) for name, evaluator in evaluators.items()}
        score(evaluators, splits, encode, into=self.record.metrics)
        self.keep_cosines("after", encode)

    def keep_cosines(self, when: Literal["before", "after"], encode: Encode) -> None:
        """Keep the cosines of scored pairs "before" or "after" training, for the run's pictures."""
        keep_cosines(self.record.folder, when, self.parts.evaluators, encode)
