"""The end of worker processes."""

import subprocess
import sys

HELD = """
from cse.data.prefetch import prefetch
made = prefetch([1, 2, 3].__getitem__, range(3), workers=1, pin=False)
print(next(made))
"""


def test_workers_end_with_a_process_that_still_holds_their_iterator():
    """As a notebook's last traceback does. They ignore SIGTERM, by which multiprocessing would end them."""
    ended = subprocess.run([sys.executable, "-c", HELD], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "1\n", "")
