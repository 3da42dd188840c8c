"""What is asked before W&B starts: whether its server, or the proxy before it, answers, and whether there is a key."""

import os
import socket
import threading

from cse.tracking.preflight import answers, in_netrc

KEY = "0" * 40


def test_a_server_answers_directly_or_through_its_proxy(monkeypatch):
    for name in [name for name in os.environ if name.lower().endswith("proxy")]:
        monkeypatch.delenv(name)
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        assert answers(url, 600.0)
        monkeypatch.setenv("http_proxy", url)
        assert answers("http://nowhere.invalid", 600.0)  # the proxy is what has to answer
    assert not answers("http://nowhere.invalid", 2.0)


def test_a_slow_name_server_does_not_hold_the_run(monkeypatch):
    over, ended = threading.Event(), threading.Event()

    def slow(*_, **__):
        over.wait(600)
        ended.set()
        raise OSError

    monkeypatch.setattr(socket, "create_connection", slow)
    assert not answers("http://127.0.0.1:9", 0.2)
    assert not ended.is_set()  # and yet it has answered
    over.set()


def test_a_key_in_netrc_is_that_hosts_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    assert not in_netrc("api.wandb.ai")
    (tmp_path / "netrc").write_text(f"machine api.wandb.ai\n  login user\n  password {KEY}\n")
    assert in_netrc("api.wandb.ai")
    assert not in_netrc("elsewhere.example")
