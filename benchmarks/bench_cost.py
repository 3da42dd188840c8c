"""The time of each objective's step relative to SimCSE's step, and the share of whitening in WhitenedCSE's step.

    python -m benchmarks.bench_cost [--model minilm|bert] [--batch 64] [--repeats 5]

All objectives step in turn, with the same batch size. Weights and tokens are random, because the time does not depend
on them. A sentence has 26 tokens on average, and at most 32.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable

import torch
from transformers import BertConfig, BertModel

from benchmarks.results import spread, table, where, write_section
from cse.lab.run.build import make_objective
from cse.lab.settings.compose import composed
from cse.model.encoder import Encoder
from cse.training.step import plain_step
from cse.types import Batch, Encoded, Objective, Tokens

SHAPES = {"minilm": (384, 6, 12), "bert": (768, 12, 12)}  # width, layers, heads
OBJECTIVES = {
    "simcse": ["objective=simcse"],
    "simcse_sup, hard negatives": ["objective=simcse_sup", "objective.num_views=3"],
    "whitenedcse, m = 3": ["objective=whitenedcse"],
    "whitenedcse, one pass": ["objective=whitenedcse", "objective.source=shared_backbone"],
    "declutr, one positive, no mlm": ["objective=declutr", "objective.mlm_weight=0"],
    "barlow, 8192": ["objective=barlow"],
    "vicreg, 8192": ["objective=vicreg"],
}
GROUPS = (32, 48, 64, 96, 128, 192, 384)


def encoder_of(shape: str) -> Encoder:
    width, layers, heads = SHAPES[shape]
    config = BertConfig(
        hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=4 * width
    )
    return Encoder(BertModel(config, add_pooling_layer=False), None, "cls", packed=True).train().to(device())  # type: ignore[arg-type]


def device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def objective_of(overrides: list[str], dim: int, batch: int) -> Objective:
    config = composed("train", ["data=text", "data.path=unread", *overrides, f"trainer.batch_size={batch}"])
    if "whitening" in config.objective and not any("num_groups" in override for override in overrides):
        config.objective.whitening.num_groups = dim // 2  # as published, pairs of channels
    return make_objective(config.objective, dim).to(device())


def batch_of(rows: int, views: int) -> Batch:
    generator = torch.Generator().manual_seed(0)
    lengths_B = torch.randint(20, 33, (rows * views,), generator=generator)
    mask_BT = (torch.arange(32)[None] < lengths_B[:, None]).long()
    ids_BT = torch.randint(1000, 30000, mask_BT.shape, generator=generator) * mask_BT
    return Batch(Tokens(ids_BT.to(device()), mask_BT.to(device())), (rows,) * views)


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - started


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--model", choices=SHAPES, default="minilm")
    arguments.add_argument("--batch", type=int, default=64)
    arguments.add_argument("--repeats", type=int, default=5)
    given = arguments.parse_args()
    torch.manual_seed(0)
    encoder = encoder_of(given.model)

    def step(objective: Objective, batch: Batch) -> Callable[[], object]:
        def work() -> None:
            encoder.zero_grad()
            objective.zero_grad()
            plain_step(encoder, objective, batch, torch.Tensor.backward, "exact")

        return work

    steps = {}
    for name, overrides in OBJECTIVES.items():
        objective = objective_of(overrides, encoder.dim, given.batch)
        steps[name] = step(objective, batch_of(given.batch, objective.num_views))
        steps[name]()
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(given.repeats):
        for name, work in steps.items():
            times[name].append(seconds(work))
    ratios = {name: [t / s for t, s in zip(times[name], times["simcse"], strict=True)] for name in steps}
    rows = [[name, spread(times[name]), spread(ratios[name])] for name in steps]

    simcse_step = statistics.median(times["simcse"])
    shares = []
    for groups in (number for number in GROUPS if encoder.dim % number == 0):
        whitening = ["objective=whitenedcse", f"objective.whitening.num_groups={groups}"]
        objective = objective_of(whitening, encoder.dim, given.batch)
        x_BD = torch.randn(given.batch, encoder.dim, device=device())
        views = [Encoded((x_BD + 0.1 * torch.randn_like(x_BD)).requires_grad_()) for _ in range(objective.num_views)]
        whole = [seconds(lambda: objective(views).total.backward()) for _ in range(10 * given.repeats)]  # noqa: B023
        cost = statistics.median(whole)
        shares.append([str(groups), f"{1000 * cost:.3g}", f"{100 * cost / (1.5 * simcse_step + cost):.2f} %"])
    body = table(["objective", "seconds a step", "ratio to simcse"], rows)
    body += (
        "\n\nTime of forward and backward of the whole objective (whitening of three views, head, loss), and its "
        "share of the step:\n\n"
    )
    body += table(["groups", "ms", "share of the step"], shares)
    command = f"python -m benchmarks.bench_cost --model {given.model} --batch {given.batch} --repeats {given.repeats}"
    write_section(f"Cost of the objectives, {given.model} shape, batch {given.batch}, {where()}", command,
                  f"The median of {given.repeats}, with minimum and maximum. Ratios are within a round.\n\n"
                  f"{body}")  # fmt: skip
    sys.stdout.write(body + "\n")


if __name__ == "__main__":
    main()
