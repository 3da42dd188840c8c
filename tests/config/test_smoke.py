"""scale=smoke: a published corpus keeps its reader and columns and reads a made-up file; what is replaced is logged."""

import pytest
from hydra.utils import instantiate

from cse.config.compose import composed, without_hydra
from cse.config.scale import fit
from cse.errors import UserError
from cse.run.fit import fit as fit_to_run
from cse.sources.made_up import ROWS

CASES = {
    "wiki1m": (["data=wiki1m"], 1),
    "nli": (["data=nli"], 3),
    "nli, two columns": (["data=nli", "data.columns=[sent0,sent1]"], 2),
    "wikiauto": (["data=wikiauto"], 2),
    "syncse": (["data=syncse_scratch"], 3),
    "openwebtext": (["data=openwebtext"], 1),
}


@pytest.mark.parametrize("case", CASES)
def test_each_corpus_keeps_its_reader_and_columns(case, tmp_path_factory):
    cache = tmp_path_factory.getbasetemp() / "smoke_text"  # shared, as jobs of one sweep share it
    arguments, columns = CASES[case]
    config = composed("train", [*arguments, f"paths.cache={cache}", "smoke=true"])
    target = config.data.get("rows", {}).get("_target_", "")
    fit(config)
    if case != "openwebtext":  # its reader streams from the hub
        assert config.data.rows._target_ == target
    text = instantiate(config.data)
    text.prepare()
    assert (len(text), text.num_columns) == (ROWS, columns)


def test_a_typed_word_that_a_scale_replaces_is_logged_and_no_other(tmp_path, caplog):
    given = ["model.name=package://nosuchpkg.x/model", "trainer.batch_size=64", "trainer.lr=1e-5", "data=text"]
    words = ["smoke=true", *given, "data.path=mine.txt", f"paths.cache={tmp_path}"]
    config = composed("train", words)
    with caplog.at_level("INFO", "cse"):
        fit_to_run(without_hydra(config), "train", composed=config, words=words)
    said = caplog.messages
    for key in ("model.name", "trainer.batch_size", "data.path"):
        assert sum(f"{key}=" in line for line in said) == 1, key
    assert len(said) == 3


def test_a_column_that_the_corpus_lacks_fails_in_a_smoke_run_too(tmp_path):
    config = composed("train", ["smoke=true", "data=nli", "data.columns=[sent0,hypothesis]", f"paths.cache={tmp_path}"])
    fit(config)
    with pytest.raises(UserError, match="hypothesis"):
        instantiate(config.data).prepare()


def test_an_encoder_that_records_its_pooling_has_one_in_cse_eval_too(tmp_path):
    config = composed("evaluate", ["scale=smoke", "model=minilm", "eval=[stsb]", f"paths.cache={tmp_path}"])
    assert config.model.pooling is None
    fit(config)
    assert instantiate(config.model).pooling == "mean"


def test_smoke_is_scale_smoke_and_keeps_what_it_replaces(tmp_path):
    configs = [composed("train", [word, f"paths.cache={tmp_path}"]) for word in ("smoke=true", "scale=smoke")]
    for config in configs:
        fit(config)
    assert len({str({key: value for key, value in config.items() if key != "hydra"}) for config in configs}) == 1
    assert configs[0].scale.replaced["model.name"] == "bert-base-uncased"
    assert configs[0].scale.replaced["trainer.max_steps"] is None
