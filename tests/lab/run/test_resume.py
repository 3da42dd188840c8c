"""`resume=FOLDER`: a run's settings are data. Nothing in a folder is composed, interpolated or run as code."""

import json
import logging
import re
from pathlib import Path

import pytest
from omegaconf import DictConfig, OmegaConf
from run_folders import leave_run

import cse
from cse.errors import UserError
from cse.lab.run.from_arguments import config_of
from cse.lab.run.job import Job
from cse.lab.run.resume import earlier_run, log_ignored_variables, resume_hint, variables_of_settings
from cse.lab.settings import groups
from cse.lab.settings.arguments import Argument
from cse.lab.settings.compose import without_hydra
from cse.lab.settings.references import resolved

SETTINGS = resolved(cse.compose("objective=barlow", "smoke=true", "tracker=tensorboard", "trainer.lr=3e-5"))


@pytest.fixture
def run(tmp_path) -> Path:
    """A run's folder with its settings alone."""
    return write_run(tmp_path / "run", SETTINGS)


def write_run(folder: Path, settings: dict) -> Path:
    return leave_run(folder, settings, status="killed", overrides=())


def resumed(run: Path, words: list[str]) -> DictConfig:
    return config_of("train", list(map(Argument, [f"resume={run}", *words])))


def changed(key: str, value: object) -> dict:
    """The settings with another value at a dotted key."""
    settings = json.loads(json.dumps(SETTINGS))
    *parents, last = key.split(".")
    node = settings
    for parent in parents:
        node = node[parent]
    node[last] = value
    return settings


@pytest.mark.parametrize("evals", ["stsb", ",".join(groups.choices("eval"))], ids=["one", "every"])
def test_the_settings_are_those_of_the_run(tmp_path, evals):
    settings = resolved(cse.compose(f"eval=[{evals}]")) | {"choices": {"eval": evals}}
    config = resumed(write_run(tmp_path / "run", settings), [])
    assert resolved(without_hydra(config)) == settings | {"resume": "auto"}


def test_typed_words_override_the_runs_and_some_keys_are_not_taken_from_it(tmp_path):
    run = write_run(tmp_path / "run", changed("dry_run", True) | {"resume": "elsewhere"})
    words = ["trainer.max_steps=8", "~tracker.tensorboard", "paths.cache=/c", "model.pooling=mean"]
    config = resumed(run, words)
    assert (config.trainer.max_steps, config.tracker, config.paths.cache) == (8, {}, "/c")
    assert (config.dry_run, config.resume) == (False, "auto")
    assert config.objective._target_ == "cse.objective.barlow.Barlow"
    assert resumed(run, [*words, "dry_run=yes"]).dry_run is True


def test_the_tracker_is_that_of_the_run_unless_a_key_is_typed(tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "online")
    settings = resolved(cse.compose("smoke=true", "tracker=wandb", "tracker.wandb.entity=us"))
    run = write_run(tmp_path / "run", settings)
    monkeypatch.setenv("WANDB_MODE", "offline")
    assert (resumed(run, []).tracker.wandb.mode, resumed(run, []).tracker.wandb.entity) == ("online", "us")
    assert resumed(run, ["tracker.wandb.mode=offline"]).tracker.wandb.mode == "offline"
    assert resumed(run, ["~tracker.wandb"]).tracker == {}


@pytest.mark.parametrize("word", ["model=roberta", "objective=simcse", "eval=[stsb]", "eval=null", "tracker=none",
                                  "paths=cluster", "variant=released", "experiment=demo"])  # fmt: skip
def test_a_choice_beside_a_run_is_refused(run, word):
    for origin in ("resume", "rerun"):
        with pytest.raises(UserError, match=rf"{word.partition('=')[0]}=.* {origin}={run}.* start a new run"):
            cse.train(f"{origin}={run}", word)


