"""Unsupervised SimCSE (arXiv:2104.08821) from text to scores on one page:
python -m examples.simcse_by_hand ENCODER SENTENCES PAIRS FOLDER

This command has the same losses, dev scores and vectors, to the last digit
(tests/examples/test_simcse_by_hand.py):
cse-train objective=simcse model.name=ENCODER model.pooling=cls trainer.precision=fp32 \
    data=text data.path=SENTENCES eval=pairs eval.pairs.dev=PAIRS trainer.select=dev/PAIRS_NAME/spearman

ENCODER is a folder or a name on the hub. SENTENCES has one sentence per line. PAIRS is a CSV file with the columns
sentence1, sentence2 and score. The command adds other data, objectives and optimizers, several processes, a checkpoint
to resume from, a forecast, trackers and the model card.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from accelerate.utils import set_seed
from scipy.stats import spearmanr

from cse.eval.sts import cosines
from cse.files import replaced_folder
from cse.model.encoder import Encoder
from cse.model.export import save_encoder
from cse.model.heads import MLPHead
from cse.model.load import load_encoder
from cse.objective.simcse import info_nce
from cse.tensors import seeded
from cse.training.optim import adamw, clip_gradients, learning_rate, set_rates
from cse.types import Tokens

SEED = 42  # the papers' trainers
TEMPERATURE = 0.05  # Section 4.1
BATCH_SIZE, LR, MAX_LENGTH, EVAL_EVERY = 64, 3e-5, 32, 125  # README and run_unsup_example.sh of the authors


def batches(encoder: Encoder, sentences: list[str], size: int) -> Iterator[Tokens]:
    """One epoch. Each batch has its rows twice: first all as anchors, then all as positives."""
    ids = encoder.tokenizer(sentences, MAX_LENGTH)
    order = torch.randperm(len(ids), generator=seeded(SEED, 0)).tolist()
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        if len(rows) > 1:
            yield encoder.tokenizer.collate([ids[row] for row in rows * 2])


def score(encoder: Encoder, pairs: pd.DataFrame) -> float:
    """100 x Spearman's correlation of the cosines with the human scores. The head is not used (mlp_only_train)."""
    first_ND, second_ND = np.split(encoder.encode([*pairs["sentence1"], *pairs["sentence2"]]), 2)
    return 100 * float(spearmanr(cosines(first_ND, second_ND), pairs["score"])[0])


def train(
    name: str, sentences: list[str], pairs: pd.DataFrame, best: Path, size: int = BATCH_SIZE, every: int = EVAL_EVERY
) -> Iterator[tuple[int, float | None, float | None]]:
    """(step, its loss or None, its dev score or None). Saves the encoder of the best step in `best`."""
    set_seed(SEED)  # for the head's new weights
    encoder = load_encoder(name, pooling="cls")
    head = MLPHead(encoder.dim)
    optimizer = adamw([encoder, head], LR, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, no_decay=[])
    set_seed(SEED)  # for dropout: it makes the two views differ
    full, rest = divmod(len(sentences), size)
    steps = full + (rest > 1)  # one row has no negatives
    yield 0, None, score(encoder, pairs)
    highest = -np.inf
    for step, tokens in enumerate(batches(encoder, sentences, size)):
        anchors_BD, positives_BD = encoder(tokens).pooled_BD.chunk(2)
        loss = info_nce(head(anchors_BD), head(positives_BD), TEMPERATURE)  # Equation 4
        optimizer.zero_grad()
        loss.backward()
        clip_gradients([encoder, head], 1.0)
        rate = learning_rate("linear", LR, step, steps, warmup=0)
        set_rates(optimizer, step, rate, eps=1e-8, correction="hf", decays=[0.0])
        optimizer.step()
        done, dev = step + 1, None
        if done % every == 0 or done == steps:
            dev = score(encoder, pairs)
            if dev > highest:
                highest = dev
                with replaced_folder(best) as new:
                    save_encoder(encoder, new)
        yield done, loss.item(), dev


if __name__ == "__main__":
    lines = Path(sys.argv[2]).read_text(encoding="utf-8").splitlines()
    for step, loss, dev in train(sys.argv[1], lines, pd.read_csv(sys.argv[3]), Path(sys.argv[4])):
        print(f"step {step}" + (f", loss {loss:.4f}" if loss else "") + (f", dev {dev:.2f}" if dev else ""))
