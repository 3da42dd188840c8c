"""The first run with a hub, from the shell: what a user of `cse-train` sees, then from the cache, then offline."""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

CSE_TRAIN = str(Path(sys.executable).parent / "cse-train")
SMALL = ["trainer.max_steps=2", "trainer.batch_size=8", "allow_partial=true"]


@pytest.fixture
def environment(toy_hub, tmp_path) -> dict[str, str]:
    """That of a user with an empty cache, whose hub is the toy."""
    own = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return own | {"HF_HUB_OFFLINE": "0", "HF_DATASETS_OFFLINE": "0", "HF_ENDPOINT": toy_hub.url,
                  "HF_HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "xdg"),
                  "OMP_NUM_THREADS": "1"}  # fmt: skip


@pytest.mark.nightly
def test_first_run_second_run_and_offline(toy_hub, environment, tiny_bert, sentences, senteval, tmp_path):
    """All defaults, but small: BERT by its old name, wiki1m, STS. One download breaks off."""
    toy_hub.moved["bert-base-uncased"] = "google-bert/bert-base-uncased"
    model = Path(shutil.copytree(tiny_bert, tmp_path / "model"))
    (model / "README.md").write_text("---\nlicense: apache-2.0\n---\n")
    toy_hub.add("models/google-bert/bert-base-uncased", model)
    with tarfile.open(tmp_path / "senteval.tar", "w") as archive:
        archive.add(senteval / "STS", "STS")
    wiki1m = sentences.read_bytes() * 5000  # as many rows as were published
    files = {"wiki1m_for_simcse.txt": wiki1m, "senteval.tar": (tmp_path / "senteval.tar").read_bytes()}
    toy_hub.add("datasets/princeton-nlp/datasets-for-simcse", files)

    def run(**more: str) -> tuple[str, int]:
        asked = len(toy_hub.requests)
        line = [CSE_TRAIN, *SMALL, f"paths.cache={tmp_path}/cache"]
        done = subprocess.run(line, cwd=tmp_path, env=environment | more, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout + done.stderr, len(toy_hub.requests) - asked

    toy_hub.breaks = 1  # the client continues where the connection broke off
    first, _ = run()
    assert first.count("fetching") == 3
    for chatter in ("HTTP Request", "httpx", "it/s", "Warning", "Traceback"):
        assert chatter not in first
    assert len(toy_hub.downloads()) >= 3
    fetched = len(toy_hub.downloads())
    second, asked = run()
    assert "fetching" not in second
    assert len(toy_hub.downloads()) == fetched
    assert asked <= 2  # whether the model's newest commit is still the same
    offline, asked = run(HF_HUB_OFFLINE="1")
    assert "fetching" not in offline
    assert asked == 0


def test_through_a_proxy(toy_hub, environment):
    """A hub that only the proxy can reach."""
    toy_hub.add("datasets/lab/corpus", {"lines.txt": b"a line"})
    code = (
        "from cse.sources import hub\n"
        "repo = hub.Repo('lab/corpus', 'dataset', 'data=corpus', 'use data=text')\n"
        "print(hub.fetch_file(repo, 'lines.txt').read_text())"
    )
    proxied = environment | {"HF_ENDPOINT": "http://hub.invalid", "HTTP_PROXY": toy_hub.url}
    done = subprocess.run([sys.executable, "-c", code], env=proxied, capture_output=True, text=True)
    assert done.stdout.strip() == "a line", done.stderr[-2000:]
