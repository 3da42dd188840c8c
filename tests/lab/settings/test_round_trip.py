"""What is given, recorded and printed again is the same settings: random ones, of each kind of value."""

import shlex

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf
from run_folders import leave_run

import cse
from cse.lab.folder.runs import read_run
from cse.lab.report.any_runs.repeat import repeat_command
from cse.lab.settings.command import texts_of_settings

BASE = ["data=text", "eval=pairs", "model=minilm"]
LETTER = st.characters(exclude_characters="$", exclude_categories=("C", "Z"))  # $ refers to another key
NAME = st.text(LETTER | st.sampled_from(" ,='\"\\[{(:é"), min_size=1, max_size=9).map(str.strip).filter(bool)
CHOSEN = {
    "trainer.lr": st.floats(1e-9, 1.0),
    "seed": st.integers(0, 2**31 - 1),
    "trainer.drop_last": st.booleans(),
    "model.prefix": st.none() | NAME,
    "data.path": NAME.map("/".__add__),
    "data.columns": st.lists(NAME, min_size=1, max_size=3, unique=True),
    "eval.test": NAME.map("/".__add__),
    "data.limit": st.integers(1, 9) | st.floats(0.1, 0.9),
}


def chosen_of(config) -> dict:
    plain = OmegaConf.to_container(config, resolve=True)
    keys = {key: key.replace("eval.test", "eval.pairs.test") for key in CHOSEN}
    return {key: OmegaConf.select(OmegaConf.create(plain), at) for key, at in keys.items()}


@settings(max_examples=4, phases=[Phase.generate])  # a smaller example takes minutes
@given(chosen=st.fixed_dictionaries(CHOSEN))
def test_a_printed_command_has_the_settings_that_were_given(tmp_path_factory, chosen):
    words = [*BASE, *texts_of_settings(chosen)]
    config = cse.compose(*words)
    assert chosen_of(config) == chosen
    folder = tmp_path_factory.mktemp("run")
    run = read_run(leave_run(folder, OmegaConf.to_container(config, resolve=True), overrides=words))
    program, *printed = shlex.split(repeat_command(run))
    assert program == "cse-train"
    assert cse.compose(*printed) == config
