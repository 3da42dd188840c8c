"""One step: the update for the text, and before, after or together with it the update for the second modality."""

import math
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, cast

import torch
from accelerate import Accelerator
from accelerate.optimizer import AcceleratedOptimizer
from torch import Tensor, nn
from torch.nn.functional import pad

from cse.device import is_gpu, random_state, set_random_state
from cse.errors import UserError
from cse.eval.geometry import alignment, effective_rank, uniformity
from cse.files import Json
from cse.model.encoder import Encoder
from cse.tensors import seeded
from cse.training import optim
from cse.training.distributed import average_gradients
from cse.training.momentum import MomentumEncoder
from cse.training.settings import Parts, State, Trainer, in_steps
from cse.training.step import Chunks, chunked_step, plain_step
from cse.types import AuxModality, Batch, Encoded, Loss, Tokens

Metrics = dict[str, Tensor | float]
"""The numbers of a step, by name. Tensors stay on their device, because reading a tensor would wait for the device."""

AUX_STREAM = 2  # cse.data.stream uses the streams 0 and 1

ANY_ENCODER = ("bias", *optim.NORMS)
"""Names that recipes exclude from decay for every encoder, although some encoders have no biases."""


class MeanLosses:
    """The mean of each loss over the steps since the last multiple of `every`, computed without waiting for the device.

    Each loss has a count of its own, because a loss of a mixture's source is not in every step.
    """

    def __init__(self, every: int):
        self.every = every
        self.sums: Metrics = {}
        self.counts: dict[str, int] = {}

    def add(self, step: int, values: Metrics) -> Metrics:
        """Add the losses of update number `step` (the first is 1), and return the new means."""
        if (step - 1) % self.every == 0:
            self.sums, self.counts = {}, {}
        for name, value in values.items():
            if not name.endswith(("lr", "grad_norm")):
                self.sums[name] = self.sums.get(name, 0.0) + value
                self.counts[name] = self.counts.get(name, 0) + 1
        return {name: total / self.counts[name] for name, total in self.sums.items()}

    def saved(self) -> Json:
        """Return the sums and counts, in the form of a checkpoint's State."""
        return {"loss_sums": {name: float(total) for name, total in self.sums.items()}, "loss_counts": self.counts}

    def restore(self, state: State) -> None:
        """Continue from a checkpoint. A checkpoint of an older version of cse has one count for all losses."""
        self.sums = dict(state.loss_sums)
        self.counts = dict(state.loss_counts) or dict.fromkeys(self.sums, state.summed_steps)


