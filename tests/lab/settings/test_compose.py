"""Composing a config: in several threads, as a sweep does, and with the sources of data=mixture completed."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from omegaconf import OmegaConf
from omegaconf.errors import InterpolationResolutionError

import cse
from cse.errors import UserError
from cse.lab.settings.compose import complete_sources, composed
from cse.lab.settings.references import guarded_environment

SOURCES = "data.sources={qa:{path:qa.csv,columns:[q,a]},scored:{path:s.csv,columns:[a,b],scores:s,objective:%s}}"


def test_threads_compose_at_once():
    """Hydra has one global state. Each thread has its own config, and none is left behind."""
    with ThreadPoolExecutor(4) as threads:
        seeds = list(threads.map(lambda seed: composed("train", [f"seed={seed}"]).seed, range(12)))
    assert seeds == list(range(12))


def test_a_thread_that_ends_leaves_the_environment_guarded_for_the_others(monkeypatch):
    """A search composes in threads. After the last of them, OmegaConf's own resolver is there again."""
    monkeypatch.setenv("HF_TOKEN", "secret")
    first, second = guarded_environment(), guarded_environment()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    with pytest.raises(InterpolationResolutionError, match="HF_TOKEN"):
        str(OmegaConf.create({"paths": {}, "note": "${oc.env:HF_TOKEN}"}).note)
    second.__exit__(None, None, None)
    assert OmegaConf.create({"paths": {}, "note": "${oc.env:HF_TOKEN}"}).note == "secret"


def test_a_source_has_every_setting_of_a_text_and_of_its_objective():
    cfg = cse.compose("data=mixture", SOURCES % "cosent", "objective=simcse_sup")
    qa, scored = cfg.data.sources.qa, cfg.data.sources.scored
    text = cse.compose("data=text", "data.path=qa.csv").data
    for key in text:
        assert key in ("_target_", "path", "columns", "name", "cache_dir", "preview") or qa[key] == text[key], key
    assert (qa.path, list(qa.columns), qa.objective) == ("qa.csv", ["q", "a"], None)
    own = cse.compose("objective=cosent", "data=text", "data.path=s.csv", "data.columns=[a,b]").objective
    assert scored.objective.temperature == own.temperature
    assert scored.objective._target_ == own._target_


def test_a_source_changes_values_of_its_objective():
    cfg = cse.compose("data=mixture", SOURCES % "{choice:simcse_sup,temperature:0.01,head:none}")
    assert (cfg.data.sources.scored.objective.temperature, cfg.data.sources.scored.objective.head) == (0.01, None)
    assert cfg.objective.temperature != 0.01


def test_a_file_of_ones_own_names_the_sources(tmp_path, monkeypatch):
    folder = tmp_path / "conf" / "data"
    folder.mkdir(parents=True)
    (folder / "tickets.yaml").write_text(
        "defaults: [mixture]\nsources:\n  qa: {path: qa.csv, columns: [q, a]}\n"
        "  scored: {path: s.csv, columns: [a, b], scores: s, objective: {choice: cosent, temperature: 0.1}}\n"
    )
    monkeypatch.setenv("CSE_CONF", str(tmp_path / "conf"))
    cfg = cse.compose("data=tickets", "data.sources.qa.path=other.csv", "data.sources.scored.objective.temperature=0.2")
    assert cfg.data.sources.qa.path == "other.csv"
    assert cfg.data.sources.scored.objective.temperature == 0.2
    assert cfg.data.sources.scored.objective._target_ == "cse.objective.graded.Cosent"


@pytest.mark.parametrize(("sources", "named"), [
    ("data.sources={qa:qa.csv}", [r"data\.sources\.qa=qa\.csv", "a mapping"]),
    ("data.sources={qa:{path:qa.csv,colums:[q,a]}}", [r"data\.sources\.qa\.colums", "columns"]),
    ("data.sources={qa:{path:qa.csv,preview:3}}", [r"data\.sources\.qa\.preview", r"data\.preview"]),
    ("data.sources={qa:{path:qa.csv,limit:-1}}", [r"data\.sources\.qa\.limit=-1"]),
    (SOURCES % "cosentt", [r"data\.sources\.scored\.objective", "cosent"]),
    (SOURCES % "[cosent]", [r"data\.sources\.scored\.objective", "choice: NAME"]),
    (SOURCES % "{choice:cosent,temperature:-1}", [r"data\.sources\.scored\.objective\.temperature=-1"]),
    (SOURCES % "{choice:cosent,temprature:1}", [r"data\.sources\.scored\.objective\.temprature", "temperature"]),
    ("data.sources={}", [r"data\.sources"]),
])  # fmt: skip
def test_a_mistake_in_a_source_is_named_by_its_key(sources, named):
    with pytest.raises(UserError) as refused:
        cse.compose("data=mixture", sources)
    for one in named:
        assert refused.match(one)


def test_completing_sources_again_changes_nothing():
    cfg = cse.compose("data=mixture", SOURCES % "cosent")
    again = OmegaConf.create(OmegaConf.to_container(cfg))
    complete_sources(again)
    assert again == cfg
