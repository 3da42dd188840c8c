"""Several processes train as one process: rows are gathered with their gradient, and gradients are averaged.

W is the number of processes. Every process has a contiguous part of the global batch, and gathers the vectors of all
rows. A process computes the similarities of its share of the rows with all rows (cse.objective.blockwise). Then the
processes exchange the results, so all processes have the same loss. Each process has a part of the gradient of the
loss. The mean of these parts over processes is the exact gradient. `gather_views` sums the gradients of the rows over
processes, and `average_gradients` divides by W. The result is exactly the gradient of one process with the whole batch,
for the encoder and for the objective's own parameters.

torch's DistributedDataParallel is not used. Its hooks run in each backward pass. But a step may have several backward
passes (chunks, a second modality with its own optimizer), and some parameters are used only in some steps. The messages
of these hooks differ between the first step and later steps. So on three or more processes a resumed run would add
gradients in another order. One message at the end of the step works in all these cases. This message does not overlap
with the backward pass. An overlap would save little time, because the gradient of the word embeddings, 52% of MiniLM's
weights, comes last.
"""

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from functools import lru_cache
from typing import TypeVar

import numpy as np
import torch
import torch.distributed as dist
from accelerate.state import PartialState
from torch import Tensor, nn

from cse.device import check_gpu_per_process, default_device
from cse.types import Encode, Encoded

T = TypeVar("T")

log = logging.getLogger(__name__)

OF_ACCELERATE = ("ACCELERATE_", "FSDP_", "MEGATRON_LM_", "PARALLELISM_CONFIG_")
"""Prefixes of environment variables that would change how accelerate trains, and how transformers trains with it."""
AS_WITHOUT = ("", "0", "false", "no", "default")  # values that `accelerate launch` sets by default

STEP_TIMEOUT = timedelta(minutes=30)  # for a collective in a step; no process is ever that far behind
HOST_TIMEOUT = timedelta(days=1)  # while one process reads texts or runs evaluators, the others wait
TEXTS_PER_SHARE = 256  # texts that a process encodes before it checks for a signal


def join_processes() -> PartialState:
    """Join the run's process group. Raises UserError if there are GPUs, but fewer GPUs than processes.

    Remove the environment variables of accelerate, so that only the run's settings decide how the run trains.
    """
    given = {name: os.environ.pop(name) for name in sorted(os.environ) if name.startswith(OF_ACCELERATE)}
    if asks := [f"{name}={value}" for name, value in given.items() if value.lower() not in AS_WITHOUT]:
        log.warning("environment %s: ignored; settings (trainer.accumulate, precision, clip, compile, devices) decide",
                    " ".join(asks))  # fmt: skip
    check_gpu_per_process("LOCAL_WORLD_SIZE", int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
    return PartialState(cpu=default_device() == "cpu", timeout=STEP_TIMEOUT)


def leave_processes() -> None:
    """Close this process's groups, if any. The threads of open groups could abort the interpreter when it exits."""
    cpu_group.cache_clear()
    if dist.is_initialized():
        dist.destroy_process_group()


@lru_cache(1)
def cpu_group() -> dist.ProcessGroup:
    """Return a gloo group of the run's processes, for slow messages between CPUs. All processes must call cpu_group."""
    return dist.new_group(backend="gloo", timeout=HOST_TIMEOUT)


@contextmanager
def main_process_first() -> Iterator[None]:
    """Run the block on the main process first, then on the others."""
    is_first = world_size() == 1 or dist.get_rank() == 0
    if not is_first:
        gather_objects(None)
    yield
    if is_first:
        gather_objects(None)


def world_size() -> int:
    """Return the number of the run's processes."""
    return dist.get_world_size() if dist.is_initialized() else 1


class _Gather(torch.autograd.Function):
    """Concatenate the rows of every process, (b, ...), in order of rank: (W * b, ...)."""

    @staticmethod
    def forward(ctx, x: Tensor, scale: str) -> Tensor:
        ctx.scale = scale
        rows = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(rows, x.contiguous())
        return torch.cat(rows)

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, None]:
        grad = grad.contiguous()
        dist.all_reduce(grad)
        own = grad.chunk(dist.get_world_size())[dist.get_rank()]
        return own if ctx.scale == "exact" else own / dist.get_world_size(), None