def test_settings_that_refer_to_a_typed_key_follow_it(tmp_path):
    settings = resolved(cse.compose("eval=[stsb,mteb]", "eval.stsb.allow_partial=true", "paths.senteval=/old"))
    settings |= {"choices": {"objective": "simcse", "eval": "stsb,mteb", "recipe": "../../x", "model": "nowhere"}}
    config = resumed(write_run(tmp_path / "run", settings), ["paths.senteval=/new", "paths.cache=/c"])
    assert (config.eval.stsb.senteval, config.data.cache_dir, config.eval.mteb.cache) == ("/new", "/c", "/c/mteb")
    config = resumed(tmp_path / "run", ["allow_partial=false", "eval.stsb.senteval=/own", "paths.senteval=/new"])
    assert (config.eval.stsb.allow_partial, config.eval.stsb.senteval) == (True, "/own")


def test_a_folder_that_only_another_machine_has_is_this_machines(tmp_path, monkeypatch):
    monkeypatch.setenv("CSE_CACHE", str(tmp_path))
    settings = resolved(cse.compose("paths.cache=/elsewhere/cache", "paths.images=/elsewhere/images"))
    config = config_of("train", [Argument(f"rerun={write_run(tmp_path / 'run', settings)}")])
    assert (config.paths.cache, config.data.cache_dir) == (str(tmp_path), str(tmp_path))
    assert config.paths.images == "/elsewhere/images"  # this machine names none: the refusal says which is missing


def test_references_inside_a_group_and_to_another_follow_too(tmp_path):
    """Such as the name by which a corpus's local copy is found."""
    settings = resolved(cse.compose("data=openwebtext", "data.rows.min_units=9"))
    run = write_run(tmp_path / "run", settings | {"choices": {"data": "openwebtext", "eval": "stsb"}})
    words = ["data.rows.limit=7", "paths.senteval=/cluster", "paths.cache=/c"]
    config = config_of("train", list(map(Argument, [f"rerun={run}", *words])))
    assert re.fullmatch(r"Skylion007/openwebtext/min=9/.*/limit=7", config.data.identity)
    assert (config.eval.stsb.senteval, config.data.cache_dir) == ("/cluster", "/c")


def test_a_setting_of_the_trainer_that_is_newer_than_the_run_has_its_default(tmp_path):
    settings = SETTINGS | {"trainer": {key: value for key, value in SETTINGS["trainer"].items() if key != "keep_last"}}
    assert resumed(write_run(tmp_path / "run", settings), []).trainer == SETTINGS["trainer"]


def test_a_typed_word_deletes_or_replaces_a_list(run):
    config = resumed(run, ["~eval.sts", "trainer.watch=[stsb,sts,mteb]"])
    assert (list(config.eval), config.trainer.watch) == (["stsb"], ["stsb", "sts", "mteb"])
    assert resumed(run, ["trainer.watch=[]"]).trainer.watch == []
    assert resumed(run, ["~tracker.tensorboard"]).tracker == {}
    for word in ("~eval.mteb", "~trainer.log_every=3"):
        with pytest.raises(UserError, match=word):
            resumed(run, [word])


@pytest.mark.parametrize("word", ["trainer.lrr=1", "objective.temperature=1", "trainer.lr=-1", "experiment=demo",
                                  "tracker=nowhere", "+trainer.lrr=1"])  # fmt: skip
def test_a_typed_word_is_checked_as_for_a_new_run(run, word):
    with pytest.raises(UserError, match=word.partition("=")[0].lstrip("+")):
        cse.train(f"resume={run}", word)


@pytest.mark.parametrize(("key", "value"), [
    ("trainer.lr", -1), ("trainer.schedule", "${oc.env:HOME}"), ("note", "${hydra:run.dir}"),
    ("objective._target_", "os.system"), ("model.trust_remote_code", True),
    ("objective.head", {"_target_": "cse.files.recover", "path": "/tmp/x"}),
    ("model._target_", "cse.lab.tracking.wandb.Wandb"), ("model._partial_", True), ("trainer._args_", [1]),
    ("trainer.select", {"_target_": "cse.training.settings.Trainer"}),
    ("objective.head._target_", "cse.data.text.Text"),
    ("model.dtype", {"_target_": "builtins.eval", "_args_": ["1"]}), ("eval", [{"_target_": "os.getcwd"}]),
])  # fmt: skip
def test_settings_that_name_code_are_refused_by_key(tmp_path, key, value):
    run = write_run(tmp_path / "run", changed(key, value))
    with pytest.raises(UserError, match=key.rpartition("._target_")[0] or key):
        cse.train(f"resume={run}")


