"""(a) Does the GPU match the CPU? Loss, gradient, chunks, resume, scores, pictures and sound.

Bounds are relative: |GPU - CPU| / |CPU| for the loss, and the same in Frobenius norm for the whole gradient (encoder
and objective together). fp32 is compared without TF32. bf16 has eight bits of precision; its bounds allow the rounding
errors of two layers.

A loss or a gradient may consist mostly of rounding errors. An example is whitenedcse in one pass: its positives are one
row, whitened in three ways. The bound is then MARGIN times a change on the CPU: each weight is changed by one rounding.
"""

import copy
import warnings
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from benchmarks.bench_cost import OBJECTIVES
from benchmarks.gpu.check import FAILED, Check, Result, within
from benchmarks.gpu.commands import Run, train, train_apart
from benchmarks.gpu.modality import pictures, sound
from benchmarks.gpu.world import World, batch_for
from cse.lab.run.build import make_objective
from cse.lab.run.instantiate import make
from cse.lab.settings.compose import composed
from cse.model.encoder import Encoder
from cse.score import values
from cse.training.step import Chunks, chunked_step, plain_step
from cse.types import Batch, Objective

FP32 = {"loss": 1e-4, "gradient": 1e-4}
BF16 = {"loss": 0.05, "gradient": 0.25}
ONE_VIEW = "whitenedcse, one pass"
"""The objective with a bound in bf16 only for its loss. Most of its gradient is rounding errors inside the layers."""
ROUNDING = {None: 1e-7, torch.bfloat16: 4e-3}
"""{dtype of the computation: the relative change of a weight by one rounding}."""
DRAWS, MARGIN = 3, 10
EVERY = {**OBJECTIVES, "declutr with mlm": ["objective=declutr"], "simcse with mlm": ["objective=simcse",
         "objective.mlm_weight=0.1"], "mlm": ["objective=mlm"]}  # fmt: skip
PICTURES = {"loss": 1e-3, "gradient": 1e-2}  # larger bounds: the device also computes crops and colours
FP16_LOSS, COMPILED_LOSS, SCORE = 0.05, 1e-3, 0.01
ROWS = 64
STEPS = 20


def checks() -> list[Check]:
    made = []
    for name, overrides in EVERY.items():
        bf16 = {"loss": BF16["loss"]} if name == ONE_VIEW else BF16
        made += [
            Check(f"{name}: fp32 equals the CPU", lambda w, o=overrides: beside_the_cpu(w, o, None, FP32)),
            Check(
                f"{name}: bf16 near the CPU's fp32",
                lambda w, o=overrides, b=bf16: beside_the_cpu(w, o, torch.bfloat16, b),
            ),
            Check(f"{name}: chunks of 24 rows equal plain", lambda w, o=overrides: chunked(w, o, Chunks(rows=24))),
            Check(
                f"{name}: chunks of 512 tokens equal plain", lambda w, o=overrides: chunked(w, o, Chunks(tokens=512))
            ),
        ]
    return [
        *made,
        Check("compiled equals plain over 20 steps", lambda w: compiled(w, "true")),
        Check("a step waits for nothing", lambda w: waits(w, []), "torch.cuda's sync debug mode counts the waits"),
        Check("a compiled step waits for nothing", lambda w: waits(w, ["trainer.compile=true"]), "as above"),
        Check("fp16 with its scaler", fp16, "fp16 is for GPUs"),
        Check("resume is bit-identical with trainer.deterministic", lambda w: resumed(w, [])),
        Check("STS scores equal the CPU's", scores),
        Check("pictures equal the CPU's", lambda w: modality(w, pictures(w))),
        Check("sound equals the CPU's", lambda w: modality(w, sound(w))),
        Check("a run with pictures", lambda w: run_of(w, pictures(w))),
        Check("a run with sound", lambda w: run_of(w, sound(w))),
    ]


def parts(world: World, overrides: list[str]) -> tuple[Encoder, Objective, Any]:
    """(encoder without dropout, objective, config) on the CPU, of two layers as wide as MiniLM."""
    small = [f"{key}=64" for key in ("objective.head.hidden", "objective.head.out") if "barlow" in overrides[0]
             or "vicreg" in overrides[0]] if world.tiny else []  # fmt: skip
    source = world.encoder("two layers")
    config = composed("train", ["model=bert", f"model.name={source}", "model.pooling=cls", "data=text",
                                "data.path=unread", f"trainer.batch_size={ROWS}", *overrides, *small])  # fmt: skip
    encoder: Any = make(config.model, dropout=0.0, mlm=True)
    if "whitening" in config.objective:
        config.objective.whitening.num_groups = encoder.dim // 2  # as published, pairs of channels
    torch.manual_seed(0)
    return encoder, make_objective(config.objective, encoder.dim), config


