"""Updates against their rules written out; over several batches the loss and the gradient are the means."""

import math
from itertools import chain
from types import SimpleNamespace

import pytest
import torch
from accelerate import Accelerator
from objectives import make
from torch import Tensor, nn
from toy_batches import DIM, ToyEncoder, batch_for

from cse.errors import UserError
from cse.training.settings import State
from cse.training.step import split
from cse.training.update import MeanLosses, Update, check_names, geometry
from cse.types import AuxModality, Encoded, Loss

UPDATES, WARMUP = 6, 2
TEXT = SimpleNamespace(lr=0.02, weight_decay=0.1, no_decay=["bias"], clip=0.2, weight=1.0)


class TwoWayEncoder(ToyEncoder):
    """x_BTD, a second modality's vectors, bypass the word embeddings."""

    def forward(self, tokens=None, x_BTD=None):
        return Encoded(self.layer(x_BTD).tanh().mean(1)) if tokens is None else super().forward(tokens)


class Vectors(AuxModality):
    """A second modality all of whose settings differ from the text's."""

    weight, optimizer, lr, schedule, clip = 0.7, "separate", 0.05, "cosine", 0.1
    weight_decay, no_decay = 0.3, ["weight"]

    def __init__(self, order: str):
        super().__init__()
        self.order, self.scale = order, nn.Linear(DIM, DIM)

    def tokens(self, batch):
        return self.scale(batch), torch.arange(len(batch))

    def loss(self, pooled_BD, labels_B):
        return Loss((pooled_BD.sum(1) - labels_B).square().mean())


def slow_update(
    named: list[tuple[str, Tensor]], moments: dict, how: SimpleNamespace, rate: float, step: int, none: bool
):
    """Clip, then HF's AdamW, of update number `step` from 0 (none: without bias correction), in plain arithmetic."""
    named = [(name, p) for name, p in named if p.grad is not None]
    norm = math.sqrt(sum(p.grad.square().sum().item() for _, p in named))
    c1, c2 = (1.0, 1.0) if none else (1 - 0.8 ** (step + 1), 1 - 0.95 ** (step + 1))
    for name, p in named:
        m, v = moments.get(p, (0.0, 0.0))
        grad = p.grad * min(1.0, how.clip / (norm + 1e-6))  # as torch clips
        m, v = 0.8 * m + 0.2 * grad, 0.95 * v + 0.05 * grad * grad
        moments[p] = m, v
        p.data *= 1 - rate * (0.0 if any(part in name for part in how.no_decay) else how.weight_decay)
        p.data -= rate * math.sqrt(c2) / c1 * m / (v.sqrt() + 1e-3)
    for _, p in named:
        p.grad = None


