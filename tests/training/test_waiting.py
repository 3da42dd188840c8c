"""Between logged steps the host asks a GPU for nothing; tests/training/test_card.py asks the same without one."""

import warnings

import pytest
import torch
from toys import run_of

NAMES = ("simcse", "whitenedcse", "barlow", "declutr")
LONG, SHORT = 9, 5


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU: torch.cuda's sync debug mode counts waits")
@pytest.mark.parametrize("more", [[], ["trainer.compile=true"], ["trainer.chunk=4"], ["trainer.chunk_tokens=64"]])
@pytest.mark.parametrize("name", NAMES)
def test_a_gpu_is_not_waited_for(name, more, small_run, documents, triplets, tmp_path, cse_train, monkeypatch):
    """The waits of a run of more steps, whose last one alone is logged, are those of a shorter one."""
    monkeypatch.setattr("cse.run.startup.quiet", lambda: None)  # it would silence the warnings that are counted here
    line = [*small_run, *run_of(name, None, 32, documents, triplets), "trainer.select=null", "trainer.epochs=2",
            "trainer.log_every=100", "trainer.eval_every=100", "trainer.stop_on_collapse=false", *more]  # fmt: skip
    waits = []
    for steps in (SHORT, LONG):
        torch.cuda.set_sync_debug_mode("warn")
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                assert cse_train([*line, f"trainer.max_steps={steps}", f"hydra.run.dir={tmp_path}/{steps}"]) == 0
        finally:
            torch.cuda.set_sync_debug_mode("default")
        waits.append([str(warning.message) for warning in said if "synchroniz" in str(warning.message)])
    assert len(waits[1]) == len(waits[0]), waits[1][-5:]