def test_hydras_files_are_not_read(run, tmp_path):
    hydra = run / ".hydra"
    hydra.mkdir()
    (hydra / "overrides.yaml").write_text("- +hydra.callbacks.x._target_=os.getcwd\n- trainer.lr=1\n")
    (hydra / "hydra.yaml").write_text(f"hydra: {{run: {{dir: {tmp_path}/elsewhere}}, job: {{name: ../../x}}}}\n")
    (hydra / "config.yaml").write_text("trainer: {lr: 1}\n")
    config = resumed(run, [])
    assert config.trainer.lr == 3e-5
    assert not config.hydra.callbacks
    assert config.hydra.job.name == "train"


@pytest.mark.parametrize("text", ["", "[1]", "config: [1]", "config: {", "config: {seed: 1}",
                                  "config: {trainer: {lr: 1}, data: [1]}", "config: {trainer: [1]}", "\0"])  # fmt: skip
def test_a_file_without_settings_is_named(tmp_path, text):
    (tmp_path / "run.yaml").write_text(text)
    with pytest.raises(UserError, match=r"run\.yaml"):
        cse.train(f"resume={tmp_path}")


def test_for_a_folder_of_runs_the_newest_is_named(tmp_path):
    (tmp_path / "day").mkdir()
    write_run(tmp_path / "day" / "late", SETTINGS)
    with pytest.raises(UserError, match="day/late"):
        cse.train(f"resume={tmp_path}")


def test_a_part_of_the_users_own_needs_its_folder_or_its_name_on_the_line(tmp_path, monkeypatch):
    monkeypatch.setenv(groups.FOLDERS_VARIABLE, "")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "nearby_part.py").write_text(
        "from cse.types import Objective\n"
        "class Nearby(Objective):\n    def __init__(self, dim): pass\n    def forward(self, views): pass\n"
    )
    run = write_run(tmp_path / "run", SETTINGS | {"objective": {"_target_": "nearby_part.Nearby"}})
    with pytest.raises(UserError, match="--config-dir"):
        resumed(run, [])
    (tmp_path / "conf" / "objective").mkdir(parents=True)
    (tmp_path / "conf" / "objective" / "nearby.yaml").write_text("_target_: nearby_part.Nearby\n")
    monkeypatch.setenv(groups.FOLDERS_VARIABLE, str(tmp_path / "conf"))
    (tmp_path / "conf" / "objective" / "other.yaml").write_text("_target_: x\ny: z: 1\n")  # which nothing reads
    assert resumed(run, []).objective._target_ == "nearby_part.Nearby"
    (tmp_path / "conf" / "objective" / "other.yaml").write_bytes("# größer\n_target_: x\n".encode("latin-1"))
    with pytest.raises(UserError, match=r"other\.yaml:1 is not UTF-8"):
        resumed(run, [])
    monkeypatch.setenv(groups.FOLDERS_VARIABLE, "")
    assert resumed(run, ["objective._target_=nearby_part.Nearby"]).objective._target_ == "nearby_part.Nearby"


def test_a_part_of_ours_that_a_file_of_the_users_changes_is_known(tmp_path, monkeypatch):
    """Its keys come from two files: conf/'s says that it is partial, theirs what is called."""
    (tmp_path / "conf" / "objective").mkdir(parents=True)
    own = "defaults: [simcse, _self_]\nhead: {_target_: torch.nn.Tanh}\n"
    (tmp_path / "conf" / "objective" / "tanh.yaml").write_text(own)
    monkeypatch.setenv(groups.FOLDERS_VARIABLE, str(tmp_path / "conf"))
    settings = resolved(cse.compose("objective=tanh")) | {"choices": {"objective": "tanh"}}
    assert resumed(write_run(tmp_path / "run", settings), []).objective.head._target_ == "torch.nn.Tanh"
    monkeypatch.setenv(groups.FOLDERS_VARIABLE, "")
    with pytest.raises(UserError, match=r"torch\.nn\.Tanh"):
        resumed(tmp_path / "run", [])


