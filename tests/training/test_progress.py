"""Progress without a terminal: one line a logged step, with that step's own numbers."""

import logging

from cse.training.progress import steps_shown


def test_a_line_has_only_its_own_steps_numbers(caplog):
    caplog.set_level(logging.INFO)
    with steps_shown(total=20, first=0) as show:
        show(0, {"dev/stsb/spearman": 70.0})
        show(10, {"train/loss": 1.0, "train/grad_norm": 3.0, "train/tokens_per_second": 2000.0})
    lines = [" ".join(record.message.split()[:6]) for record in caplog.records if record.name.startswith("cse.")]
    assert lines == ["step 0/20 dev/stsb/spearman 70.00", "step 10/20 loss 1 2,000 tokens/s"]
