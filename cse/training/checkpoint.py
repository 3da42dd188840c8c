"""Write and read `last/`: one file with all that an interrupted run needs to continue bit for bit.

Tensors (weights, optimizer moments, random states) and JSON (counters, the best so far) share one safetensors file. So
no pickle is read from a user's folder. The file is replaced atomically: a kill leaves the old file or the new file.
"""

import json
import random
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from pydantic import TypeAdapter
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.optim import Optimizer
from typing_extensions import TypedDict

from cse import device
from cse.errors import UserError, in_short
from cse.files import Json, recover, replaced_file
from cse.training.failures import is_out_of_memory
from cse.training.settings import State

FILE = "last/state.safetensors"


class About(TypedDict):
    """The JSON in last/ beside the State: values that a resume compares, and random states that are not tensors."""

    identity: dict[str, object]
    inputs: dict[str, str]
    dev_data: dict[str, dict[str, object]]
    scaler: dict[str, float] | None  # for fp16
    python_random: list[tuple[tuple[int, list[int], float | None], int, int, float]]  # one per process


class Saver:
    """A writer of a run's last/, in a thread, one write at a time. A `with` block of a Saver ends after the last write.

    If the disk refuses a write, the old checkpoint stays, and the next `save` or `wait` raises RunError.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.thread = ThreadPoolExecutor(1, "last")
        self.writing: Future[None] | None = None
        self.saved = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.wait()

    def save(
        self,
        modules: dict[str, nn.Module],
        optimizers: dict[str, Optimizer],
        random_states: list[Json],
        about: Json,
    ) -> None:
        """Copy the state to host memory. Write the copy to last/ while the run continues.

        random_states: one per process (process_random_state()). about: the State and About, without python_random.
        """
        self.wait()
        tensors = copy_to_host(modules, optimizers, random_states)
        about = about | {"python_random": [state["python"] for state in random_states]}
        self.writing = self.thread.submit(write_last, self.folder, tensors, json.dumps(about))
        self.saved = time.monotonic()

    def age(self) -> float:
        """Return the seconds since the last save. Before the first save, return the seconds since the start."""
        return time.monotonic() - self.saved

    def wait(self) -> None:
        """Wait until the last save is on disk."""
        writing, self.writing = self.writing, None
        if writing is not None:
            writing.result()


def copy_to_host(
    modules: dict[str, nn.Module], optimizers: dict[str, Optimizer], random_states: list[Json]
) -> dict[str, Tensor]:
    """Return copies of the tensors of last/. safetensors refuses tensors that share memory, such as tied weights."""
    tensors: dict[str, Tensor] = {}
    for name, module in modules.items():
        frozen = frozen_names(module)
        tensors |= {f"{name}/{key}": value for key, value in module.state_dict().items() if key not in frozen}
    for name, optimizer in optimizers.items():
        for index, moments in optimizer.state_dict()["state"].items():
            tensors |= {f"{name}/{index}/{key}": value for key, value in moments.items()}
    for rank, state in enumerate(random_states):
        tensors |= {f"random/{rank}/{key}": value for key, value in state["tensors"].items()}
    plain = torch.contiguous_format
    return {key: value.detach().to("cpu", copy=True, memory_format=plain) for key, value in tensors.items()}


def write_last(folder: Path, tensors: dict[str, Tensor], about: str) -> None:
    """Replace last/. Raises RunError if the disk refuses the file."""
    path = folder / FILE
    recover(path)
    with replaced_file(path) as temporary:
        save_file(tensors, temporary, metadata={"about": about})


def drop_tensors(folder: Path, state: State) -> None:
    """Reduce a finished run's last/ to the JSON, which resume= and rerun= read. state: the final state of the run."""
    write_last(folder, {}, json.dumps(read_about(folder) | asdict(state)))


def read_last(folder: Path) -> tuple[dict[str, Tensor], Json]:
    """Return the tensors and the JSON of last/. Raises UserError for a damaged file."""
    with explain_damage(folder), safe_open(folder / FILE, "pt") as file:
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        return tensors, dict(json.loads(file.metadata()["about"]))


@contextmanager
def explain_damage(folder: Path) -> Iterator[None]:
    """Turn an error in the block into a UserError. The block reads a checkpoint.

    The message says that the checkpoint is damaged, or from another experiment.
    """
    try:
        yield
    except (SafetensorError, OSError, RuntimeError, LookupError, TypeError, ValueError, OverflowError) as error:
        if is_out_of_memory(error):
            raise
        raise UserError(
            f"the checkpoint {folder / FILE} is damaged or from another experiment ({in_short(error)}): restore a copy"
            ", or delete this checkpoint to start again"
        ) from error


def read_about(folder: Path) -> Json:
    """Return the JSON of last/; {} without last/. Raises UserError for a damaged file."""
    if not (folder / FILE).is_file():
        return {}
    with explain_damage(folder), safe_open(folder / FILE, "pt") as file:
        return dict(json.loads(file.metadata()["about"]))


def read_state(about: Json) -> State:
    """Return the State in the JSON of last/. Raises ValueError if the JSON lacks something that a resume needs."""
    TypeAdapter(About).validate_python(about)
    return TypeAdapter(State).validate_python(about)


def restore(tensors: dict[str, Tensor], modules: dict[str, nn.Module], optimizers: dict[str, Optimizer]) -> None:
    """Load saved tensors into modules and optimizers. Raises torch's error if the tensors do not fit."""
    for name, module in modules.items():
        frozen = frozen_names(module)
        state = {key: value for key, value in module.state_dict().items() if key in frozen}
        module.load_state_dict(state | _under(tensors, name))
    for name, optimizer in optimizers.items():
        owned = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        moments: dict[int, dict[str, Tensor]] = {}
        for key, value in _under(tensors, name).items():
            index, _, field = key.partition("/")
            if value.dim() and value.shape != owned[int(index)].shape:  # AdamW does not check shapes
                raise ValueError(f"{name}/{key} has the shape {tuple(value.shape)}")
            moments.setdefault(int(index), {})[field] = value
        optimizer.load_state_dict({"state": moments, "param_groups": optimizer.state_dict()["param_groups"]})


def frozen_names(module: nn.Module) -> set[str]:
    """Return the names of the parameters that are not trained (model.lora). last/ leaves these parameters out."""
    return {name for name, p in module.named_parameters(remove_duplicate=False) if not p.requires_grad}


def process_random_state() -> Json:
    """Return this process's random states: of torch on CPU and GPU, of numpy (the global state), and of Python."""
    tensors = device.random_state()
    legacy: Any = np.random.get_state()
    tensors["numpy"] = torch.from_numpy(np.asarray(legacy[1], dtype=np.int64))
    return {"tensors": tensors, "python": [random.getstate(), legacy[2], legacy[3], legacy[4]]}


def set_process_random_state(tensors: dict[str, Tensor], about: Json, rank: int) -> None:
    """Restore the random states that process_random_state() returned on the process of this rank."""
    mine = _under(tensors, f"random/{rank}")
    device.set_random_state(mine)
    (version, words, gauss), position, has_gauss, cached = about["python_random"][rank]
    random.setstate((version, tuple(words), gauss))
    np.random.set_state(("MT19937", mine["numpy"].numpy().astype(np.uint32), position, has_gauss, cached))


def _under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return {rest of the name: tensor} for the tensors whose names begin with `prefix/`."""
    return {key[len(prefix) + 1 :]: value for key, value in tensors.items() if key.startswith(f"{prefix}/")}
