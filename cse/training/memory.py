"""Memory: the peak, the device's total, and an error that says what to do where it runs out."""

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import torch
from omegaconf import DictConfig

from cse.errors import RunError, in_short

MESSAGES = ("out of memory", "DefaultCPUAllocator", "not enough memory")  # of torch, on a GPU and on a CPU


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
    except (RuntimeError, MemoryError) as error:  # torch's are of the first, Python's and numpy's of the second
        if isinstance(error, RuntimeError) and not any(words in str(error) for words in MESSAGES):
            raise
        trainer, checkpointing = cfg.trainer, str(cfg.model.gradient_checkpointing).lower()
        fewer = max(1, (trainer.chunk or trainer.batch_size) // 8)
        raise RunError(
            f"out of memory ({in_short(error)}): trainer.chunk={fewer} (now {trainer.chunk}) gives "
            "the same loss and gradient in the memory of so many rows; model.gradient_checkpointing=true (now "
            f"{checkpointing}) and a smaller trainer.max_length (now {trainer.max_length}) save more"
        ) from error