@pytest.mark.parametrize("correction", ["hf", "none"])
@pytest.mark.parametrize("order", ["aux_first", "text_first"])
def test_updates_of_text_and_of_a_second_modality_follow_their_own_rules(order, correction):
    """Two optimizers over one encoder, each with its own moments, rate, schedule, decay and clipping: the text's is
    linear with two updates of warm-up, the other's half a cosine without."""
    rates = {"text": lambda k: TEXT.lr * (k / WARMUP if k < WARMUP else (UPDATES - k) / (UPDATES - WARMUP)),
             "aux": lambda k: Vectors.lr * 0.5 * (1 + math.cos(math.pi * k / UPDATES))}  # fmt: skip
    worlds = []
    for _ in range(2):
        torch.manual_seed(0)
        worlds.append((TwoWayEncoder().double(), make("simcse"), Vectors(order).double()))
    images = [torch.randn(4, 3, DIM, dtype=torch.float64) for _ in range(UPDATES)]

    encoder, objective, aux = worlds[0]
    trainer = SimpleNamespace(
        **{**vars(TEXT), "betas": (0.8, 0.95), "eps": 1e-3, "bias_correction": correction, "schedule": "linear"},
        warmup=WARMUP, accumulate=2, chunk=None, chunk_tokens=None, compile=False, gather_scale="exact",
    )  # fmt: skip
    parts = SimpleNamespace(trainer=trainer, aux=aux, encoder=encoder, objective=objective)
    modules = {"encoder": encoder, "objective": objective, "aux": aux}
    update = Update(parts, modules, Accelerator(cpu=True), steps=UPDATES, seed=0)
    batches = iter([batch_for(objective, 8, seed) for seed in range(2 * UPDATES)])
    told = [update(step, batches, iter(images[step:]))[0] for step in range(UPDATES)]

    encoder, objective, aux = worlds[1]
    moments: dict[str, dict] = {"text": {}, "aux": {}}
    losses = [0.0] * UPDATES
    for step in range(UPDATES):
        for kind in ("aux", "text") if order == "aux_first" else ("text", "aux"):
            trained = (encoder, objective) if kind == "text" else (encoder, aux)
            if kind == "text":
                for seed in (2 * step, 2 * step + 1):
                    batch = batch_for(objective, 8, seed)
                    half = objective(split(encoder(batch.tokens), batch)).total / 2
                    half.backward()
                    losses[step] += half.item()
            else:
                x_BTD, labels_B = aux.tokens(images[step])
                (aux.weight * aux.loss(encoder(x_BTD=x_BTD).pooled_BD, labels_B).total).backward()
            named = list(chain.from_iterable(module.named_parameters() for module in trained))
            how = TEXT if kind == "text" else aux
            slow_update(named, moments[kind], how, rates[kind](step), step, correction == "none")

    assert [metrics["lr"] for metrics in told] == pytest.approx([rates["text"](step) for step in range(UPDATES)])
    assert [metrics["loss"].item() for metrics in told] == pytest.approx(losses)
    assert max(metrics["grad_norm"] for metrics in told) > TEXT.clip
    assert max(metrics["aux/grad_norm"] for metrics in told) > Vectors.clip
    for fast, slow in zip(worlds[0], worlds[1], strict=True):
        for (name, mine), theirs in zip(fast.named_parameters(), slow.parameters(), strict=True):
            torch.testing.assert_close(
                mine, theirs, rtol=1e-7, atol=1e-9, msg=lambda told, name=name: f"{name}: {told}"
            )


@pytest.mark.parametrize(("names", "wrong"), [
    (["abc"], "abc"), (["bias", "LayerNorm.wieght"], "LayerNorm.wieght"), (["layer_norm.weight"], "layer_norm.weight"),
    ([], None), (["bias", "layer_norm.weight"], None), (["weight"], None),
])  # fmt: skip
def test_no_decay_refuses_a_name_that_no_parameter_has(names, wrong):
    modules = [nn.Linear(2, 2)]
    if wrong is None:
        check_names("trainer.no_decay", names, modules)
        return
    with pytest.raises(UserError, match=rf"trainer\.no_decay=\['{wrong}'\]"):
        check_names("trainer.no_decay", names, modules)


def test_an_effective_rank_that_fails_leaves_the_other_metrics(monkeypatch):
    def fails(_):
        raise torch.linalg.LinAlgError("the algorithm failed to converge")

    monkeypatch.setattr(torch.linalg, "eigvalsh", fails)
    told = geometry([Encoded(torch.randn(5, 3))])
    assert math.isnan(told["effective_rank"])
    assert math.isfinite(told["uniformity"])
    assert "uniformity" not in geometry([Encoded(torch.randn(1, 3))])  # one row has no pairs


def test_a_mean_is_over_the_steps_that_have_the_loss_and_survives_a_checkpoint():
    """A source of a mixture is not in every step; a checkpoint of an older edition has one count for all."""
    values = [{"loss": 1.0, "loss/a": 1.0}, {"loss": 5.0, "loss/b": 5.0}, {"loss": 3.0, "loss/a": 3.0, "lr": 1.0}]
    straight, paused = MeanLosses(3), MeanLosses(3)
    found = [straight.add(step, one) for step, one in enumerate(values, 1)]
    assert found[2] == {"loss": 3.0, "loss/a": 2.0, "loss/b": 5.0}
    for step, one in enumerate(values[:2], 1):
        paused.add(step, one)
    resumed = MeanLosses(3)
    resumed.restore(State(**paused.saved()))
    assert resumed.add(3, values[2]) == found[2]
    older = MeanLosses(3)
    older.restore(State(loss_sums={"loss": 6.0}, summed_steps=2))
    assert older.add(3, {"loss": 3.0}) == {"loss": 3.0}
    assert resumed.add(4, {"loss": 7.0}) == {"loss": 7.0}
