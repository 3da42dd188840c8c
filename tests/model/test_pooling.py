"""Poolers against the authors' numbers and against loops."""

import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch

from cse.model.pooling import pool
from cse.ranges import AnyPooling

MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 0, 0, 0]])
REFERENCE = {  # norm of the result, its second row
    "cls": (3.2285874, [-0.66353518, -0.61341786, -1.6051494, 0.72934937]),
    "mean": (1.1825886, [-0.10973632, 0.096052088, -0.43535957, 0.58235556]),
    "avg_top2": (1.2165816, [-0.078984432, 0.23886293, -0.52087551, 0.35073075]),
    "avg_first_last": (1.1201867, [-0.36216262, 0.32908019, -0.23164402, 0.58748126]),
    "avg_first_last_0": (1.5656624, [-0.0019998848, 0.32813787, -0.62073183, 0.16127928]),
}


def hidden_states() -> tuple[torch.Tensor, ...]:
    rng = np.random.default_rng(0)
    return tuple(torch.from_numpy(rng.standard_normal((3, 5, 4)).astype(np.float32)) for _ in range(4))


@pytest.mark.parametrize("kind", REFERENCE)
def test_the_authors_numbers(kind):
    layers = hidden_states()
    pooled = pool(kind, layers[-1], layers, MASK)
    norm, row = REFERENCE[kind]
    assert pooled.norm().item() == pytest.approx(norm, rel=1e-6)
    np.testing.assert_allclose(pooled[1].numpy(), row, rtol=1e-5)


@pytest.mark.parametrize("mask", [MASK, MASK.flip(1)], ids=["padded right", "padded left"])
def test_last_reads_the_last_real_token(mask):
    hidden_BTD = hidden_states()[-1]
    by_hand = torch.stack([row[real.bool()][-1] for row, real in zip(hidden_BTD, mask, strict=True)])
    torch.testing.assert_close(pool("last", hidden_BTD, None, mask), by_hand)


@pytest.mark.parametrize("page", [
    "conf/model/_base.yaml", "conf/evaluate.yaml", "cse/lab/commands/evaluate.py", "docs/own-encoder.md",
])  # fmt: skip
def test_every_page_names_all_that_there_are(page):
    text = (Path(__file__).parents[2] / page).read_text(encoding="utf-8")
    assert [kind for kind in get_args(AnyPooling) if kind not in re.findall(r"\w+", text)] == []