def gather_views(views: list[Encoded], scale: str) -> list[Encoded]:
    """Return every view with the rows of the global batch.

    scale: "exact" gives the gradient of a run on one process. "paper" gives the gradient of SimCSE's and DeCLUTR's
    code: each process computes the whole loss, and only the process's own rows carry gradient. After averaging, the
    gradient is 1 / W of the true gradient. Adam's updates hardly change, but clipping and sums of losses do. In this
    code the language-model loss keeps its full gradient, so the weight of the contrastive loss is in effect 1 / W.
    """
    if world_size() == 1:
        return views

    def whole(name: str, x: Tensor) -> Tensor:
        return x if scale == "paper" and name.startswith("mlm_") else _Gather.apply(x, scale)

    return [
        Encoded(whole("pooled_BD", view.pooled_BD), {name: whole(name, x) for name, x in view.known.items()})
        for view in views
    ]


def average_gradients(modules: Iterable[nn.Module], shrunk: Iterable[nn.Module] = ()) -> None:
    """Replace every gradient by its mean over processes, in one message. A parameter without gradient is left out.

    shrunk: modules that read all processes' rows here, but only a process's own rows in the papers' code (a head, with
    gather_scale=paper). The mean of their gradients is divided by W. For the encoder, `gather_views` already does this.
    """
    if world_size() == 1:
        return
    for module in shrunk:
        for parameter in module.parameters():
            if parameter.grad is not None:
                parameter.grad /= dist.get_world_size()
    grads = [parameter.grad for module in modules for parameter in module.parameters() if parameter.grad is not None]
    flat = torch.cat([grad.flatten() for grad in grads])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for grad, mean in zip(grads, flat.split([grad.numel() for grad in grads]), strict=True):
        grad.copy_(mean.view_as(grad))


def gather_objects(value: T) -> list[T]:
    """Return the values of all processes, in order of rank. Values are sent as pickles, only between the processes."""
    if world_size() == 1:
        return [value]
    values: list = [None] * dist.get_world_size()
    dist.all_gather_object(values, value, cpu_group())
    return values


class Agreement:
    """The maximum over processes for each of a few numbers. The CPUs exchange the numbers while the devices compute.

    Every process calls `ask` before a step and `answer` after the step. The messages use gloo, on CPUs, even if
    gradients use NCCL. numbers: returns the numbers of this process.
    """

    def __init__(self, numbers: Callable[[], Sequence[int]]):
        self.own_numbers = numbers
        self.group = cpu_group() if world_size() > 1 else None

    def ask(self) -> None:
        """Send this process's numbers, if there are other processes."""
        if self.group is not None:
            self.numbers = torch.tensor(self.own_numbers(), dtype=torch.int32)
            self.message = dist.all_reduce(self.numbers, dist.ReduceOp.MAX, self.group, async_op=True)

    def answer(self) -> list[int]:
        """Return the maximum of each number that the last `ask` sent; on a single process, its current numbers."""
        if self.group is None:
            return list(self.own_numbers())
        self.message.wait()
        return self.numbers.tolist()


@contextmanager
def lead_encoding(encode: Encode, sharing: Callable[[], AbstractContextManager[None]]) -> Iterator[Encode]:
    """Yield, on the main process, an `encode` that shares its work with the other processes.

    Meanwhile the other processes run `follow_encoding`. sharing: a context manager around each exchange of texts. It
    must defer interruptions, because after an interruption the other processes would wait for ever.
    """
    if world_size() == 1:
        yield encode
        return

    def shared(texts: list[str]) -> np.ndarray:
        size = TEXTS_PER_SHARE * world_size()
        return np.concatenate([shares(texts[start : start + size]) for start in range(0, len(texts), size)])

    def shares(texts: list[str]) -> np.ndarray:
        if len(texts) < world_size():
            return encode(texts)
        with sharing():
            _broadcast(texts)
            return _encode_together(encode, texts)

    try:
        yield shared
    finally:
        with sharing():
            _broadcast(None)


def follow_encoding(encode: Encode) -> None:
    """Encode this process's share of all texts, until the main process leaves `lead_encoding`."""
    while (texts := _broadcast(None)) is not None:
        _encode_together(encode, texts)


def _broadcast(texts: list[str] | None) -> list[str] | None:
    """Return the main process's texts, on every process; None after the last texts."""
    message = [texts]
    dist.broadcast_object_list(message, src=0, group=cpu_group())
    return message[0]


def _encode_together(encode: Encode, texts: list[str]) -> np.ndarray:
    """Return the vectors of n texts, (n, D). Process r encodes the texts r, r + W, r + 2W and so on."""
    world = dist.get_world_size()
    parts = gather_objects(encode(texts[dist.get_rank() :: world]))
    rows_ND = np.empty((len(texts), parts[0].shape[1]), parts[0].dtype)
    for rank, part in enumerate(parts):
        rows_ND[rank::world] = part
    return rows_ND
