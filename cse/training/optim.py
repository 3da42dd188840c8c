"""AdamW in the papers' variants, and learning-rate schedules. Schedules are functions of the step, so a resume needs no
saved state."""

import math
from collections.abc import Iterable

import torch
from torch import nn
from torch.optim import AdamW

NORMS = ("LayerNorm.weight", "layer_norm.weight", "norm.weight")
"""The papers' names for the weights of normalisation layers. In no_decay, each name means all these weights."""


def norm_weights(modules: Iterable[nn.Module]) -> set[nn.Parameter]:
    """Return the weights of normalisation layers, found by class: the names differ (GPT-2 ln_1, XLM layer_norm1.0)."""
    norms = [one for module in modules for one in module.modules() if "norm" in type(one).__name__.lower()]
    own = (pair for norm in norms for pair in norm.named_parameters(recurse=False))
    return {parameter for name, parameter in own if name != "bias"}


def adamw(
    modules: Iterable[nn.Module],
    lr: float,
    *,
    betas: tuple[float, float],
    eps: float,
    weight_decay: float,
    no_decay: Iterable[str],
) -> AdamW:
    """Return an AdamW over all trained parameters of the modules.

    A parameter has no weight decay if its name contains an entry of no_decay. If no_decay has one of NORMS, the weights
    of all normalisation layers have no weight decay.
    """
    modules, no_decay = list(modules), list(no_decay)
    norms = norm_weights(modules) if set(no_decay) & set(NORMS) else set()
    decayed: list[nn.Parameter] = []
    kept: list[nn.Parameter] = []
    seen: set[nn.Parameter] = set()
    for module in modules:
        for name, parameter in module.named_parameters():
            if parameter.requires_grad and parameter not in seen:
                spared = parameter in norms or any(part in name for part in no_decay)
                (kept if spared else decayed).append(parameter)
                seen.add(parameter)
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": kept, "weight_decay": 0.0}]
    return AdamW([group for group in groups if group["params"]], lr=lr, betas=betas, eps=eps, fused=True)


def set_rates(optimizer: AdamW, step: int, lr: float, eps: float, correction: str, decays: list[float]) -> None:
    """Set lr, eps and decay of update number `step` (from 0), so that torch's AdamW computes the variant `correction`.

    With fp16, neither `step` nor torch's own counter t includes skipped updates.

    m, v: moving averages; c1 = 1 - beta1^t, c2 = 1 - beta2^t, t = step + 1. torch's update is
    lr (m / c1) / (sqrt(v / c2) + eps). correction:
      torch  unchanged.
      hf     Hugging Face's AdamW, which SimCSE and its followers ran: eps is added before sqrt(v) is corrected,
             lr sqrt(c2) / c1 * m / (sqrt(v) + eps). This is torch's update with eps / sqrt(c2).
      none   no bias correction (DeCLUTR): lr m / (sqrt(v) + eps). This is torch's update with eps / sqrt(c2) and
             lr c1 / sqrt(c2).
    torch decays a parameter before the update, Hugging Face's AdamW after the update. The two results differ by the
    update times decay * lr, about 1e-6.
    """
    beta1, beta2 = optimizer.param_groups[0]["betas"]
    c1, c2 = 1 - beta1 ** (step + 1), 1 - beta2 ** (step + 1)
    rate = lr * c1 / math.sqrt(c2) if correction == "none" else lr
    for group, decay in zip(optimizer.param_groups, decays, strict=True):
        group["lr"] = rate
        group["eps"] = eps if correction == "torch" else eps / math.sqrt(c2)
        group["weight_decay"] = decay * lr / rate if rate else 0.0  # decay follows the plain lr in every variant


def updates_made(optimizer: AdamW) -> int:
    """Return the number of updates that the optimizer has made. With fp16 this waits for the GPU."""
    return int(max((state["step"].item() for state in optimizer.state.values()), default=0))


def learning_rate(schedule: str, base: float, step: int, total: int, warmup: int) -> float:
    """Return the learning rate of update number `step` (from 0) of `total`. Later updates have the rate at `total`.

    linear, cosine, constant: first a warm-up from 0. Without a warm-up, the first update has the full rate. Then linear
    goes down to 0, cosine goes down to 0 along half a cosine, and constant does not change. slanted_triangular: the
    schedule of ULMFiT, with cut_frac 0.1 and ratio 32 (DeCLUTR).
    """
    step = min(step, total)
    if schedule == "slanted_triangular":
        cut, k = int(0.1 * total), step + 1
        p = k / cut if k < cut else max(0.0, 1 - (k - cut) / (total - cut))
        return base * (1 + 31 * p) / 32
    if step < warmup:
        return base * step / warmup
    p = (step - warmup) / max(1, total - warmup)
    factor = {"linear": 1 - p, "cosine": 0.5 * (1 + math.cos(math.pi * p)), "constant": 1.0}[schedule]
    return base * max(0.0, factor)


def clip_gradients(modules: Iterable[nn.Module], most: float | None) -> torch.Tensor:
    """Scale all gradients to a joint norm of at most `most`; None: do not scale. Return the norm before scaling."""
    parameters = list(dict.fromkeys(p for module in modules for p in module.parameters() if p.grad is not None))
    return torch.nn.utils.clip_grad_norm_(parameters, math.inf if most is None else most)
