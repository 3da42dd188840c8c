"""smoke=true: a given argument wins, but for what needs real weights or data; a published corpus keeps its reader."""

from pathlib import Path

import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf
from transformers import AutoTokenizer

from cse.errors import UserError
from cse.lab.run.from_arguments import cfg_of_new_run
from cse.lab.settings.arguments import recorded_arguments, spell_value
from cse.lab.settings.compose import composed
from cse.sources import synthetic
from cse.sources.synthetic import ROWS


def fitted(*words: str, command: str = "train"):
    """The config of a run with these words."""
    composition = composed(command, words)
    return cfg_of_new_run(composition, command, recorded_arguments(words))


@pytest.mark.parametrize(("words", "columns"), [
    ("data=wiki1m", 1), ("data=nli", 3), ("data=nli data.columns=[sent0,sent1]", 2), ("data=wikiauto", 2),
    ("data=syncse_scratch", 3), ("data=openwebtext", 1),
])  # fmt: skip
def test_each_corpus_keeps_its_reader_and_columns(words, columns, tmp_path_factory):
    cache = tmp_path_factory.getbasetemp() / "smoke_text"  # shared, as jobs of one sweep share it
    whole, config = (fitted(*words.split(), f"paths.cache={cache}", *more) for more in ([], ["smoke=true"]))
    if words != "data=openwebtext":  # its reader streams from the hub
        assert config.data.rows._target_ == whole.data.rows._target_
    text = instantiate(config.data)
    rows = text.read()
    assert (len(rows), text.num_columns) == (ROWS, columns)


@pytest.mark.parametrize("word", [
    "trainer.batch_size=64", "trainer.max_length=100", "trainer.lr=1", "trainer.max_steps=5", "trainer.devices=2",
    "trainer.epochs=3", "trainer.precision=bf16", "trainer.stop_on_collapse=true", "trainer.schedule_steps=9",
    "trainer.select=null", "trainer.watch=[sts]", "model.pooling=cls", "data.limit=40",
    "data.columns=[sent0,sent1]", "eval.sts.tasks=[STS12]", "eval.stsb.with_sickr=true",
    "objective.head.hidden=128", "objective.head.out=null",
])  # fmt: skip
def test_a_typed_word_wins(tmp_path, caplog, word):
    key, _, value = word.partition("=")
    line = ["smoke=true", f"paths.cache={tmp_path}", "objective=barlow", "data=nli", "augmentation=none"]
    with caplog.at_level("INFO", "cse"):
        config = fitted(*line, word)
    kept = OmegaConf.select(config, key)
    assert spell_value(OmegaConf.to_object(kept) if OmegaConf.is_config(kept) else kept) == value
    assert (caplog.messages, key in config.replaced) == ([], False)


@pytest.mark.parametrize(("word", "used"), [
    ("model.name=hub/bert-large", "bert1024"), ("trainer.batch_size=4096", "320"), ("model.num_layers=6", "null"),
    ("trainer.select=dev/transfer/average", "dev/stsb/spearman"), ("trainer.watch=[geometry,stsb]", "[stsb]"),
    ("eval.geometry.threshold=3", "null"), ("aux_modality.data.batch_size=48", "16"),
    ("aux_modality.init=vit", "random"), ("aux_modality.weights=hub/vit", "null"),
])  # fmt: skip
def test_a_typed_word_that_needs_real_weights_or_data_is_named(tmp_path, caplog, word, used):
    words = ["smoke=true", f"paths.cache={tmp_path}", "eval=[stsb,geometry,transfer]", "aux_modality=visual"]
    with caplog.at_level("INFO", "cse"):
        fitted(*words, word)
    said = [message for message in caplog.messages if "left out" not in message]
    assert len(said) == 1
    assert word in said[0]
    assert used in said[0]


def test_a_prefix_is_left_out_where_each_byte_is_a_token(tmp_path):
    words = ["smoke=true", f"paths.cache={tmp_path}", "model=qwen3_embedding"]
    assert fitted(*words).model.prefix is None
    assert fitted(*words, "model.prefix=A: ").model.prefix == "A: "


def test_spans_that_are_typed_fit_into_made_up_rows(tmp_path):
    words = ["smoke=true", f"paths.cache={tmp_path}", "objective=declutr", "data=openwebtext"]
    for more, used in ((["augmentation.min_length=32"], (16, 16)), (["augmentation.max_length=8"], (4, 8))):
        spans = fitted(*words, *more).augmentation
        assert (spans.min_length, spans.max_length) == used


def test_what_a_sweeps_yaml_sets_is_not_typed(tmp_path):
    words = ["trainer.batch_size=512", "trainer.max_steps=100", "hydra.mode=RUN", "resume=auto", "trainer.max_steps=3"]
    trainer = fitted("smoke=true", f"paths.cache={tmp_path}", *words).trainer
    assert (trainer.batch_size, trainer.max_steps) == (32, 3)
    assert trainer.epochs >= 3  # so that the steps are reached


def test_an_encoder_and_a_teacher_that_are_here_are_used_as_they_are(tmp_path):
    own = [f"model.name={tmp_path}", "model.num_layers=3", f"objective.teacher={tmp_path}"]
    config = fitted("smoke=true", f"paths.cache={tmp_path}/cache", "objective=gist", *own)
    assert (config.model.name, config.model.num_layers, config.objective.teacher) == (str(tmp_path), 3, str(tmp_path))