class Update:
    """The optimizers of a run, and the two kinds of update: for the text, and for the second modality.

    modules: already on their device. steps: the length of the schedules. seed: the seed of the second modality's
    dropout. With optimizer=separate, as in NonLing-CSE, there are two AdamW objects. Each has its own moments for the
    encoder.
    """

    def __init__(self, parts: Parts, modules: dict[str, nn.Module], accelerator: Accelerator, *, steps: int, seed: int):
        self.trainer, self.aux = parts.trainer, parts.aux
        self.encoder, self.objective = parts.encoder, parts.objective
        self.modules, self.accelerator, self.steps, self.seed = modules, accelerator, steps, seed
        self.warmup = in_steps(self.trainer.warmup, steps)
        self.graphs = self.trainer.compile == "graphs"
        self.text_encoder = compiled(self.encoder, graphs=self.graphs) if self.trainer.compile else self.encoder
        self.text_step, self.chunks = partial(plain_step, scale=self.trainer.gather_scale), None
        if self.trainer.chunk is not None or self.trainer.chunk_tokens is not None:
            self.chunks = Chunks(self.trainer.chunk, self.trainer.chunk_tokens)
            self.text_step = partial(chunked_step, scale=self.trainer.gather_scale, chunks=self.chunks)
        self.joint = self.aux is not None and self.aux.optimizer == "joint"
        names = ("encoder", "objective", *["aux"] * self.joint)
        self.trained = [module for name, module in modules.items() if name in names]
        check_names("trainer.no_decay", self.trainer.no_decay, self.trained)
        self.optimizers = {"optimizer": self._adamw(self.trained, self.trainer.weight_decay, self.trainer.no_decay)}
        if self.aux is not None and not self.joint:
            both: list[nn.Module] = [self.encoder, self.aux]
            check_names("aux_modality.no_decay", self.aux.no_decay, both)
            self.optimizers["aux_optimizer"] = self._adamw(both, self.aux.weight_decay, self.aux.no_decay)
        self.decays = {
            name: [group["weight_decay"] for group in optimizer.param_groups]
            for name, optimizer in self.optimizers.items()
        }

    def __call__(
        self, step: int, batches: Iterator[Batch], aux_batches: Iterator[Any]
    ) -> tuple[Metrics, list[Encoded]]:
        """Do update number `step` (from 0). Return its metrics, and the views of the last global batch."""
        separate = None if self.joint else self.aux
        metrics: Metrics = {}
        if separate is not None and separate.order == "aux_first":
            metrics |= self.aux_update(separate, step, next(aux_batches))
        views: list[Encoded] = []
        momentum = cast(MomentumEncoder | None, self.modules.get("momentum"))
        if momentum is not None:
            momentum.follow(self.encoder)
        losses: dict[str, list[Tensor]] = {}
        for _ in range(self.trainer.accumulate):
            batch = next(batches)
            if self.graphs:
                torch.compiler.cudagraph_mark_step_begin()  # nothing reads the vectors of the previous batch
                padding = self.encoder.tokenizer.hf.pad_token_id
                batch = replace(batch, tokens=widened(batch.tokens, self.trainer.max_length, padding))
            with self.accelerator.autocast():
                if momentum is not None:
                    momentum_BD = momentum(batch.tokens, self.chunks)
                    batch = replace(batch, known=batch.known | {"momentum_BD": momentum_BD})
                objective = self.objective.of(batch.source)
                loss, views = self.text_step(self.text_encoder, objective, batch, self.backward)
            if self.trainer.compile and self.trainer.accumulate > 1:  # compiled code may overwrite its last gradients
                for parameter in self.encoder.parameters():
                    parameter.grad = None if parameter.grad is None else parameter.grad.clone()
            for name, part in by_name(loss, batch.source).items():
                losses.setdefault(name, []).append(part.detach())
        metrics |= {name: sum(part / len(parts) for part in parts) for name, parts in losses.items()}
        if self.joint and self.aux is not None:
            metrics |= self.aux_backward(self.aux, step, next(aux_batches))
        lr = optim.learning_rate(self.trainer.schedule, self.trainer.lr, step, self.steps, self.warmup)
        norm = self.apply("optimizer", self.trained, step=step, lr=lr, clip=self.trainer.clip)
        if separate is not None and separate.order == "text_first":
            metrics |= self.aux_update(separate, step, next(aux_batches))
        return metrics | {"lr": lr, "grad_norm": norm}, views

    def backward(self, total: Tensor) -> None:
        """Add the gradient of one batch to the gradient of the update.

        Autocast is off: an operator's backward pass uses the types of its forward pass, and needs no further casts.
        """
        with torch.autocast(total.device.type, enabled=False):
            self.accelerator.backward(total / self.trainer.accumulate)

    def aux_backward(self, aux: AuxModality, step: int, batch: Any) -> Metrics:
        """Compute loss and gradient of images or sound, and return the metrics.

        The loss is over this process's rows only, as in the published code. The dropout depends only on (seed, step,
        process), so the text has the same dropout as in a run without images or sound.
        """
        of_text = random_state()
        torch.manual_seed(seeded(self.seed, AUX_STREAM, step, self.accelerator.process_index).initial_seed())
        with self.accelerator.autocast():
            x_BTD, labels_B = aux.tokens(batch)
            loss = aux.loss(self.encoder(x_BTD=x_BTD).pooled_BD, labels_B)
        self.accelerator.backward(loss.total * aux.weight)
        set_random_state(of_text)
        return {f"aux/{name}": part.detach() for name, part in {"loss": loss.total, **loss.parts}.items()}

    def aux_update(self, aux: AuxModality, step: int, batch: Any) -> Metrics:
        """Do the update of the second modality, with its own optimizer and schedule. Return its metrics."""
        metrics = self.aux_backward(aux, step, batch)
        lr = optim.learning_rate(aux.schedule, aux.lr, step, self.steps, 0)
        norm = self.apply("aux_optimizer", [self.encoder, aux], step=step, lr=lr, clip=aux.clip)
        return metrics | {"aux/lr": lr, "aux/grad_norm": norm}

    def apply(self, name: str, modules: list[nn.Module], *, step: int, lr: float, clip: float | None) -> Tensor:
        """Average gradients over processes, clip them, and update. Return the gradient's norm before clipping."""
        optimizer, trainer = self.optimizers[name], self.trainer
        shrunk = [module for module in modules if module is self.objective and trainer.gather_scale == "paper"]
        # before unscaling: an overflow on one process must skip the update on all
        average_gradients(modules, shrunk)
        self.accelerator.unscale_gradients(optimizer)
        norm = optim.clip_gradients(modules, clip)
        if self.accelerator.scaler is not None:
            step = optim.updates_made(optimizer.optimizer)
        optim.set_rates(
            optimizer.optimizer, step, lr, eps=trainer.eps, correction=trainer.bias_correction, decays=self.decays[name]
        )
        optimizer.step()
        for module in self.modules.values():
            module.zero_grad(set_to_none=True)
        return norm

    def plain_optimizers(self) -> dict[str, torch.optim.Optimizer]:
        """Return the optimizers without accelerate's wrappers, as checkpoints hold them."""
        return {name: optimizer.optimizer for name, optimizer in self.optimizers.items()}

    def _adamw(self, modules: list[nn.Module], weight_decay: float, no_decay: list[str]) -> AcceleratedOptimizer:
        how = self.trainer
        return self.accelerator.prepare(
            optim.adamw(modules, how.lr, betas=how.betas, eps=how.eps, weight_decay=weight_decay, no_decay=no_decay)
        )


