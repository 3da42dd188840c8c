"""The dropout that an augmentation sets, in a whole run."""

import json


def test_a_run_without_dropout_exports_the_checkpoints_own(small_run, cse_train, tmp_path):
    """So that a later SimCSE run on the exported encoder has views that differ."""
    assert cse_train([*small_run, "augmentation=shuffle", "trainer.max_steps=1"]) == 0
    config = json.loads((tmp_path / "run" / "best" / "config.json").read_text())
    assert (config["hidden_dropout_prob"], config["attention_probs_dropout_prob"]) == (0.1, 0.1)
