"""Whether the hub is used: by the environment, by a proxy, and by whether it answers."""

import logging
import os

import pytest

from cse.errors import UserError
from cse.lab.run import startup

NOBODY = "http://127.0.0.1:9"


@pytest.mark.parametrize(("words", "can_be_used"), [
    ("HF_ENDPOINT=HUB", True),
    ("HF_ENDPOINT=HUB HF_HUB_OFFLINE=no", True),
    ("HF_ENDPOINT=HUB HF_HUB_OFFLINE=1", False),
    ("", False),
    (f"https_proxy={NOBODY} HF_ENDPOINT=https://127.0.0.1:9", True),
    (f"HTTP_PROXY={NOBODY}", True),
    (f"all_proxy={NOBODY}", True),
    (f"HTTP_PROXY={NOBODY} no_proxy=127.0.0.1", False),
])  # fmt: skip
def test_the_hub_is_used_if_it_answers_or_there_is_a_proxy(monkeypatch, toy_hub, words, can_be_used):
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    settings = dict(word.split("=", 1) for word in words.replace("HUB ", f"{toy_hub.url} ").split())
    defaults = {"HF_ENDPOINT": NOBODY, "HF_HUB_OFFLINE": "", "HF_DATASETS_OFFLINE": ""}  # put back after the test
    for name, value in (defaults | settings).items():
        monkeypatch.setenv(name, toy_hub.url if value == "HUB" else value)
    assert startup.settle_hub() == can_be_used
    assert os.environ["HF_HUB_OFFLINE"] == ("1" if not can_be_used else settings.get("HF_HUB_OFFLINE", ""))


@pytest.mark.parametrize(("endpoint", "address"), [
    ("http://mirror", ("mirror", 80)),
    ("https://mirror/hub", ("mirror", 443)),
    ("http://mirror:8080", ("mirror", 8080)),
])  # fmt: skip
def test_a_mirror_is_asked_at_its_own_port(monkeypatch, endpoint, address):
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    assert startup.hub_address()[1:] == address


@pytest.mark.parametrize("endpoint", ["http://mirror:abc", "mirror", "mirror:8080", "ftp://mirror", "http://"])
def test_an_endpoint_that_is_no_address_is_refused(monkeypatch, endpoint):
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    with pytest.raises(UserError, match="HF_ENDPOINT"):
        startup.hub_address()


def test_the_hubs_clients_log_nothing(toy_hub, caplog):
    from cse.sources import hub

    caplog.set_level(logging.INFO)
    startup.quiet()
    toy_hub.add("datasets/lab/corpus", {"lines.txt": b"a line\n"})
    hub.fetch_file(hub.Repo("lab/corpus", "dataset", "data=corpus", "use data=text"), "lines.txt")
    assert {record.name for record in caplog.records} == {"cse.sources.hub"}
