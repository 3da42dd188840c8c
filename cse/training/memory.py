"""The memory of a run: what it holds, the most it held, and one sentence where there is not enough."""

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import torch
from omegaconf import DictConfig

from cse.errors import RunError

CPU_WORDS = ("DefaultCPUAllocator", "not enough memory")  # of a RuntimeError that torch raises without a GPU


def held(device: torch.device) -> int:
    """Bytes: of tensors on a GPU, of the whole process on a CPU."""
    return torch.cuda.memory_allocated(device) if device.type == "cuda" else psutil.Process().memory_info().rss


def peak(device: torch.device) -> int:
    """The most bytes that `held` can have given since the process started."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def total(device: torch.device) -> int:
    """Bytes that the device has."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory
    return psutil.virtual_memory().total


@contextmanager
def said_when_out(cfg: DictConfig) -> Iterator[None]:
    """Where memory runs out inside the block, raises RunError with the settings that save it; cfg: the run's."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out(error):
            raise
        trainer, checkpointing = cfg.trainer, str(cfg.model.gradient_checkpointing).lower()
        fewer = max(1, (trainer.chunk or trainer.batch_size) // 8)
        raise RunError(
            f"out of memory ({' '.join(str(error).split())[:120]}): trainer.chunk={fewer} (now {trainer.chunk}) gives "
            "the same loss and gradient in the memory of so many rows; model.gradient_checkpointing=true (now "
            f"{checkpointing}) and a smaller trainer.max_length (now {trainer.max_length}) save more"
        ) from error


def is_out(error: Exception) -> bool:
    """Whether memory ran out: torch's error on a GPU, its RuntimeError on a CPU, Python's and numpy's MemoryError."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return any(word in str(error) for word in CPU_WORDS)
