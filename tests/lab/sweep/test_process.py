"""One job of a sweep: when it counts as done, which score is its, and what its process is given."""

import subprocess
from pathlib import Path

import pytest
from omegaconf import OmegaConf
from run_folders import leave_run
from typed import jobs_of

from cse.errors import UserError
from cse.files import sha256
from cse.lab.folder.digests import code_digest, named_sums, weights_sum
from cse.lab.folder.runs import Run, read_run
from cse.lab.settings.arguments import Argument
from cse.lab.settings.compose import composed, without_hydra
from cse.lab.settings.groups import KINDS
from cse.lab.sweep import process
from cse.lab.sweep.checks import check_jobs
from cse.lab.sweep.job import PlannedJob

SCORE = {"average": 70.0}


def test_a_finished_run_with_other_settings_does_not_pass_for_done(tmp_path):
    words = ("tracker=none", "objective.m=2", "trainer.precision=auto", "trainer.select=stsb")
    (job,) = jobs_of("whitenedcse/table5", *words)
    config = OmegaConf.to_container(without_hydra(job.config), resolve=True)
    config["trainer"]["select"] = "dev/stsb/spearman"  # as a run records it
    outcomes = []
    for change in ({"precision": "bf16"}, {"workers": 7}, {"lr": 1.0}):  # the machine decides about "auto"
        config["trainer"] |= change
        leave_run(tmp_path, config, SCORE)
        outcomes.append(process.known_outcome(job, tmp_path))
    assert [outcome.state for outcome in outcomes] == ["done before", "done before", "failed"]
    assert "trainer.lr=1.0 (now 3e-05)" in outcomes[-1].detail
    assert "workers" not in outcomes[-1].detail


@pytest.mark.parametrize("program", ["cse-train", "cse-eval"])
def test_a_job_that_read_other_files_does_not_pass_for_done(program, tmp_path):
    text, pairs = tmp_path / "text.txt", tmp_path / "dev.csv"
    for file in (text, pairs):
        file.write_text("as it was")
    words = ["tracker=none"] if program == "cse-train" else ["checkpoint=nowhere", "eval=stsb"]
    config = {} if program == "cse-train" else {"checkpoint": "nowhere"}
    read = {"training_data": {"sha256": {str(text): sha256(text)}},
            "data": {"pairs": {"files": {str(pairs): {"sha256": sha256(pairs)}, "STS12/a.txt": {"sha256": "0"}}}},
            }  # fmt: skip
    job = PlannedJob("a", program, list(map(Argument, words)))
    for code, said in ((code_digest(), ""), ("0" * 16, "computed by other code: cse (before: commit 1a2b)")):
        leave_run(tmp_path, config, SCORE, code=code, git_commit="1a2b", **read)
        outcome = process.known_outcome(job, tmp_path)
        assert (outcome.state, outcome.detail) == ("done before", said)
    for file in (text, pairs):
        file.write_text("as it is now")
    outcome = process.known_outcome(job, tmp_path)
    assert outcome.state == "failed"
    assert f"{text} (other content), {pairs} (other content)" in outcome.detail


def test_a_job_that_ended_after_other_steps_or_scored_another_model_does_not_pass_for_done(tmp_path):
    """Where a YAML has changed since, or the run was resumed for more steps."""
    for program, words, config in (
        ("cse-train", ["trainer.max_steps=5000"], {"trainer": {"max_steps": 100}}),
        ("cse-eval", ["model=minilm"], {"model": {"name": "org/another"}}),
    ):
        leave_run(tmp_path, config, SCORE)
        outcome = process.known_outcome(PlannedJob("a", program, list(map(Argument, words))), tmp_path)
        assert outcome.state == "failed"
        assert "100 (now 5000)" in outcome.detail or "model.name=org/another (now " in outcome.detail


def test_the_table_says_where_training_did_not_help(tmp_path):
    score = {"dev/x/average": 70.0}
    leave_run(tmp_path, {"trainer.select": "dev/x/average"}, score, untrained=score)
    assert process.doubts_about(read_run(tmp_path)) == "no better than before training"


