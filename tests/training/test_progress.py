"""Progress without a terminal: one line a logged step, with that step's own numbers."""

import logging

import pytest

from cse.training.progress import Progress


@pytest.mark.parametrize("shown", [True, False])
def test_a_line_has_only_its_own_steps_numbers_and_comes_from_the_main_process(caplog, shown):
    caplog.set_level(logging.INFO)
    with Progress(total=20, first=0, shown=shown) as progress:
        progress.update(0, {"dev/stsb/spearman": 70.0})
        progress.update(10, {"loss": 1.0, "tokens/s": 2000.0})
    lines = [" ".join(record.message.split()[:6]) for record in caplog.records]
    assert lines == (["step 0/20 dev/stsb/spearman 70.00", "step 10/20 loss 1 2,000 tokens/s"] if shown else [])
