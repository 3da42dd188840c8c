"""smoke=true: a published corpus keeps its reader and columns, typed data is used, and what is replaced is logged."""

from pathlib import Path

import pytest
from hydra.utils import instantiate
from transformers import AutoTokenizer

from cse.config.compose import composed, without_hydra
from cse.config.smoke import fit
from cse.errors import UserError
from cse.run.job import fit as fit_to_run
from cse.sources import made_up
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


def test_a_typed_word_that_is_replaced_is_logged_and_no_other(tmp_path, caplog):
    given = ["model.name=package://nosuchpkg.x/model", "trainer.batch_size=64", "trainer.lr=1e-5", "data=text"]
    words = ["smoke=true", *given, "data.path=mine.txt", f"paths.cache={tmp_path}"]
    composition = composed("train", words)
    config = without_hydra(composition)
    with caplog.at_level("INFO", "cse"):
        fit_to_run(config, "train", composition.hydra.runtime.choices, words)
    said = caplog.messages
    for key in ("model.name", "trainer.batch_size"):
        assert sum(f"{key}=" in line for line in said) == 1, key
    assert len(said) == 2
    assert (config.data.path, config.data.limit) == ("mine.txt", 64)


@pytest.mark.parametrize(("limit", "rows"), [("null", 64), ("0.5", 64), ("1000", 64), ("7", 7)])
def test_text_that_is_typed_is_read_and_cut(tmp_path, limit, rows):
    (tmp_path / "mine.txt").write_text("".join(f"sentence {number}\n" for number in range(500)))
    words = ["smoke=true", "data=text", f"data.path={tmp_path}/mine.txt", f"data.limit={limit}"]
    composition = composed("train", [*words, f"paths.cache={tmp_path}"])
    config = without_hydra(composition)
    fit_to_run(config, "train", composition.hydra.runtime.choices, words)
    text = instantiate(config.data)
    text.prepare()
    assert (len(text.chosen), text.text(0)) == (rows, "sentence 0")


@pytest.mark.parametrize(
    ("aux", "key", "limit"), [("visual", "paths.images", "classes"), ("audio", "paths.audio", "speakers")]
)
def test_images_and_sound_that_are_typed_are_used_and_cut(tmp_path, aux, key, limit):
    made, own = (composed("train", ["smoke=true", f"aux_modality={aux}", f"paths.cache={tmp_path}", *more])
                 for more in ([], [f"{key}=/mine"]))  # fmt: skip
    fit(made)
    fit(own, ["aux_modality", key])
    assert made.aux_modality.data.folder.startswith(str(tmp_path))
    assert own.aux_modality.data.folder == "/mine"
    assert own.aux_modality.data[limit] == 4


@pytest.mark.parametrize(("words", "devices"), [([], 1), (["trainer.devices=2"], 2)])
def test_the_number_of_processes_that_is_typed_is_used(tmp_path, words, devices):
    config = composed("train", ["smoke=true", f"paths.cache={tmp_path}", *words])
    fit(config, [word.partition("=")[0] for word in words])
    assert config.trainer.devices == devices


@pytest.mark.parametrize("program", ["train", "evaluate"])
def test_score_sets_that_are_typed_are_used(tmp_path, program):
    made, own = (composed(program, ["smoke=true", "model=bert", "eval=[stsb,sts]", f"paths.cache={tmp_path}", *more])
                 for more in ([], ["paths.senteval=/nowhere"]))  # fmt: skip
    fit(made, ["eval"])
    fit(own, ["eval", "paths.senteval"])
    assert {made.eval[name].senteval for name in ("stsb", "sts")} == {f"{tmp_path}/smoke/senteval2"}
    assert {own.eval[name].senteval for name in ("stsb", "sts")} == {"/nowhere"}


def test_text_of_ones_own_has_no_unknown_tokens(tmp_path):
    tokenizer = AutoTokenizer.from_pretrained(made_up.encoder(tmp_path, "roberta"))
    assert tokenizer.tokenize("kadan") == ["kadan"]
    ids = tokenizer("A cat, 你好.", "Sætning").input_ids
    assert tokenizer.unk_token_id not in ids
    assert len(set(ids)) > 15


def test_a_column_that_the_corpus_lacks_fails_in_a_smoke_run_too(tmp_path):
    config = composed("train", ["smoke=true", "data=nli", "data.columns=[sent0,hypothesis]", f"paths.cache={tmp_path}"])
    fit(config)
    with pytest.raises(UserError, match="hypothesis"):
        instantiate(config.data).prepare()


def test_an_encoder_that_records_its_pooling_has_one_in_cse_eval_too(tmp_path):
    config = composed("evaluate", ["smoke=true", "model=minilm", "eval=[stsb]", f"paths.cache={tmp_path}"])
    assert config.model.pooling is None
    fit(config)
    assert instantiate(config.model).pooling == "mean"


@pytest.mark.parametrize("here", [True, False])
def test_a_checkpoint_is_made_up_unless_it_is_here(tmp_path, here):
    name = str(tmp_path) if here else "hub/bert-large"
    config = composed("evaluate", ["smoke=true", f"checkpoint={name}", "eval=[stsb]", f"paths.cache={tmp_path}"])
    fit(config)
    assert (config.checkpoint == name) == here == ("checkpoint" not in config.replaced)
    assert here or (Path(config.checkpoint).name, config.pooling) == ("bert1024bytes", "mean")


def test_what_is_replaced_is_kept(tmp_path):
    config = composed("train", ["smoke=true", f"paths.cache={tmp_path}"])
    fit(config)
    assert config.replaced["model.name"] == "bert-base-uncased"
    assert config.replaced["trainer.max_steps"] is None
