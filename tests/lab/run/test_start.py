"""From a command to a job: where the environment asks for what a resumed run does not take, a message says so."""

import logging
from functools import partial

import pytest
from run_folders import leave_run

import cse
from cse.errors import UserError
from cse.lab.run.from_arguments import config_of
from cse.lab.run.resume import started_from
from cse.lab.run.start import tell_ignored_variables, variables_of_settings
from cse.lab.settings.arguments import Argument
from cse.lab.settings.compose import resolved


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
    origin, config = started_from(words), config_of("train", words)
    with caplog.at_level(logging.INFO, logger="cse"):
        tell_ignored_variables(config, origin, words)
    lines = [record.getMessage() for record in caplog.records if "WANDB" in record.getMessage()]
    assert len(lines) == bool(said)
    for part in said:
        assert part in lines[0]
        assert lines[0].startswith(f"{how:<10} WANDB_MODE={now} in the environment is ignored")


@pytest.mark.parametrize("how", ["resume", "rerun"])
def test_a_run_becomes_no_smoke_test_and_a_smoke_test_no_run(tmp_path, how):
    """Its settings were fitted when it was new: real scores would be recorded as made up, or made-up ones as real."""
    for was, word in ((False, "smoke=true"), (True, "smoke=false")):
        settings = resolved(cse.compose(smoke=was))
        run = leave_run(tmp_path / str(was), settings, overrides=["model=bert", f"smoke={str(was).lower()}"])
        with pytest.raises(UserError, match=f"^{word} comes too late for {how}={run}, .* cse-train model=bert {word}$"):
            cse.compose(f"{how}={run}", word)
        assert cse.compose(f"{how}={run}", smoke=was).smoke == was


def test_the_variables_are_those_that_conf_reads():
    found = variables_of_settings()
    assert found["tracker.wandb.mode"] == "WANDB_MODE"
    assert found["paths.cache"] == "CSE_CACHE"
    assert len(found) > 10


@pytest.mark.parametrize(("words", "named"), [
    (["-m", "seed=1,2"], "-m"), (["sweep=nonling/table1"], "sweep=nonling/table1"),
    (["hydra/launcher=submitit_slurm"], "hydra/launcher=submitit_slurm"),
])  # fmt: skip
@pytest.mark.parametrize(
    ("call", "program"), [(cse.train, "cse-train"), (partial(cse.compose, command="evaluate"), "cse-eval")]
)
def test_what_starts_several_jobs_is_named(call, program, words, named):
    with pytest.raises(UserError, match=f"^{named} starts several jobs, .*: {program} {named}$"):
        call(*words)