def test_scores_of_a_replaced_encoder_do_not_pass_for_done(tmp_path):
    file = tmp_path / "best" / "model.safetensors"
    file.parent.mkdir()
    file.write_text("weights")
    job = PlannedJob("a", "cse-eval", [Argument(f"checkpoint={tmp_path}"), Argument("eval=stsb")])
    leave_run(tmp_path, {"checkpoint": str(tmp_path)}, SCORE, weights_sum=weights_sum(tmp_path))
    assert process.known_outcome(job, tmp_path).state == "done before"
    file.write_text("others")
    assert process.known_outcome(job, tmp_path).state == "failed"


@pytest.mark.parametrize(("program", "key", "file"), [
    ("cse-eval", "checkpoint", "vectors.txt"),
    ("cse-eval", "checkpoint", "here/pytorch_model.bin"),
    ("cse-eval", "checkpoint", "here/model-00002-of-00002.safetensors"),
    ("cse-eval", "whitening.fit", "sentences.txt"),
    ("cse-train", "model.name", "here/model.safetensors"),
    ("cse-train", "objective.teacher", "here/best/model.safetensors"),
])  # fmt: skip
def test_what_a_setting_names_is_the_same_file(program, key, file, tmp_path):
    place = tmp_path / file
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("as it was")
    named = tmp_path / file.split("/")[0]
    words = [f"{key}={named}", *["objective=rankcse"] * key.startswith("objective")]
    config = composed(KINDS[program], words)
    settings = OmegaConf.to_container(without_hydra(config), resolve=True)
    leave_run(tmp_path, settings, SCORE, named=named_sums(settings))
    job = PlannedJob("a", program, list(map(Argument, words)))
    assert process.known_outcome(job, tmp_path).state == "done before"
    place.write_text("as it is now")
    outcome = process.known_outcome(job, tmp_path)
    assert (outcome.state, f"{key}={named} (other content)" in outcome.detail) == ("failed", True)


def test_text_in_a_folder_is_the_same_files(tmp_path):
    folder = tmp_path / "text"
    folder.mkdir()
    (first := folder / "a.txt").write_text("one")
    leave_run(tmp_path, {"data.path": str(folder)}, SCORE, training_data={"sha256": {str(first): sha256(first)}})
    job = PlannedJob("a", "cse-train", [Argument("tracker=none")])
    assert process.known_outcome(job, tmp_path).state == "done before"
    (second := folder / "b.txt").write_text("two")
    assert "(other content)" in process.known_outcome(job, tmp_path).detail
    first.rename(tmp_path / "a.txt")
    assert "(other content)" in process.known_outcome(job, tmp_path).detail
    second.rename(first)
    assert "(other content)" in process.known_outcome(job, tmp_path).detail
    first.unlink()
    said = process.known_outcome(job, tmp_path).detail
    assert f"{tmp_path} is done, but with data.path={folder} (other content): move it away" in said


def test_an_evaluator_scores_as_it_did(tmp_path):
    """Its settings decide its own scores; where its data lies does not, nor that there is one more evaluator."""
    words = ["checkpoint=nowhere", "eval=[stsb,transfer]"]
    config = OmegaConf.to_container(without_hydra(composed("evaluate", words)), resolve=True)
    leave_run(tmp_path, config, SCORE)
    outcomes = [
        process.known_outcome(PlannedJob("a", "cse-eval", [*map(Argument, words), *map(Argument, more)]), tmp_path)
        for more in (["paths.senteval=elsewhere"], ["eval=[stsb,transfer,sts]"], ["eval.transfer.mode=fast"])
    ]
    assert [outcome.state for outcome in outcomes] == ["done before", "done before", "failed"]
    assert "eval.transfer.mode=test (now fast)" in outcomes[-1].detail


