"""What a run says while it goes on, where no terminal is: a line a logged step, with that step's own numbers."""

import logging

from cse.training.progress import Progress


def test_a_line_has_the_numbers_of_its_own_step(caplog):
    caplog.set_level(logging.INFO)
    with Progress(total=20, first=0, shown=True) as progress:
        progress.update(0, {"dev/stsb/spearman": 70.0})
        progress.update(10, {"loss": 1.0, "tokens/s": 2000.0})
        progress.update(20, {"loss": 0.5, "tokens/s": 2000.0, "dev/stsb/spearman": 80.0})
    untrained, middle, last = (record.message for record in caplog.records)
    assert untrained == "step 0/20  dev/stsb/spearman 70.00"
    assert middle.startswith("step 10/20  loss 1  2,000 tokens/s  ")
    assert "spearman" not in middle
    assert "dev/stsb/spearman 80.00" in last


def test_other_processes_say_nothing(caplog):
    caplog.set_level(logging.INFO)
    with Progress(total=2, first=0, shown=False) as progress:
        progress.update(1, {"loss": 1.0})
    assert not caplog.records
