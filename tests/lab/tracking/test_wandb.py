"""W&B offline, against a toy server, and against servers that hang, break or do not exist."""

import json
import logging
import math
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from glob import glob
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import wandb.sdk.lib.console_capture  # noqa: F401 (it wraps the streams at import, which must not be a test's)
from omegaconf import OmegaConf
from toy_wandb import ToyWandb

import cse
from cse.errors import UserError
from cse.lab.tracking.run_info import RunInfo
from cse.lab.tracking.trackers import EventLog
from cse.lab.tracking.wandb import Wandb, has_key
from cse.lab.tracking.wandb_folder import sync_line

CONF = Path(__file__).parents[3] / "conf" / "tracker"
KEY = "0" * 40


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """Without a user's key or settings: an empty home, no WANDB_ variable, and a server that refuses connections."""
    import wandb

    for name in [name for name in os.environ if name.startswith(("WANDB_", "NETRC")) or name.lower().endswith("proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
    wandb.teardown()  # a process reads the settings only once
    yield monkeypatch
    wandb.teardown()


CHOICES = {"objective": "simcse", "model": "bert", "data": "wiki1m", "augmentation": "dropout"}
CONFIG = {"objective": {"temperature": 0.05}, "seed": 3, "choices": CHOICES}
ABOUT = RunInfo("train", CONFIG, "cse-train seed=3", "abc", {"torch": "2"})


def own_keys(mode, **keys):
    own = OmegaConf.to_container(OmegaConf.load(CONF / "wandb.yaml"), resolve=True)["wandb"]
    del own["_target_"], own["_partial_"]
    return {**own, "mode": mode, **keys}


def start(folder, mode, **keys):
    return Wandb(folder, ABOUT, **own_keys(mode, **keys))


def offline_files(folder):
    return sorted(folder.glob("wandb/offline-run-*/*.wandb"))


def inspect(path, *flags):
    wandb = str(Path(sys.executable).parent / "wandb")
    done = subprocess.run(
        [wandb, "leet", "inspect", *flags, "--json", path], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout) if flags else [json.loads(line) for line in done.stdout.splitlines()]


def ours(caplog, level=logging.WARNING):
    mine = [record for record in caplog.records if record.name.startswith("cse.") and record.levelno >= level]
    return [record.getMessage() for record in mine]


def test_an_offline_run_is_written_and_read_back(environment, tmp_path, caplog):
    plt.imsave(tmp_path / "loss.png", [[0.0, 1.0], [1.0, 0.0]])
    run = start(tmp_path, "offline", group="whitenedcse/table4", tags=["mine"])
    sys.stdout.write("said on the console\n")
    run.log({"dev/stsb/spearman": 90.0, "dev/stsb/pearson": 90.0}, 0)  # the untrained encoder
    run.log({"train/loss": 0.5, "dev/stsb/spearman": 79.5, "dev/stsb/pearson": 60.0}, 125)
    run.log({"train/loss": 0.25, "dev/stsb/spearman": 78.0}, 250)
    run.image("curves", tmp_path / "loss.png", 250)
    run.table("scores", ["task", "score"], [["STS12", 70.1]])
    where = run.where
    run.log({"test/sts/average": 76.25}, 250)
    run.finish(1, {"test/sts/average": 76.25, "dev/stsb/spearman": 78.0})
    assert not ours(caplog)  # offline was asked for
    (path,) = offline_files(tmp_path)
    assert where == f"wandb sync {path.parent}"

    summary = inspect(path, "--summary")
    assert (summary["state"], summary["exit_code"]) == ("failed", 1)
    known = {**CHOICES, "seed": 3, "commit": "abc", "versions": {"torch": "2"}}
    assert summary["config"] == {**known, "settings": {"objective": {"temperature": 0.05}}}
    assert (summary["name"], summary["project"], summary["notes"]) == ("simcse-bert-s3", "cse", "cse-train seed=3")
    assert summary["tags"] == ["simcse", "bert", "wiki1m", "dropout", "mine"]
    expected = {"test/sts/average": 76.25, "dev/stsb/spearman": 78.0, "dev/stsb/pearson": 60.0, "train/loss": 0.25}
    assert {name: summary["summary"][name] for name in expected} == expected

    records = inspect(path)
    run = next(record["run"] for record in records if record["type"] == "run")
    assert (run["run_group"], run["job_type"]) == ("whitenedcse/table4", "train")
    axes = {r["metric"].get("glob_name"): r["metric"].get("step_metric") for r in records if r["type"] == "metric"}
    assert axes == {None: None, **dict.fromkeys(("train/*", "dev/*", "test/*"), "train/step")}
    history = [r["history"]["item"] for r in records if r["type"] == "history"]
    for name, points in (("train/loss", [(125, 0.5), (250, 0.25)]), ("test/sts/average", [(250, 76.25)])):
        assert [(line["train/step"], line[name]) for line in history if name in line] == points
    for kept in ("output.log", "media/images/curves_*.png", "media/table/scores_*.json"):
        assert list(path.parent.glob(f"files/{kept}")), kept


def test_the_best_score_so_far_is_a_number_and_a_resumed_run_goes_on_from_it(environment, tmp_path):
    run = start(tmp_path, "offline")
    run.log({"dev/a": math.inf, "dev/b": 2.0, "dev/c": math.nan}, 1, ["dev/b"])
    run.log({"dev/a": 1.0, "dev/b": -math.inf}, 2, ["dev/b"])
    assert run.kept.best == {"dev/a": 1.0, "dev/b": 2.0}
    run.finish(0, {})
    older = {"id": run.kept.id, "best": run.kept.best | {"dev/a": None}}  # as infinity was written before
    (tmp_path / "wandb" / "run.json").write_text(json.dumps(older))
    again = start(tmp_path, "offline", resume_step=2)
    again.log({"dev/a": 0.5, "dev/b": 1.0}, 3, ["dev/b"])
    assert (again.kept.id, again.kept.best) == (run.kept.id, {"dev/a": 0.5, "dev/b": 1.0})
    again.finish(0, {})


def test_a_resumed_run_keeps_its_id_and_a_fresh_one_draws_another(environment, tmp_path):
    """The resumed run knows the best of each dev score (of a distance the least), and one command uploads all pieces
    that are not uploaded yet."""
    scores = [(79.5, 0.3), (math.nan, 0.4), (70.0, 0.2), (60.0, 0.5)]
    ids, best, lines = [], [], []
    for resume_step, (spearman, alignment) in zip((None, 125, 250, None), scores, strict=True):
        run = start(tmp_path, "offline", resume_step=resume_step)
        ids.append(run.run.id)
        run.log({"dev/x/spearman": spearman, "dev/x/alignment": alignment}, 300, ["dev/x/alignment"])
        best.append(tuple(run.kept.best.values()))
        lines.append(run.where)
        run.finish(0, {})
        if resume_step == 125:
            first = offline_files(tmp_path)[0]
            first.with_name(f"{first.name}.synced").touch()  # as `wandb sync` does
        time.sleep(1)  # the name of a piece's folder has seconds
    assert ids[0] == ids[1] == ids[2] != ids[3]
    assert best == [(79.5, 0.3), (79.5, 0.3), (79.5, 0.2), (60.0, 0.5)]
    assert lines[2] == " ".join(["wandb sync", *(str(path.parent) for path in offline_files(tmp_path)[1:3])])


def test_best_is_uploaded_as_an_artifact(environment, tmp_path):
    (tmp_path / "best").mkdir()
    (tmp_path / "best" / "config.json").write_text("{}")
    start(tmp_path, "offline", artifact=True).finish(0, {"test/sts/average": 76.25})
    (path,) = offline_files(tmp_path)
    (artifact,) = [record["artifact"] for record in inspect(path) if record["type"] == "artifact"]
    assert artifact["type"] == "model"
    assert list((tmp_path / "wandb" / "staging").rglob("*"))  # not in the user's home
    assert not [place for place in (tmp_path / "home").rglob("*") if place.is_file()]


def test_two_runs_of_a_process_have_a_staging_area_each(environment, tmp_path):
    for name in "ab":
        (tmp_path / name / "best").mkdir(parents=True)
        (tmp_path / name / "best" / "config.json").write_text("{}")
        start(tmp_path / name, "offline", artifact=True).finish(0, {"test/sts/average": 76.25})
        assert list((tmp_path / name / "wandb" / "staging").rglob("*"))
    assert "WANDB_DATA_DIR" not in os.environ


@pytest.mark.parametrize("step", ["setup", "Settings"])
def test_a_start_that_fails_leaves_no_variable_for_a_later_run(environment, tmp_path, step):
    import wandb

    def refuse(*_, **__):
        raise PermissionError("no")

    with environment.context() as refusing:
        refusing.setattr(wandb, step, refuse)
        with pytest.raises(PermissionError):
            start(tmp_path, "offline")
    assert not {"WANDB_CACHE_DIR", "WANDB_DATA_DIR"} & os.environ.keys()


def kill_service(_=None) -> None:
    """Kill the W&B service that this process has started."""
    found = subprocess.run(["pgrep", "-P", str(os.getpid()), "wandb-core"], capture_output=True, text=True)
    for pid in map(int, found.stdout.split()):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("when", ["midway", "at the end"])
def test_a_dying_service_gets_one_warning(environment, tmp_path, caplog, capfd, when):
    trackers = EventLog(tmp_path, ABOUT, [partial(Wandb, **own_keys("offline"))])
    trackers.log({"train/loss": 1.0}, 1)
    if when == "midway":
        kill_service()
        trackers.log({"train/loss": 0.5}, 2)
    else:
        trackers.trackers[0].submit(kill_service)
    trackers.finish(0, {"test/sts/average": 76.25})
    (warning,) = ours(caplog)
    assert warning.startswith("Wandb ")
    assert "Traceback" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("server", ["none, and no key", "refuses", "never answers"])
def test_without_key_or_server_it_is_offline_with_one_warning(environment, tmp_path, caplog, capfd, server):
    with socket.create_server(("127.0.0.1", 0)) as mute:
        if server != "none, and no key":
            environment.setenv("WANDB_API_KEY", KEY)
        if server == "never answers":  # it accepts the connection and stays silent
            environment.setenv("WANDB_BASE_URL", f"http://127.0.0.1:{mute.getsockname()[1]}")
        run = start(tmp_path, "online", init_timeout=1)
        run.log({"train/loss": 0.5}, 1)
        run.finish(0, {})
    (warning,) = ours(caplog)
    assert ("wandb login" in warning) == (server == "none, and no key")
    assert capfd.readouterr() == ("", "")
    summary = inspect(offline_files(tmp_path)[0], "--summary")
    assert (summary["state"], summary["summary"]["train/loss"]) == ("finished", 0.5)


@pytest.mark.parametrize("given", [None, "mine"])
def test_a_run_that_starts_and_resumes_without_a_server_keeps_its_id(environment, tmp_path, given):
    environment.setenv("WANDB_API_KEY", KEY)
    ids, lines = [], []
    for resume_step in (None, 125):
        run = start(tmp_path, "online", resume_step=resume_step, id=given, init_timeout=1)
        run.log({"train/loss": 0.5}, (resume_step or 0) + 1)
        ids.append(run.run.id)
        lines.append(run.where)
        run.finish(0, {})
        time.sleep(1)  # the name of a piece's folder has seconds
    assert ids[0] == ids[1] == (given or ids[0])
    assert lines[1] == " ".join(["wandb sync", *(str(path.parent) for path in offline_files(tmp_path))])
    assert len(offline_files(tmp_path)) == 2


def test_an_online_run_that_is_resumed_without_a_server_keeps_its_id(toy_wandb, tmp_path):
    ids = []
    for resume_step in (None, 125):
        run = start(tmp_path, "online", resume_step=resume_step, init_timeout=60 if resume_step is None else 1)
        ids.append(run.run.id)
        run.finish(0, {})
        toy_wandb.broken = True
    assert ids[0] == ids[1]
    assert len(offline_files(tmp_path)) == 1


@pytest.mark.parametrize(("machine", "key", "found"), [
    (None, None, False), ("api.wandb.ai", None, False), ("127.0.0.1", None, True), (None, KEY, True),
])  # fmt: skip
def test_a_key_is_found_in_the_environment_and_in_netrc_for_this_host(environment, tmp_path, machine, key, found):
    environment.setenv("NETRC", str(tmp_path / "netrc"))
    if machine is not None:
        (tmp_path / "netrc").write_text(f"machine {machine}\n  login user\n  password {KEY}\n")
    if key is not None:
        environment.setenv("WANDB_API_KEY", key)
    assert has_key() == found


def test_without_a_key_auto_writes_nothing(environment, tmp_path, caplog):
    environment.setenv("NETRC", str(tmp_path / "netrc"))
    run = start(tmp_path, "auto")
    run.log({"dev/stsb/spearman": 80.0}, 1)
    run.finish(0, {"dev/stsb/spearman": 80.0})
    assert not (tmp_path / "wandb").exists()
    assert ours(caplog, logging.INFO) == []


@pytest.fixture
def toy_wandb(environment):
    toy = ToyWandb()
    environment.setenv("WANDB_BASE_URL", toy.url)
    environment.setenv("WANDB_API_KEY", KEY)
    yield toy
    toy.broken = False
    toy.server.shutdown()
    toy.server.server_close()


def test_an_online_run_is_sent_as_it_goes(toy_wandb, tmp_path, caplog):
    caplog.set_level(logging.INFO, "cse")
    run = start(tmp_path, "online", group="grid", init_timeout=60)
    run.log({"train/loss": 0.5, "dev/stsb/spearman": 79.5}, 125)
    run.log({"dev/stsb/spearman": 78.0}, 250)
    run.finish(0, {"test/sts/average": 76.25})
    assert [line.split()[1] for line in ours(caplog, logging.INFO)] == [f"{toy_wandb.url}/me/cse/runs/{run.run.id}"] * 2
    history = [json.loads(line) for line in toy_wandb.lines["wandb-history.jsonl"]]
    assert [(line["train/step"], line["dev/stsb/spearman"]) for line in history] == [(125, 79.5), (250, 78.0)]
    summary = json.loads(toy_wandb.lines["wandb-summary.json"][-1])
    assert (summary["dev/stsb/spearman"], summary["test/sts/average"]) == (79.5, 76.25)
    assert "config.yaml" in toy_wandb.uploaded
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def test_a_server_that_breaks_midway_costs_no_more_than_the_timeout(toy_wandb, tmp_path):
    trackers = EventLog(tmp_path, ABOUT, [partial(Wandb, **own_keys("online", init_timeout=60, finish_timeout=1))])
    trackers.log({"train/loss": 1.0}, 1)
    toy_wandb.broken = True
    began = time.monotonic()
    trackers.finish(0, {"test/sts/average": 76.25})
    assert time.monotonic() - began < 300  # W&B alone would try for days


def test_the_environments_tags_job_type_and_group_apply(environment, tmp_path):
    for name, value in {"TAGS": "aa,bb", "JOB_TYPE": "ablation", "RUN_GROUP": "mine"}.items():
        environment.setenv(f"WANDB_{name}", value)
    keys = OmegaConf.to_container(cse.compose("tracker=offline").tracker.wandb, resolve=True)
    run = Wandb(tmp_path, ABOUT, **{key: value for key, value in keys.items() if not key.startswith("_")})
    run.finish(0, {})
    written = next(record["run"] for record in inspect(offline_files(tmp_path)[0]) if record["type"] == "run")
    assert set(written["tags"]) == {"simcse", "bert", "wiki1m", "dropout", "aa", "bb"}
    assert (written["job_type"], written["run_group"]) == ("ablation", "mine")
    environment.setenv("WANDB_TAGS", "x" * 70)
    with pytest.raises(UserError, match="64"):
        cse.compose("tracker=offline")


def test_an_empty_variable_is_none(environment):
    unset = cse.compose("tracker=offline")
    for name in ("PROJECT", "ENTITY", "RUN_GROUP", "NAME", "JOB_TYPE", "TAGS", "NOTES", "RUN_ID", "MODE"):
        environment.setenv(f"WANDB_{name}", "")
    assert cse.compose("tracker=offline") == unset


def test_a_choice_with_a_long_name_is_a_tag_that_wandb_takes(environment, tmp_path):
    choices = CHOICES | {"data": "d" * 70}
    run = Wandb(tmp_path, replace(ABOUT, config=CONFIG | {"choices": choices}), "offline", "p", 1, 1)
    assert {"simcse", "d" * 64} <= set(run.run.tags)
    run.finish(0, {})


def test_the_seeds_of_a_setting_are_one_group():
    assert {replace(ABOUT, config=CONFIG | {"seed": seed}).group for seed in (1, 2)} == {"simcse-bert-wiki1m-dropout"}
    assert replace(ABOUT, kind="eval").group is None


def test_one_line_uploads_what_all_runs_of_a_folder_logged_offline(environment, tmp_path, caplog):
    """One with a damaged run.json costs a warning."""
    for run, id, sent in (("a", "1", False), ("b b", "2", True), ("b b", "2", False)):
        piece = tmp_path / run / "wandb" / f"offline-run-{sent:d}-{id}"
        piece.mkdir(parents=True)
        (tmp_path / run / "wandb" / "run.json").write_text(json.dumps({"id": id}))
        (piece / "run.wandb.synced").touch() if sent else None
    first, second = tmp_path / "a/wandb/offline-run-0-1", tmp_path / "b b/wandb/offline-run-0-2"
    assert shlex.split(sync_line(tmp_path, ["a", "b b", "c"]))[2:] == [str(first), str(second)]
    assert sync_line(tmp_path, ["c"]) == ""
    (tmp_path / "d/wandb").mkdir(parents=True)
    for damaged in ("", "{}", "[1]", '{"id": 5}'):
        (tmp_path / "d/wandb/run.json").write_text(damaged)
        assert sync_line(tmp_path, ["a", "b b", "d"]) == sync_line(tmp_path, ["a", "b b"])
        assert f"{tmp_path}/d/wandb/run.json is damaged" in caplog.text
        caplog.clear()
    shutil.rmtree(tmp_path / "b b/wandb/offline-run-1-2")
    pattern = shlex.split(sync_line(tmp_path, ["a", "b b"]))[2]
    assert set(glob(pattern)) == {str(first), str(second)}