def loss_and_gradient(
    modules: tuple[nn.Module, nn.Module],
    batch: Batch,
    device: str,
    dtype: torch.dtype | None,
    chunks: Chunks | None = None,
) -> tuple[float, Tensor]:
    """Return a step's loss and its whole gradient, flat, on the CPU in float64. dtype: autocast's, or None."""
    encoder, objective = (copy.deepcopy(module).to(device) for module in modules)
    with torch.autocast(device, dtype, enabled=dtype is not None):
        if chunks:
            loss, _ = chunked_step(encoder, objective, batch, Tensor.backward, "exact", chunks=chunks)
        else:
            loss, _ = plain_step(encoder, objective, batch, Tensor.backward, "exact")
    return loss.total.item(), flat_gradient([encoder, objective])


def flat_gradient(modules: list[nn.Module]) -> Tensor:
    """Return the gradients of all parameters, flat, on the CPU in float64. A parameter without a gradient has zeros."""
    parameters = [p for module in modules for p in module.parameters()]
    return torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten().cpu().double() for p in parameters])


def apart(one: tuple[float, Tensor], other: tuple[float, Tensor]) -> dict[str, float]:
    """Return the differences of `one` from `other`, relative to `other`."""
    return {
        "loss": abs(one[0] - other[0]) / abs(other[0]),
        "gradient": float((one[1] - other[1]).norm() / other[1].norm()),
    }


def moved(module: nn.Module, share: float, seed: int) -> nn.Module:
    """Return a copy of the module in which each weight is multiplied by 1 + share or 1 - share, at random."""
    generator, other = torch.Generator().manual_seed(seed), copy.deepcopy(module)
    with torch.no_grad():
        for p in other.parameters():
            p.mul_(1 + share * (2.0 * torch.randint(2, p.shape, generator=generator) - 1))
    return other


def with_rounding(
    modules: tuple[nn.Module, nn.Module], batch: Batch, dtype: torch.dtype | None, bounds: dict[str, float]
) -> tuple[tuple[float, Tensor], dict[str, float]]:
    """Return the CPU's loss and gradient in fp32, and the bounds.

    A bound is larger if rounding the weights alone changes the number by more.
    """
    here = loss_and_gradient(modules, batch, "cpu", None)
    draws = []
    for seed in range(DRAWS):
        encoder, objective = (moved(module, ROUNDING[dtype], seed) for module in modules)
        draws.append(apart(loss_and_gradient((encoder, objective), batch, "cpu", None), here))
    return here, {name: max(most, MARGIN * max(draw[name] for draw in draws)) for name, most in bounds.items()}


def beside_the_cpu(world: World, overrides: list[str], dtype: torch.dtype | None, bounds: dict[str, float]) -> Result:
    encoder, objective, _ = parts(world, overrides)
    batch = batch_for(objective, ROWS, len(world.words), 32)
    here, kept = with_rounding((encoder, objective), batch, dtype, bounds)
    there = loss_and_gradient((encoder, objective), batch, world.device, dtype)
    return within(apart(there, here), kept)


def chunked(world: World, overrides: list[str], chunks: Chunks) -> Result:
    encoder, objective, _ = parts(world, overrides)
    batch = batch_for(objective, ROWS, len(world.words), 32)
    plain = loss_and_gradient((encoder, objective), batch, world.device, None)
    cut = loss_and_gradient((encoder, objective), batch, world.device, None, chunks)
    return within(apart(cut, plain), with_rounding((encoder, objective), batch, None, FP32)[1])


def settings(world: World, steps: int) -> list[str]:
    """A short run's arguments."""
    return ["model=bert", f"model.name={world.encoder('two layers')}", "data=text", f"data.path={world.text(2000)}",
            f"paths.cache={world.folder}/cache", f"paths.senteval={world.senteval()}", "eval=stsb",
            "allow_partial=true", "tracker=none", "trainer.batch_size=32", f"trainer.max_steps={steps}",
            "trainer.log_every=1", "trainer.schedule_steps=100", "trainer.stop_on_collapse=false"]  # fmt: skip


def run_of(world: World, more: list[str]) -> Result:
    """Check that every loss is finite in a few steps of cse-train."""
    run = train([*settings(world, 3), "trainer.eval_every=3", *more], world.folder / "run")
    losses = run.values("train/loss") + run.values("train/aux/loss")
    return within({"losses that are not finite": sum(not torch.tensor(loss).isfinite() for loss in losses)},
                  {"losses that are not finite": 0})  # fmt: skip


