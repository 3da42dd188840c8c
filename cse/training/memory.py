"""Memory: the peak, the device's total, and an error that says what to do where it runs out."""

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import torch
from omegaconf import DictConfig

from cse.errors import RunError

CPU_MESSAGES = ("DefaultCPUAllocator", "not enough memory")  # in a RuntimeError that torch raises on a CPU


def peak(device: torch.device) -> int:
    """The most bytes that were held since the process started, by tensors on a GPU, by the whole process on a CPU."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def total(device: torch.device) -> int:
    """Bytes that the device has."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory
    return psutil.virtual_memory().total


@contextmanager
def explain_out_of_memory(cfg: DictConfig) -> Iterator[None]:
    """Turn running out of memory in the block into a RunError with the settings that need less. cfg: the run's."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        trainer, checkpointing = cfg.trainer, str(cfg.model.gradient_checkpointing).lower()
        fewer = max(1, (trainer.chunk or trainer.batch_size) // 8)
        raise RunError(
            f"out of memory ({' '.join(str(error).split())[:120]}): trainer.chunk={fewer} (now {trainer.chunk}) gives "
            "the same loss and gradient in the memory of so many rows; model.gradient_checkpointing=true (now "
            f"{checkpointing}) and a smaller trainer.max_length (now {trainer.max_length}) save more"
        ) from error


def is_out_of_memory(error: Exception) -> bool:
    """Whether the error is torch's on a GPU, its RuntimeError on a CPU, or Python's or numpy's MemoryError."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return any(message in str(error) for message in CPU_MESSAGES)
