"""Whether the hub is asked: the environment's words, a proxy, a hub that answers and one that does not."""

import logging

import pytest

from cse.run import startup


@pytest.fixture
def environment(monkeypatch):
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    return monkeypatch


def test_a_hub_that_does_not_answer_is_not_asked_again(environment):
    environment.setenv("HF_DATASETS_OFFLINE", "")  # so that it is put back after the test
    environment.setenv("HF_HUB_OFFLINE", "")
    assert not startup.settle_hub()
    assert startup.os.environ["HF_HUB_OFFLINE"] == startup.os.environ["HF_DATASETS_OFFLINE"] == "1"


def test_a_hub_that_answers(environment, toy_hub):
    environment.setenv("HF_ENDPOINT", toy_hub.url)
    assert startup.settle_hub()


@pytest.mark.parametrize("word", ["0", "no", "false"])
def test_offline_0_is_not_offline(environment, toy_hub, word):
    environment.setenv("HF_ENDPOINT", toy_hub.url)
    environment.setenv("HF_HUB_OFFLINE", word)
    assert startup.settle_hub()
    environment.setenv("HF_HUB_OFFLINE", "1")
    assert not startup.settle_hub()


def test_behind_a_proxy_the_hub_is_not_tried_directly(environment):
    environment.setenv("https_proxy", "http://127.0.0.1:9")
    assert startup.settle_hub()


def test_the_clients_are_quiet(toy_hub, caplog):
    from cse import hub

    caplog.set_level(logging.INFO)
    startup.quiet()
    toy_hub.add("datasets/lab/corpus", {"lines.txt": b"a line\n"})
    hub.file(hub.Repo("lab/corpus", "dataset", "data=corpus", "use data=text"), "lines.txt")
    assert {record.name for record in caplog.records} == {"cse.hub", "cse.download"}
