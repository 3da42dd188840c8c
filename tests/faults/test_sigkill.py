"""SIGKILL at random moments, from the start of Python to the last file: each run resumes and ends bit-identical.

CSE_FAULTS_KILLS sets the kills of each kind of run (1). All processes of a run die at once.
"""

import os
import random
import signal
import subprocess
import time

import pytest
from killed import arguments, assert_same_run

pytestmark = pytest.mark.nightly
KILLS = int(os.environ.get("CSE_FAULTS_KILLS", 1))
KINDS = {
    "one process": [],
    "two processes": ["trainer.devices=2"],
    "images beside text": [],
    "chunks": ["trainer.chunk=3"],
    "LoRA": ["model.lora={r:4,alpha:8,dropout:0.1}"],
}


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_random_ends_the_same(small_run, tmp_path, images, kind):
    more = [*KINDS[kind], *(images if kind == "images beside text" else [])]
    if kind == "LoRA":
        pytest.importorskip("peft", reason="needs peft (pip install .[lora])")
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    started = time.monotonic()
    subprocess.run(arguments(small_run, straight, *more), check=True, capture_output=True)
    seconds = time.monotonic() - started
    command = arguments(small_run, killed, *more, "resume=auto")
    moments = random.Random(kind)
    for _ in range(KILLS):
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        time.sleep(moments.uniform(0.2, 1) * seconds)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run(command, check=True, capture_output=True)
    assert_same_run(straight, killed)
    assert not list(killed.rglob(".cse-*"))
