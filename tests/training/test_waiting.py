"""Between logged steps the host asks the device for nothing: no number, no size that depends on data."""

import warnings
from pathlib import Path

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

READS = (torch.ops.aten._local_scalar_dense, torch.ops.aten.nonzero, torch.ops.aten.masked_select)
HOSTS = {"simcse": 1, "whitenedcse": 1, "barlow": 1, "declutr": 2}
"""What a step asks of the batch while it is still in the host's memory: its tokens, and its masked places."""
LONG, SHORT = 9, 5


class Reads(TorchDispatchMode):
    """Counts the operators whose result the host has to wait for."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += func.overloadpacket in READS
        return func(*args, **(kwargs or {}))


def arguments(small_run: list[str], name: str, steps: int, folder: Path) -> list[str]:
    """A run whose last step alone is logged, on an encoder that pads as on a GPU."""
    more = ["objective.head.hidden=16", "objective.head.out=16"] if name == "barlow" else []
    more += ["objective.whitening.num_groups=16"] if name == "whitenedcse" else []
    more += ["augmentation.min_length=2", "augmentation.max_length=3", "augmentation.anchors=1",
             "augmentation.positives=1", "augmentation.on_short=skip"] if name == "declutr" else []  # fmt: skip
    return [*small_run, f"objective={name}", "data=text", "model.packed=false", "trainer.select=null",
            f"trainer.max_steps={steps}", "trainer.log_every=100", "trainer.eval_every=100", "trainer.max_length=32",
            "trainer.stop_on_collapse=false", f"hydra.run.dir={folder}", *more]  # fmt: skip


@pytest.mark.parametrize("name", HOSTS)
def test_a_step_that_is_not_logged_reads_nothing(name, small_run, cse_train, tmp_path):
    counts = []
    for steps in (SHORT, LONG):
        with Reads() as reads:
            assert cse_train(arguments(small_run, name, steps, tmp_path / str(steps))) == 0
        counts.append(reads.count)
    assert (counts[1] - counts[0]) / (LONG - SHORT) == HOSTS[name]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU: torch.cuda's sync debug mode counts waits")
@pytest.mark.parametrize("more", [[], ["trainer.compile=true"], ["trainer.chunk=4"], ["trainer.chunk_tokens=64"]])
@pytest.mark.parametrize("name", HOSTS)
def test_a_gpu_is_not_waited_for(name, more, small_run, cse_train, tmp_path, monkeypatch):
    monkeypatch.setattr("cse.run.startup.quiet", lambda: None)  # it would silence the warnings that are counted here
    waits = []
    for steps in (SHORT, LONG):
        torch.cuda.set_sync_debug_mode("warn")
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                assert cse_train([*arguments(small_run, name, steps, tmp_path / str(steps)), *more]) == 0
        finally:
            torch.cuda.set_sync_debug_mode("default")
        waits.append([str(warning.message) for warning in said if "synchroniz" in str(warning.message)])
    assert len(waits[1]) == len(waits[0]), waits[1][-5:]
