"""Explain the library errors that end a run: memory, a lost process, a data worker, the compiler."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from cse.data.prefetch import WORKER_DIED, reset_worker_handler
from cse.errors import RunError, in_short
from cse.training.distributed import world_size

OUT_OF_MEMORY = (  # from torch on GPU and CPU, and from CUDA's libraries when there is no room for their workspace
    *("out of memory", "DefaultCPUAllocator", "not enough memory"),
    *("CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED"),
)
LOST = (  # from gloo, NCCL and torch's store, when the other end of a connection is gone
    *("Connection closed by peer", "Connection reset by peer", "Broken pipe", "Connection refused"),
    *("remote process exited", "ncclRemoteError", "failed to recv, got 0 bytes"),
)


@contextmanager
def explain_failures(settings: Mapping[str, Any], resume_hint: Callable[[], str]) -> Iterator[None]:
    """Turn an error in the block into a RunError, if `explanation` has a message for this error.

    settings: the run's settings, nested. resume_hint: returns the end of the message, for an error after which the run
    can resume with unchanged settings.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        sentence = explanation(error, settings, resume_hint)
        if sentence is None:
            raise
        raise RunError(sentence) from error


def explanation(
    error: RuntimeError | MemoryError, settings: Mapping[str, Any], resume_hint: Callable[[], str]
) -> str | None:
    """Return the message for an error, or None for an error that needs its traceback."""
    trainer, short = settings["trainer"], in_short(error)
    if is_out_of_memory(error):
        chunk, recomputed = trainer["chunk"], settings["model"]["gradient_checkpointing"]
        fewer = max(1, (chunk or trainer["batch_size"]) // 8)
        return (
            f"out of memory ({short}): trainer.chunk={fewer} (now {chunk or 'null'}) gives the same loss and gradient, "
            f"except for dropout's random masks, in the memory of {fewer} rows; model.gradient_checkpointing=true (now "
            f"{str(recomputed).lower()}) and a smaller trainer.max_length (now "
            f"{trainer['max_length']}) save more"
        )
    if str(error).startswith(WORKER_DIED):
        reset_worker_handler()
        return (
            f"a process that makes batches died ({short}): is memory short? Fewer trainer.workers or "
            f"aux_modality.data.workers need less; {resume_hint()}"
        )
    if world_size() > 1 and any(sign in str(error) for sign in LOST):
        return (
            f"another of the {world_size()} processes has ended (killed for lack of memory?), and the others cannot "
            f"continue without it; {resume_hint()}"
        )
    if trainer["compile"]:
        from torch._dynamo.exc import TorchDynamoException

        if isinstance(error, TorchDynamoException):
            asked = str(trainer["compile"]).lower()
            return f"trainer.compile={asked}: torch.compile failed ({short}); trainer.compile=false trains without it"
    return None


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error means too little memory. torch has several classes of RuntimeError for this, so the
    message decides. Python and numpy have MemoryError."""
    return isinstance(error, MemoryError) or any(words in str(error) for words in OUT_OF_MEMORY)
