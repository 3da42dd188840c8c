"""An objective in a plain PyTorch loop: python -m examples.plain_loop ENCODER SENTENCES [OBJECTIVE]

ENCODER is a folder or a hub name for transformers. SENTENCES is a file with one sentence per line. The encoder's
dropout makes the views of a sentence differ.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import torch
from transformers import AutoModel, AutoTokenizer

from examples.objectives import OBJECTIVES


def batches(sentences: list[str], size: int) -> Iterator[list[str]]:
    """Batches of `size` sentences, in a random order. A last batch with fewer sentences is left out."""
    order = torch.randperm(len(sentences)).tolist()
    for start in range(0, len(sentences) - size + 1, size):
        yield [sentences[number] for number in order[start : start + size]]


def train(
    encoder: str, sentences: list[str], objective: str, batch_size: int = 64, lr: float = 3e-5
) -> Iterator[float]:
    """The loss of each step of one epoch."""
    tokenizer, model = AutoTokenizer.from_pretrained(encoder), AutoModel.from_pretrained(encoder).train()
    recipe = OBJECTIVES[objective]
    head = recipe.head(model.config.hidden_size)
    optimizer = torch.optim.AdamW([*model.parameters(), *head.parameters()], lr=lr)
    for batch in batches(sentences, batch_size):
        tokens = tokenizer(batch, padding=True, truncation=True, max_length=32, return_tensors="pt")
        views = [model(**tokens).last_hidden_state[:, 0] for _ in range(recipe.views)]
        loss = recipe.loss(*(head(view) for view in views))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


if __name__ == "__main__":
    lines = Path(sys.argv[2]).read_text(encoding="utf-8").splitlines()
    for step, loss in enumerate(train(sys.argv[1], lines, *sys.argv[3:] or ["simcse"]), 1):
        print(f"step {step}, loss {loss:.4f}")