@pytest.mark.parametrize(
    ("metrics", "score"),
    [
        ({"dev/a": 1.0, "dev/b/average": 2.0, "dev/c": 3.0}, ("dev/c", 3.0)),
        ({"dev/a": 1.0, "dev/b/average": 2.0}, ("dev/b/average", 2.0)),
        ({"dev/a": 1.0}, ("dev/a", 1.0)),
        ({"dev/a": None, "dev/c": None}, None),  # null is NaN
        ({}, None),
    ],
)
def test_the_score_of_a_job_is_the_selecting_one_else_an_average(metrics, score):
    results = {"metrics": metrics, "config": {"trainer": {"select": "dev/c"}}}
    known = {name: value for name, value in metrics.items() if value is not None}
    found = process.score_of(Run(Path(), "done", results["config"], {}, known, results))
    assert (found and (found.name, found.value)) == score


def test_wandb_gets_the_sweep_as_group_and_the_job_as_name():
    for tracker in ("wandb", "none"):
        job = jobs_of("whitenedcse/table5", f"tracker={tracker}")[0]
        named = {"tracker.wandb.group=whitenedcse/table5", f"tracker.wandb.name={job.name}"}
        command = process.command_of(job, Path("/a,b/c=d"))
        assert "hydra.run.dir='/a,b/c=d'" in command
        assert named & set(command) == (named if tracker == "wandb" else set())


def test_a_job_imports_nothing_from_the_working_directory(tmp_path):
    (tmp_path / "mine.py").write_text("")
    command = process.command_of(jobs_of("whitenedcse/table5", "tracker=none")[0], tmp_path / "job")
    before_code = command[: command.index("-c")]
    assert subprocess.run([*before_code, "-c", "import mine"], cwd=tmp_path, capture_output=True).returncode == 1


def test_jobs_are_one_group_of_wandb_as_the_environment_or_their_folder_says(tmp_path, monkeypatch):
    def group(folder: Path, *words: str) -> str:
        line = process.command_of(
            PlannedJob("a", "cse-train", [Argument("tracker=offline"), *map(Argument, words)]), folder / "a"
        )
        return next((word.partition("=")[2] for word in line if word.startswith("tracker.wandb.group=")), "")

    monkeypatch.delenv("WANDB_RUN_GROUP", raising=False)
    assert group(tmp_path / "one" / "runs") != group(tmp_path / "two" / "runs")
    assert group(tmp_path / "one" / "runs") == group(tmp_path / "one" / "runs", "seed=2")
    monkeypatch.setenv("WANDB_RUN_GROUP", "mine")
    assert group(tmp_path) == ""  # the job reads it itself


def test_one_id_of_wandb_is_not_for_many_runs(monkeypatch):
    """Also of the second and third job alone; each with its own id is fine, and what has no id starts."""

    def jobs(*words: str) -> list[PlannedJob]:
        return [PlannedJob(f"{seed}", "cse-train", list(map(Argument, [word, f"seed={seed}"])))
                for seed, word in enumerate(words)]  # fmt: skip

    monkeypatch.delenv("WANDB_RUN_ID", raising=False)
    check_jobs(jobs("tracker=offline", "tracker=offline"))
    monkeypatch.setenv("WANDB_RUN_ID", "x")
    check_jobs(jobs("tracker=offline"))
    for words in (["tracker=offline"] * 2, ["tracker=none", "tracker=offline", "tracker=offline"]):
        with pytest.raises(UserError, match=r"id=x \(or WANDB_RUN_ID\).* starts 2 runs"):
            check_jobs(jobs(*words))
    check_jobs(jobs("tracker=none", "tracker=offline"))
    monkeypatch.setenv("WANDB_MODE", "offline")
    with_id = [PlannedJob(name, "cse-train", list(map(Argument, ["tracker=wandb", f"tracker.wandb.id={name}"])))
               for name in ("a", "b", "${no.such}")]  # fmt: skip
    check_jobs(with_id)
    with pytest.raises(UserError, match="starts 2 runs"):
        check_jobs([*with_id, with_id[1]])


def test_only_the_end_of_a_long_log_is_read(tmp_path):
    log = tmp_path / "job.log"
    with open(log, "wb") as file:
        file.truncate(2**36)  # a file with a hole of 64 GB, which takes no room on the disk
        file.seek(2**36)
        file.write(b"\ncse-train: no room\n\n")
    assert process.last_logged_line(log) == "cse-train: no room"
