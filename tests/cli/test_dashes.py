"""Settings with dashes, as W&B's agents and other launchers give them."""

import pytest

from cse.cli.compose import undashed


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("--trainer.lr=1e-05", "trainer.lr=1e-05"),
        ("--objective=simcse", "objective=simcse"),
        ("--cfg=job", "--cfg=job"),
        ("--config-dir=own", "--config-dir=own"),
        ("--multirun", "--multirun"),
        ("-m", "-m"),
        ("trainer.lr=1", "trainer.lr=1"),
        ("data.path=--x=1", "data.path=--x=1"),
    ],
)
def test_dashes_before_a_setting_mean_nothing(word, meant):
    assert undashed([word]) == [meant]


def test_a_setting_with_dashes_is_still_checked(cse_train, capsys):
    assert cse_train(["--trainer.lrr=1"]) == 2
    assert "there is no key trainer.lrr" in capsys.readouterr().err