@pytest.mark.parametrize(("words", "before"), [
    (["resume=a", "resume=b/c"], ("resume", Path("b/c"))), (["resume='a b'"], ("resume", Path("a b"))),
    (["resume=auto"], None), (["resume=null"], None), (["seed=1"], None), (["rerun=a"], ("rerun", Path("a"))),
])  # fmt: skip
def test_the_run_that_a_line_starts_from(words, before):
    assert earlier_run(list(map(Argument, words)), "train") == before
    with pytest.raises(UserError, match="rerun="):
        earlier_run([Argument("resume=a"), Argument("rerun=b")], "train")


@pytest.mark.parametrize(("recorded", "now", "typed", "said"), [
    ("online", "offline", [], ["tracker.wandb.mode=online", "give tracker.wandb.mode=offline"]),
    ("online", "online", [], []),
    ("online", "", [], []),
    ("online", "disabled", ["tracker.wandb.mode=offline"], []),
    ("online", "offline", ["~tracker.wandb"], []),
])  # fmt: skip
@pytest.mark.parametrize("how", ["resume", "rerun"])
def test_a_variable_that_a_resumed_run_ignores_is_named(tmp_path, monkeypatch, caplog, how, recorded, now, typed, said):
    monkeypatch.setenv("WANDB_MODE", recorded)
    settings = resolved(cse.compose("smoke=true", "tracker=wandb", "tracker.wandb.tags=[a,b]"))
    run = leave_run(tmp_path / "run", settings, status="killed", overrides=())
    monkeypatch.setenv("WANDB_MODE", now)
    monkeypatch.setenv("WANDB_TAGS", "a,b")  # as it is recorded
    words = list(map(Argument, [f"{how}={run}", *typed]))
    earlier, config = earlier_run(words, "train"), config_of("train", words)
    with caplog.at_level(logging.INFO, logger="cse"):
        log_ignored_variables(earlier, config, words)
    lines = [record.getMessage() for record in caplog.records if "WANDB" in record.getMessage()]
    assert len(lines) == bool(said)
    for part in said:
        assert part in lines[0]
        assert lines[0].startswith(f"{how:<10} WANDB_MODE={now} in the environment is ignored")


def test_the_variables_are_those_that_conf_reads():
    found = variables_of_settings()
    assert found["tracker.wandb.mode"] == "WANDB_MODE"
    assert found["paths.cache"] == "CSE_CACHE"
    assert len(found) > 10


@pytest.mark.parametrize("how", ["resume", "rerun"])
def test_a_run_becomes_no_smoke_test_and_a_smoke_test_no_run(tmp_path, how):
    """Its settings were fitted when it was new: real scores would be recorded as made up, or made-up ones as real."""
    for was, word in ((False, "smoke=true"), (True, "smoke=false")):
        settings = resolved(cse.compose(smoke=was))
        run = leave_run(
            tmp_path / str(was), settings, overrides=["model=bert", f"smoke={str(was).lower()}", "hydra.mode=RUN"]
        )
        with pytest.raises(UserError, match=f"^{word} cannot change {how}={run}: .* cse-train model=bert {word}$"):
            cse.compose(f"{how}={run}", word)
        assert cse.compose(f"{how}={run}", smoke=was).smoke == was


@pytest.mark.parametrize(
    ("writes", "saved", "hint"),
    [
        (True, "last", "to continue: cse-train 'resume={}'"),
        (True, "run.yaml", "nothing is saved yet; to start again: cse-train 'resume={}'"),
        (True, "plots", "nothing is saved yet"),
        (False, "last", "nothing was trained"),
    ],
)
def test_the_hint_is_a_command_that_works(tmp_path, writes, saved, hint):
    folder = tmp_path / "a run"
    folder.mkdir()
    (folder / saved).touch() if saved == "run.yaml" else (folder / saved).mkdir()
    cfg = OmegaConf.create({"trainer": {}, "data": {"preview": 0}, "dry_run": not writes})
    assert resume_hint(Job("train", cfg, [], folder)) == hint.format(folder)
