"""Where memory runs out: an error that says what needs less."""

from collections.abc import Iterator
from contextlib import contextmanager

from omegaconf import DictConfig

from cse.errors import RunError, in_short

MESSAGES = (  # of torch, on a GPU and on a CPU, and of CUDA's libraries that find no room to work in
    *("out of memory", "DefaultCPUAllocator", "not enough memory"),
    *("CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED"),
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether it says so: torch's errors are RuntimeErrors of several classes, Python's and numpy's a MemoryError."""
    return isinstance(error, MemoryError) or any(words in str(error) for words in MESSAGES)


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
            f"out of memory ({in_short(error)}): trainer.chunk={fewer} (now {trainer.chunk}) gives "
            "the same loss and gradient in the memory of so many rows; model.gradient_checkpointing=true (now "
            f"{checkpointing}) and a smaller trainer.max_length (now {trainer.max_length}) save more"
        ) from error
