"""Whether the hub is asked: the environment's words, a proxy, a hub that answers and one that does not."""

import logging
import os

import pytest

from cse.run import startup


@pytest.fixture
def environment(monkeypatch):
    proxies = [name for name in os.environ if name.lower().endswith("_proxy")]
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", *proxies):
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


@pytest.mark.parametrize(("scheme", "name"), [("https", "https_proxy"), ("http", "HTTP_PROXY"), ("http", "all_proxy")])
def test_behind_a_proxy_the_hub_is_not_tried_directly(environment, scheme, name):
    environment.setenv("HF_ENDPOINT", f"{scheme}://127.0.0.1:9")
    environment.setenv(name, "http://127.0.0.1:9")
    assert startup.settle_hub()


def test_a_proxy_that_is_not_for_the_hub_changes_nothing(environment):
    environment.setenv("HF_DATASETS_OFFLINE", "")  # so that it is put back after the test
    environment.setenv("HF_HUB_OFFLINE", "")
    environment.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    environment.setenv("no_proxy", "127.0.0.1")
    assert not startup.settle_hub()


def test_the_clients_are_quiet(toy_hub, caplog):
    from cse.sources import hub

    caplog.set_level(logging.INFO)
    startup.quiet()
    toy_hub.add("datasets/lab/corpus", {"lines.txt": b"a line\n"})
    hub.file(hub.Repo("lab/corpus", "dataset", "data=corpus", "use data=text"), "lines.txt")
    assert {record.name for record in caplog.records} == {"cse.sources.hub"}