def fp16(world: World) -> Result:
    def last_losses(precision: str) -> float:
        arguments = [*settings(world, STEPS), "trainer.select=null", f"trainer.precision={precision}"]
        run: Run = train(arguments, world.folder / precision)
        return sum(run.values("train/loss")[-5:]) / 5

    half, whole = last_losses("fp16"), last_losses("fp32")
    return within({"loss": abs(half - whole) / abs(whole)}, {"loss": FP16_LOSS})


def compiled(world: World, way: str) -> Result:
    """Compare the losses of a compiled run with the losses of a plain run, without dropout.

    Compiled steps have wider padded rows, so dropout would draw other numbers. way: the value of trainer.compile.
    """
    common = [
        *settings(world, STEPS),
        "trainer.select=null",
        "trainer.precision=fp32",
        "augmentation=shuffle",
        "augmentation.model_dropout=0.0",
    ]
    plain, fast = (train([*common, f"trainer.compile={chosen}"], world.folder / chosen) for chosen in ("false", way))
    pairs = zip(plain.values("train/loss"), fast.values("train/loss"), strict=True)
    return within({"loss": max(abs(a - b) / abs(a) for a, b in pairs)}, {"loss": COMPILED_LOSS})


def waits(world: World, more: list[str]) -> Result:
    """Count the host's waits for the GPU in a run of 20 steps without logs, minus the waits in a run of 10 steps."""
    counts = []
    for steps in (STEPS // 2, STEPS):
        torch.cuda.set_sync_debug_mode("warn")
        try:
            # the waits are counted as warnings, which a run would silence
            with patch("cse.lab.run.this_process.quiet"), warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                train(
                    [*settings(world, steps), "trainer.log_every=1000", "trainer.select=null", *more],
                    world.folder / "waits",
                )
        finally:
            torch.cuda.set_sync_debug_mode("default")
        counts.append(sum("synchroniz" in str(warning.message) for warning in said))
    if counts[0] == 0:
        return Result(FAILED, why="no wait was counted in a whole run, so the counter does not work here")
    return within({"waits": counts[1] - counts[0], "in a whole run": counts[0]}, {"waits": 0})


def resumed(world: World, more: list[str]) -> Result:
    """Check that six steps give the same weights, moments and random states as three steps, a resume and three more."""
    common = [*settings(world, 6), "trainer.deterministic=true", "trainer.eval_every=3", "trainer.keep_last=true"]
    common += more
    once, twice = world.folder / "once", world.folder / "twice"
    train_apart(common, once)
    train_apart([*common, "trainer.max_steps=3"], twice)
    train_apart([*common, "resume=auto"], twice)
    different = sum(unequal(once / file, twice / file) for file in ("best/model.safetensors", "last/state.safetensors"))
    return within({"tensors that differ": different}, {"tensors that differ": 0})


def unequal(one: Path, other: Path) -> int:
    first, second = load_file(one), load_file(other)
    return len(first.keys() ^ second.keys()) + sum(
        not torch.equal(first[name], second[name]) for name in first.keys() & second.keys()
    )


def scores(world: World) -> Result:
    from cse.eval.sts import Stsb

    encoder, _, _ = parts(world, ["objective=simcse"])
    evaluator = Stsb(str(world.senteval()), with_sickr=False, allow_partial=True)
    evaluator.prepare()
    here = values(evaluator(encoder.encode, "dev"))["spearman"]
    there = values(evaluator(encoder.to(world.device).encode, "dev"))["spearman"]
    return within({"points": abs(there - here), "score": here}, {"points": SCORE})


def modality(world: World, overrides: list[str]) -> Result:
    """One batch of pictures or clips through the encoder, on both devices."""
    encoder, _, config = parts(world, ["objective=simcse", f"paths.cache={world.folder}/cache", *overrides])
    aux = make(config.aux_modality, dim=encoder.dim)
    batch = next(aux.batches(0))

    def on(device: str) -> tuple[float, Tensor]:
        own, layers = copy.deepcopy(aux).to(device), copy.deepcopy(encoder).to(device)
        x_BTD, labels_B = own.tokens(batch)
        loss = own.loss(layers(x_BTD=x_BTD).pooled_BD, labels_B)
        loss.total.backward()
        return loss.total.item(), flat_gradient([layers, own])

    return within(apart(on(world.device), on("cpu")), PICTURES)