@pytest.mark.parametrize(("more", "rows"), [
    ([], 64), (["data.limit=null"], 500), (["data.limit=0.5"], 250), (["data.limit=7"], 7),
    (["trainer.batch_size=128"], 128),
])  # fmt: skip
def test_text_that_is_typed_is_read_and_cut(tmp_path, more, rows):
    (tmp_path / "mine.txt").write_text("".join(f"sentence {number}\n" for number in range(500)))
    words = ["smoke=true", "data=text", f"data.path={tmp_path}/mine.txt", *more]
    text = instantiate(fitted(*words, f"paths.cache={tmp_path}").data)
    read = text.read()
    assert (len(read), read.text(0)) == (rows, "sentence 0")


@pytest.mark.parametrize(
    ("aux", "key", "limit"), [("visual", "paths.images", "classes"), ("audio", "paths.audio", "speakers")]
)
def test_images_and_sound_that_are_typed_are_used_and_cut(tmp_path, aux, key, limit):
    words = ["smoke=true", f"aux_modality={aux}", f"paths.cache={tmp_path}"]
    made, own = (fitted(*words, *more) for more in ([], [f"{key}=/mine"]))
    assert made.aux_modality.data.folder.startswith(str(tmp_path))
    assert own.aux_modality.data.folder == "/mine"
    assert own.aux_modality.data[limit] == 4


def test_what_is_deleted_on_the_line_stays_away(tmp_path):
    words = ["smoke=true", f"paths.cache={tmp_path}", "eval=[stsb,sts]", "tracker=tensorboard"]
    config = fitted(*words, "~eval.sts", "~tracker.tensorboard")
    assert (list(config.eval), list(config.tracker)) == (["stsb"], [])


@pytest.mark.parametrize(("command", "asked", "scored"), [
    ("evaluate", "sts", ["sts"]), ("evaluate", "sts,transfer", ["sts"]), ("evaluate", "transfer", ["stsb"]),
    ("train", "sts", ["stsb", "sts"]),
])  # fmt: skip
def test_only_what_is_asked_is_scored_and_what_is_left_out_is_named(tmp_path, caplog, command, asked, scored):
    words = ["smoke=true", "model=bert", f"eval=[{asked}]", f"paths.cache={tmp_path}"]
    with caplog.at_level("INFO", "cse"):
        assert list(fitted(*words, command=command).eval) == scored
    assert [all(name in message for name in ("transfer", *scored)) for message in caplog.messages] == [
        True for name in asked.split(",") if name == "transfer"
    ]


@pytest.mark.parametrize("program", ["train", "evaluate"])
def test_score_sets_that_are_typed_are_used(tmp_path, program):
    words = ["smoke=true", "model=bert", "eval=[stsb,sts]", f"paths.cache={tmp_path}"]
    made, own = (fitted(*words, *more, command=program) for more in ([], ["paths.senteval=/nowhere"]))
    assert {made.eval[name].senteval for name in ("stsb", "sts")} == {f"{tmp_path}/smoke/senteval2"}
    assert {own.eval[name].senteval for name in ("stsb", "sts")} == {"/nowhere"}


def test_text_of_ones_own_has_no_unknown_tokens(tmp_path):
    tokenizer = AutoTokenizer.from_pretrained(synthetic.encoder(tmp_path, "roberta"))
    assert tokenizer.tokenize("kadan") == ["kadan"]
    ids = tokenizer("A cat, 你好.", "Sætning").input_ids
    assert tokenizer.unk_token_id not in ids
    assert len(set(ids)) > 15


def test_a_column_that_the_corpus_lacks_fails_in_a_smoke_run_too(tmp_path):
    config = fitted("smoke=true", "data=nli", "data.columns=[sent0,hypothesis]", f"paths.cache={tmp_path}")
    with pytest.raises(UserError, match="hypothesis"):
        instantiate(config.data).read()


def test_an_encoder_that_records_its_pooling_has_one_in_cse_eval_too(tmp_path):
    words = ["model=minilm", "eval=[stsb]", f"paths.cache={tmp_path}"]
    assert fitted(*words, command="evaluate").model.pooling is None
    config = fitted("smoke=true", *words, command="evaluate")
    assert instantiate(config.model).pooling == "mean"


@pytest.mark.parametrize("here", [True, False])
def test_a_checkpoint_is_made_up_unless_it_is_here(tmp_path, here):
    name = str(tmp_path) if here else "hub/bert-large"
    words = ["smoke=true", f"checkpoint={name}", "eval=[stsb]", f"paths.cache={tmp_path}"]
    config = fitted(*words, command="evaluate")
    assert (config.checkpoint == name) == here == ("checkpoint" not in config.replaced)
    assert here or (Path(config.checkpoint).name, config.pooling) == ("bert1024bytes512", "mean")


def test_what_is_replaced_is_kept(tmp_path):
    config = fitted("smoke=true", f"paths.cache={tmp_path}")
    assert config.replaced["model.name"] == "bert-base-uncased"
    assert config.replaced["trainer.max_steps"] is None


def test_the_epochs_that_typed_steps_need_replace_those_of_the_line(tmp_path):
    line = ["objective=simcse_sup", "data=nli", "augmentation=none", f"paths.cache={tmp_path}"]
    config = fitted("smoke=true", "trainer.max_steps=5", *line)
    assert (config.trainer.epochs, config.replaced["trainer.epochs"]) == (5, fitted(*line).trainer.epochs)


@pytest.mark.parametrize("given", [False, True])
def test_only_partial_data_of_the_user_is_named(given, cse_train, senteval, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("CSE_SENTEVAL", raising=False)
    place = [f"paths.senteval={senteval}"] if given else []
    words = ["smoke=true", "dry_run=true", f"paths.cache={tmp_path}", f"hydra.run.dir={tmp_path / 'run'}", *place]
    assert cse_train(words) == 0
    assert ("usable rows" in capsys.readouterr().out) == given
