"""The device of a run, the CPU or a CUDA GPU. Only this module asks torch which GPUs there are."""

import os
import resource
import sys

import psutil
import torch
from torch import Tensor

from cse.errors import UserError

MAX_WORKERS = 4  # a worker makes 200,000 rows a second for SimCSE, and about 10,000 for EDA


def count_gpus() -> int:
    """How many GPUs this process sees."""
    return torch.cuda.device_count()


def default_device() -> str:
    """cuda if there is a GPU, else cpu."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def device_name(device: torch.device) -> str:
    """cpu or cuda:0. With several processes, Accelerate numbers the CPUs too."""
    return str(device) if is_gpu(device) else device.type


def is_gpu(device: torch.device) -> bool:
    """Whether the device is a GPU. The host runs ahead of a GPU, and must wait to read from it."""
    return device.type == "cuda"


def check_gpu_per_process(key: str, processes: int) -> None:
    """Raise UserError if this machine has more processes than GPUs. Without any GPU, processes run on the CPU."""
    if count_gpus() and processes > count_gpus():
        raise UserError(
            f"{key}={processes}: each process needs its own GPU, and {count_gpus()} can be seen here "
            "(CUDA_VISIBLE_DEVICES may hide others): start at most that many"
        )


def usable_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def data_workers(device: torch.device) -> int:
    """The number of worker processes that make this process's batches if trainer.workers is auto.

    0 on a CPU, because the step itself uses the cores. On a GPU: this process's share of the cores minus one, at most
    MAX_WORKERS.
    """
    return min(MAX_WORKERS, max(0, usable_cores() // max(1, count_gpus()) - 1)) if is_gpu(device) else 0


def computes_bf16() -> bool:
    """Whether the current GPU or, without one, the CPU multiplies bfloat16 matrices in hardware.

    Other devices emulate bfloat16, which is slower than float32: a T4, a V100, a CPU without AVX512_BF16 and AMX.
    """
    if torch.cuda.is_available():
        return torch.cuda.is_bf16_supported(including_emulation=False)
    has = torch.cpu.get_capabilities()
    return bool(has.get("avx512_bf16") or has.get("amx_bf16"))


def to_device(x: Tensor, device: torch.device) -> Tensor:
    """x on `device`. A copy to a GPU is from pinned memory, so that the host does not wait."""
    if is_gpu(device) and not is_gpu(x.device) and not x.is_pinned():
        x = x.pin_memory()
    return x.to(device, non_blocking=True)


def random_state() -> dict[str, Tensor]:
    """The state of torch's generator on the CPU and, if there is one, on this process's GPU."""
    state = {"torch": torch.get_rng_state()}
    return state | {"cuda": torch.cuda.get_rng_state()} if torch.cuda.is_available() else state


def set_random_state(state: dict[str, Tensor]) -> None:
    """Restore what random_state() returned; a GPU's state is ignored without a GPU."""
    torch.set_rng_state(state["torch"])
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])


def peak_memory(device: torch.device) -> int:
    """The peak memory in bytes since the process started: of tensors on a GPU, of the whole process on a CPU."""
    if is_gpu(device):
        return torch.cuda.max_memory_allocated(device)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def total_memory(device: torch.device) -> int:
    """The memory of the device in bytes."""
    return torch.cuda.get_device_properties(device).total_memory if is_gpu(device) else psutil.virtual_memory().total
