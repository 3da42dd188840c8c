"""Planned jobs without a run: failed before their first line of work, killed, not started; found wherever one looks."""

import pytest
from run_folders import leave_run

from cse.lab.folder import jobs_file
from cse.lab.folder.jobs_file import jobs_without_run
from cse.lab.folder.status import counted


@pytest.fixture
def sweep(tmp_path):
    """A sweep of five jobs: one is done, one failed, one was killed, one failed without a word in the plan."""
    folder = tmp_path / "runs"
    for name in "abcd":
        (folder / name).mkdir(parents=True)
    words = ["hydra.mode=RUN", "objective=simcse", "trainer.lr=1e-4", "data.path='x,y.txt'", "model.targets=[query]"]
    jobs_file.add_jobs(
        folder, [{"job": name, "program": "cse-train", "words": [*words, f"seed={name!r}"]} for name in "abcde"]
    )
    leave_run(folder / "a", {})
    jobs_file.add_job_end(folder, "b", "failed", "lr: should be greater than 0")
    jobs_file.add_job_end(folder, "c", "killed", "by signal 9")
    (folder / "d" / "job.log").write_text("a line\ncse-train: data.path: there is no such file\n")
    return folder


def states(*folders):
    return {job.folder.name: job.state for job in jobs_without_run(folders)}


def test_each_planned_job_without_a_run_has_its_state(sweep):
    assert states(sweep) == states(sweep.parent) == {"b": "failed", "c": "stopped", "d": "failed", "e": "not started"}
    jobs = jobs_without_run([sweep])
    assert jobs[2].why.startswith("data.path: there is no such file")
    assert counted([job.state for job in jobs]) == "4 runs: 1 not started, 1 stopped, 2 failed"


def test_a_planned_job_has_the_settings_of_its_words(sweep):
    job = jobs_without_run([sweep])[0]
    assert job.get("objective") == "simcse"
    assert (job.get("trainer.lr"), job.get("data.path"), job.get("model.targets")) == (1e-4, "x,y.txt", ["query"])


def test_a_jobs_own_folder_and_one_without_a_plan_tell_too(sweep):
    assert states(sweep / "b") == {"b": "failed"}
    (sweep / jobs_file.PLAN).unlink()
    assert states(sweep) == {"d": "failed"}


def test_a_job_that_is_planned_again_has_not_started(sweep):
    jobs_file.add_jobs(sweep, [{"job": "b", "program": "cse-train", "words": []}])
    assert states(sweep)["b"] == "not started"


def test_the_log_of_an_earlier_start_says_nothing_of_a_job_that_is_planned_again(sweep):
    log = sweep / "d" / jobs_file.LOG
    jobs_file.add_job_end(sweep, "d", "failed", "data.path: there is no such file")
    jobs_file.add_jobs(sweep, [{"job": "d", "program": "cse-train", "words": []}])
    assert states(sweep)["d"] == states(sweep / "d")["d"] == "not started"
    with open(log, "a") as again:
        again.write("cse-train: data.columns: there is no such column\n")
    (job,) = jobs_without_run([sweep / "d"])
    assert (job.state, job.why) == ("failed", f"data.columns: there is no such column ({log})")
    log.write_text("cse-train: new\n")  # the user removed the old one
    assert states(sweep)["d"] == "failed"


def test_a_line_that_a_power_cut_left_incomplete_hides_no_later_one(sweep):
    plan = sweep / jobs_file.PLAN
    plan.write_text(plan.read_text() + '{"ended": "e", "sta')
    jobs_file.add_jobs(sweep, [{"job": "f", "program": "cse-train", "words": []}])
    assert states(sweep)["f"] == "not started"
    plan.write_text(plan.read_text() + '{"ended": "e", "sta')
    jobs_file.add_job_end(sweep, "f", "failed", "lr: should be greater than 0")
    assert states(sweep)["f"] == "failed"


def test_a_search_owes_the_trials_that_it_has_not_asked_for(tmp_path):
    jobs_file.add_jobs(
        tmp_path, [{"search": "x", "trials": 3}, {"job": "a", "program": "cse-train", "words": [], "search": "x"}]
    )
    assert list(states(tmp_path).values()) == ["not started"] * 3
    jobs_file.add_jobs(tmp_path, [{"search": "x", "trials": 1}])  # every point was tried
    assert list(states(tmp_path)) == ["a"]
