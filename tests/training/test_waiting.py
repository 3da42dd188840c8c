"""Between logged steps the host asks the device for nothing: no number, no size that depends on data."""

import warnings

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from toys import run_of

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


@pytest.fixture
def arguments(small_run, documents, triplets, tmp_path):
    """A run of so many steps, whose last one alone is logged, on an encoder that pads as on a GPU."""

    def words(name: str, steps: int) -> list[str]:
        return [*small_run, *run_of(name, None, 32, documents, triplets), "model.packed=false", "trainer.select=null",
                "trainer.epochs=2", f"trainer.max_steps={steps}", "trainer.log_every=100", "trainer.eval_every=100",
                "trainer.stop_on_collapse=false", f"hydra.run.dir={tmp_path}/{steps}"]  # fmt: skip

    return words


@pytest.mark.parametrize("name", HOSTS)
def test_a_step_that_is_not_logged_reads_nothing(name, arguments, cse_train):
    counts = []
    for steps in (SHORT, LONG):
        with Reads() as reads:
            assert cse_train(arguments(name, steps)) == 0
        counts.append(reads.count)
    assert (counts[1] - counts[0]) / (LONG - SHORT) == HOSTS[name]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU: torch.cuda's sync debug mode counts waits")
@pytest.mark.parametrize("more", [[], ["trainer.compile=true"], ["trainer.chunk=4"], ["trainer.chunk_tokens=64"]])
@pytest.mark.parametrize("name", HOSTS)
def test_a_gpu_is_not_waited_for(name, more, arguments, cse_train, monkeypatch):
    monkeypatch.setattr("cse.run.startup.quiet", lambda: None)  # it would silence the warnings that are counted here
    waits = []
    for steps in (SHORT, LONG):
        torch.cuda.set_sync_debug_mode("warn")
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                assert cse_train([*arguments(name, steps), *more]) == 0
        finally:
            torch.cuda.set_sync_debug_mode("default")
        waits.append([str(warning.message) for warning in said if "synchroniz" in str(warning.message)])
    assert len(waits[1]) == len(waits[0]), waits[1][-5:]
