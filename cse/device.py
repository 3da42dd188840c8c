"""The device of a run: the CPU or a CUDA GPU. Only this module asks torch whether there are GPUs, and how many."""

import os
import resource
import sys

import psutil
import torch
from torch import Tensor

from cse.errors import UserError

MAX_WORKERS = 4  # a worker makes 200,000 rows a second for SimCSE, and about 10,000 for EDA


def count_gpus() -> int:
    """Return the number of GPUs that this process can use."""
    return torch.cuda.device_count()


def default_device() -> str:
    """Return "cuda" if this process can use a GPU, else "cpu"."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def device_name(device: torch.device) -> str:
    """Return "cpu", or a GPU's name such as "cuda:0". The index in Accelerate's "cpu:0" is dropped."""
    return str(device) if is_gpu(device) else device.type


def is_gpu(device: torch.device) -> bool:
    """Return whether the device is a GPU."""
    return device.type == "cuda"


def check_gpu_per_process(key: str, processes: int) -> None:
    """Raise UserError if there are GPUs, but fewer GPUs than processes. Without a GPU, processes run on the CPU."""
    if count_gpus() and processes > count_gpus():
        raise UserError(
            f"{key}={processes}: each process needs its own GPU, but the number of visible GPUs is "
            f"{count_gpus()} (CUDA_VISIBLE_DEVICES may hide others): start at most that many processes"
        )


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def data_workers(device: torch.device) -> int:
    """Return the number of worker processes that make this process's batches if trainer.workers is auto.

    On a CPU the number is 0, because the training step itself uses the cores. On a GPU the number is cores / GPUs - 1,
    at most MAX_WORKERS.
    """
    return min(MAX_WORKERS, max(0, usable_cores() // max(1, count_gpus()) - 1)) if is_gpu(device) else 0


def computes_bf16() -> bool:
    """Return whether the current GPU or, without a GPU, the CPU multiplies bfloat16 matrices in hardware.

    Other devices (a T4, a V100, a CPU without AVX512_BF16 and AMX) emulate bfloat16, more slowly than float32.
    """
    if torch.cuda.is_available():
        return torch.cuda.is_bf16_supported(including_emulation=False)
    has = torch.cpu.get_capabilities()
    return bool(has.get("avx512_bf16") or has.get("amx_bf16"))


def to_device(x: Tensor, device: torch.device) -> Tensor:
    """Return x on `device`. A tensor is copied to a GPU from pinned memory, so that the CPU does not wait."""
    if is_gpu(device) and not is_gpu(x.device) and not x.is_pinned():
        x = x.pin_memory()
    return x.to(device, non_blocking=True)


def random_state() -> dict[str, Tensor]:
    """Return the state of torch's random generator on the CPU and, if there is a GPU, on this process's GPU."""
    state = {"torch": torch.get_rng_state()}
    return state | {"cuda": torch.cuda.get_rng_state()} if torch.cuda.is_available() else state


def set_random_state(state: dict[str, Tensor]) -> None:
    """Restore the state that random_state() returned. Without a GPU, the state of a GPU is ignored."""
    torch.set_rng_state(state["torch"])
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])


def peak_memory(device: torch.device) -> int:
    """Return the peak memory so far, in bytes: of the tensors on a GPU or, on a CPU, of the whole process."""
    if is_gpu(device):
        return torch.cuda.max_memory_allocated(device)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def total_memory(device: torch.device) -> int:
    """Return the memory of the device in bytes."""
    return torch.cuda.get_device_properties(device).total_memory if is_gpu(device) else psutil.virtual_memory().total
