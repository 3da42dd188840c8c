"""SIGKILL at random moments, from the start of Python to the last file: each run is resumed and ends bit-identical.

CSE_FAULTS_KILLS is the number of kills of each kind of run: 2 unless it is set. All processes of a run die at once.
"""

import os
import random
import signal
import subprocess
import time

import pytest
from killed import arguments, assert_same_run

pytestmark = pytest.mark.slow
KILLS = int(os.environ.get("CSE_FAULTS_KILLS", 2))
KINDS = {"one process": [], "two processes": ["trainer.devices=2"]}


@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_random_ends_the_same(small_run, tmp_path, kind):
    more = KINDS[kind]
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
    assert not [path for path in killed.rglob("*") if path.suffix in (".tmp", ".old")]