def by_name(loss: Loss, source: str | None) -> dict[str, Tensor]:
    """Return {name in the log: number} of a loss. In a mixture, the names end in the source's name.

    A mixture also has `loss` without this ending, for batches of every source.
    """
    numbers = {"loss": loss.total, **loss.parts}
    if source is None:
        return numbers
    return {"loss": loss.total, **{f"{name}/{source}": number for name, number in numbers.items()}}


def check_names(key: str, names: Collection[str], modules: list[nn.Module]) -> None:
    """Raise UserError for a name that no parameter's name contains. Names in ANY_ENCODER pass if another name fits."""
    known = [name for module in modules for name, _ in module.named_parameters()]
    known += optim.NORMS if optim.norm_weights(modules) else ()
    found = [name for name in names if any(name in one for one in known)]
    wrong = [name for name in names if name not in found and (name not in ANY_ENCODER or not found)]
    if wrong:
        raise UserError(f"{key}={wrong}: no parameter has this in its name; a name is, for example, {known[0]}")


def check_settings(
    trainer: Trainer, encoder: Encoder, precision: str, *, beyond: int = 0, masking: str = "none"
) -> None:
    """Raise UserError if the gradient could be wrong, steps would change nothing, a setting would be ignored, or
    `precision` does not fit the attention.

    precision: the precision of Accelerate. beyond: the number of steps after the end of the schedule. masking: the
    masking of the objective.
    """
    if beyond > 0 and trainer.schedule in ("linear", "cosine"):
        raise UserError(
            f"trainer.schedule_steps={trainer.schedule_steps}: the learning rate is 0 after these steps, but the run "
            f"has {beyond} more steps: give the run's number of steps. If the run has begun, start a new run, because "
            "a run keeps its schedule"
        )
    if trainer.compile and (trainer.chunk is not None or trainer.chunk_tokens is not None):
        raise UserError(
            f"trainer.compile={str(trainer.compile).lower()} with trainer.chunk or trainer.chunk_tokens: a chunk is "
            "encoded twice, and compiled code need not draw the same dropout twice, so the gradient could be wrong; "
            "choose one"
        )
    if trainer.compile == "graphs" and not is_gpu(encoder.device):
        raise UserError("trainer.compile=graphs needs a GPU, because it records CUDA graphs: omit trainer.compile")
    if trainer.compile == "graphs" and masking != "none":
        raise UserError(
            "trainer.compile=graphs with a language-model loss: the number of masked tokens changes from batch to "
            "batch, but a CUDA graph is fixed; set trainer.compile=true, or objective.mlm_weight=0"
        )
    if trainer.warmup and trainer.schedule == "slanted_triangular":
        raise UserError(
            f"trainer.warmup={trainer.warmup}: trainer.schedule=slanted_triangular warms up for a tenth of the steps: "
            "set trainer.warmup=0, or trainer.schedule=linear"
        )
    if trainer.stop_early and None in (trainer.select, trainer.patience):
        raise UserError("trainer.stop_early=true needs trainer.patience=N, and a score in trainer.select")
    if encoder.needs_autocast and precision == "no":
        raise UserError(
            f"model.attention={encoder.backbone.config._attn_implementation} computes in bf16 and fp16 only, but this "
            "run trains in fp32: set trainer.precision=bf16 (a GPU), or omit model.attention"
        )


def compiled(encoder: Encoder, backend: str = "inductor", *, graphs: bool = False) -> nn.Module:
    """Return the compiled encoder, for the text's steps (trainer.compile). No GPU has run this yet.

    backend: the backend of torch.compile. graphs: record a CUDA graph for every shape, and replay the graph. The CPU
    then launches one graph instead of each kernel.
    """
    encoder.packed = False  # packing gives every batch different shapes
    encoder.encode("a")  # the first call takes locks, which Dynamo cannot trace: the graph would have a break
    mode = "reduce-overhead" if graphs and backend == "inductor" else None
    return cast(nn.Module, torch.compile(encoder, backend=backend, mode=mode, dynamic=False if graphs else None))


def widened(tokens: Tokens, width: int, padding: int) -> Tokens:
    """Return the tokens without labels, padded to at least `width` tokens a row. padding: the padding token's id.

    With max_length=32, nearly every batch of Wikipedia's sentences has a row of 32 tokens, and gets no padding.
    """
    more = max(0, width - tokens.ids_BT.shape[1])
    return Tokens(pad(tokens.ids_BT, (0, more), value=padding), pad(tokens.mask_BT, (0, more)))


def geometry(views: list[Encoded]) -> dict[str, float]:
    """Return alignment of the first two views, uniformity and effective rank of the first view."""
    first_BD = views[0].pooled_BD.detach().float()
    if not first_BD.isfinite().all():
        return {"effective_rank": math.nan}
    try:
        rank = effective_rank(first_BD)
    except torch.linalg.LinAlgError:  # only logged: training continues without it
        rank = math.nan
    metrics = {"effective_rank": rank}
    if len(first_BD) > 1:
        metrics["uniformity"] = float(uniformity(first_BD))
    if len(views) > 1 and len(views[1].pooled_BD) == len(first_BD):
        metrics["alignment"] = float(alignment(first_BD, views[1].pooled_BD.detach()))
    return metrics
