"""ESimCSE: the equation against loops, the queue over steps, the second encoder, and a whole run."""

import math

import pytest
import torch
from made_up_views import cosine, views
from safetensors.torch import load_file
from tiny_encoders import tokens_of

from cse.model.heads import MLPHead
from cse.model.load import load_encoder
from cse.objective.esimcse import Esimcse, esimcse
from cse.objective.simcse import info_nce
from cse.training.momentum import MomentumEncoder
from cse.training.step import Chunks
from cse.types import Encoded

DIM = 5


def slow_esimcse(x, y, queue, t, own=None):
    """own: for each row, which of the queue are its own."""
    x, y, total = x.tolist(), y.tolist(), 0.0
    for i, anchor in enumerate(x):
        others = [key for j, key in enumerate(queue.tolist()) if own is None or not own[i][j]]
        scores = [math.exp(cosine(anchor, other) / t) for other in [*y, *others]]
        total -= math.log(scores[i] / sum(scores))
    return total / len(x)


@pytest.mark.parametrize("filled", [0, 1, 4, 9])
def test_the_equation_against_loops(filled):
    """The first places of the queue may not be filled yet."""
    x, y = views()
    rows = 2 * views(seed=3, rows=9, dim=DIM)[0][:filled]
    queue = torch.cat([rows.new_zeros(9 - filled, DIM), rows])
    found = esimcse(x, 3 * y, queue, 0.05).item()
    assert found == pytest.approx(slow_esimcse(x, y, rows, 0.05), rel=1e-10)
    assert (filled == 0) == (found == pytest.approx(info_nce(x, y, 0.05).item(), rel=1e-12))


def made(memory_size: int) -> Esimcse:
    torch.manual_seed(0)
    return Esimcse(DIM, MLPHead, 0.05, momentum=0.9, memory_size=memory_size).double()


def encoded(seed: int) -> list[Encoded]:
    x, y = views(seed)
    own, other = views(seed + 100)
    rows_B = torch.arange(len(x)) + 100 * seed
    return [Encoded(x, {"momentum_BD": own, "rows_B": rows_B}), Encoded(y, {"momentum_BD": other, "rows_B": rows_B})]


def test_a_row_is_no_negative_of_itself_an_epoch_later():
    """moco#87: a queue longer than the data holds the batch's own rows."""
    module, kept, numbers = made(15), torch.zeros(0, DIM, dtype=torch.float64), torch.zeros(0, dtype=torch.long)
    for seed in range(5):
        now = [
            Encoded(view.pooled_BD, view.known | {"rows_B": (view.known["rows_B"] + seed) % 8})
            for view in encoded(seed)
        ]
        rows_B = now[0].known["rows_B"]
        x, y = (module.head(view.pooled_BD) for view in now)
        own = (rows_B[:, None] == numbers[-15:]).tolist()
        assert module(now).total.item() == pytest.approx(slow_esimcse(x, y, kept[-15:], 0.05, own), rel=1e-10)
        kept = torch.cat([kept, module.head(now[0].known["momentum_BD"]).detach()])
        numbers = torch.cat([numbers, rows_B])
    assert any(map(any, own))


@pytest.mark.parametrize(
    ("objective", "size", "told"), [("esimcse", 193, True), ("esimcse", 192, False), ("declutr", 9, False)]
)
def test_a_memory_longer_than_the_data_is_said(small_run, cse_train, capsys, objective, size, told):
    words = [f"objective.memory_size={size}", "trainer.epochs=2", "dry_run=true", "trainer.select=null"]
    if objective == "declutr":
        words += ["augmentation.min_length=1", "augmentation.max_length=1", "augmentation.anchors=1",
                  "augmentation.on_short=skip", "objective.mlm_weight=0", "objective.memory_kind=paper_literal",
                  "trainer.max_length=32"]  # fmt: skip
    assert cse_train([*small_run, f"objective={objective}", *words]) == 0
    assert ("memory_size" in "".join(capsys.readouterr())) == told


@pytest.mark.parametrize("size", [4, 6, 15])
def test_a_step_meets_the_queue_of_earlier_steps_and_adds_its_own_rows(size):
    """The queue has the newest `size` rows of the second encoder, through the head: less than a batch, one batch,
    2.5."""
    module, before = made(size), torch.zeros(0, DIM, dtype=torch.float64)
    for seed in range(4):
        now = encoded(seed)
        x, y = (module.head(view.pooled_BD) for view in now)
        assert module(now).total.item() == pytest.approx(slow_esimcse(x, y, before[-size:], 0.05), rel=1e-10)
        before = torch.cat([before, module.head(now[0].known["momentum_BD"]).detach()])


@pytest.mark.parametrize("momentum", [0.0, 0.75])
def test_the_second_encoder_starts_as_a_copy_and_follows_the_first(tiny_bert, momentum):
    encoder = load_encoder(tiny_bert, "cls")
    second = MomentumEncoder(encoder, momentum)
    expected = [weight.detach().clone() for weight in encoder.parameters()]
    for step in range(3):
        second.follow(encoder)
        live = [weight.detach().clone() for weight in encoder.parameters()]
        if step:
            expected = [momentum * old + (1 - momentum) * new for old, new in zip(expected, live, strict=True)]
        torch.testing.assert_close([*second.encoder.parameters()], expected)
        for weight in encoder.parameters():
            weight.data += 0.1 * torch.randn_like(weight)


@pytest.mark.parametrize("chunks", [None, Chunks(rows=2), Chunks(tokens=20)])
def test_the_second_encoder_has_no_dropout_and_no_gradient(tiny_bert, chunks):
    texts = ["kadan lofel miga, sta nu lofel.", "sta", "kadan nu lofel"]
    encoder = load_encoder(tiny_bert, "cls", dropout=0.5)
    second = MomentumEncoder(encoder, 0.9)
    rows_BD = second(tokens_of(encoder, texts), chunks)
    torch.testing.assert_close(rows_BD, torch.tensor(encoder.encode(texts)), rtol=1e-4, atol=1e-5)
    assert not rows_BD.requires_grad
    assert encoder.backbone.training


def test_the_second_encoder_denoises_as_in_training(tiny_bert):
    more = {"template": "kadan, [X] lofel [MASK].", "denoise": "paper", "dropout": 0.0}
    encoder = load_encoder(tiny_bert, "mask", **more)
    tokens = tokens_of(encoder, ["sta nu", "miga"])
    torch.testing.assert_close(MomentumEncoder(encoder, 0.9)(tokens, None), encoder(tokens).pooled_BD.detach())


def test_a_run_holds_both_encoders_and_exports_the_first(small_run, cse_train, tmp_path):
    line = [*small_run, "objective=esimcse", "objective.momentum=0.5", "objective.memory_size=20", "trainer.lr=1e-3",
            "trainer.select=null"]  # fmt: skip
    assert cse_train([*line, f"hydra.run.dir={tmp_path}/run"]) == 0
    last, best = (load_file(tmp_path / "run" / file) for file in ("last/state.safetensors", "best/model.safetensors"))
    name = "embeddings.word_embeddings.weight"
    first, second = last[f"encoder/backbone.{name}"], last[f"momentum/encoder.backbone.{name}"]
    assert not torch.equal(first, second)
    assert torch.equal(best[name], first)
    assert last["objective/memory_QD"].any(1).all()
