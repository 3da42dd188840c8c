"""An objective in sentence-transformers' trainer: python -m examples.st_trainer ENCODER SENTENCES [OBJECTIVE]

ENCODER is a folder or a hub name for sentence-transformers. SENTENCES is a file with one sentence per line. Each column
of the data set is a view. Here all columns have the same sentence, and dropout makes the views differ.
"""

import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from torch import Tensor, nn

from examples.objectives import OBJECTIVES, Recipe


class ViewLoss(nn.Module):
    """A loss for sentence-transformers from a function of views. It encodes every column, then calls head and loss."""

    def __init__(self, model: SentenceTransformer, recipe: Recipe):
        super().__init__()
        self.model = model
        self.head = recipe.head(model.get_embedding_dimension())
        self.loss = recipe.loss

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor | None) -> Tensor:
        """The loss of one batch; the trainer optimises the model and the head."""
        views = [self.model(features)["sentence_embedding"] for features in sentence_features]
        return self.loss(*(self.head(view) for view in views))


def train(encoder: str, sentences: list[str], objective: str, folder: str, batch_size: int = 64) -> SentenceTransformer:
    """The model after one epoch. folder: where the trainer writes its files."""
    model, recipe = SentenceTransformer(encoder), OBJECTIVES[objective]
    data = Dataset.from_dict({f"view{number}": sentences for number in range(recipe.views)})
    arguments = SentenceTransformerTrainingArguments(
        folder,
        num_train_epochs=1,
        per_device_train_batch_size=batch_size,
        learning_rate=3e-5,
        dataloader_drop_last=True,
        report_to="none",
        save_strategy="no",
    )
    loss = ViewLoss(model, recipe)
    SentenceTransformerTrainer(model, arguments, train_dataset=data, loss=loss).train()
    return model


if __name__ == "__main__":
    lines = Path(sys.argv[2]).read_text(encoding="utf-8").splitlines()
    with tempfile.TemporaryDirectory() as place:
        train(sys.argv[1], lines, *sys.argv[3:] or ["simcse"], folder=place).save("trained")
