"""How our commands end: an error is a sentence (one for each missing thing) on standard error, and an exit code.

Of the processes of torchrun, accelerate and srun, only the first reports an error.
"""

import errno
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cse.errors import Interrupted, RunError, UserError
from cse.files import NO_PLACE, cannot_write
from cse.lab.commands.streams import tolerate_broken_pipe
from cse.lab.run import slurm

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # the disk, the quota, the largest size of a file
FIRST = 10.0  # seconds within which a launcher ends the others, once the first process has failed


@contextmanager
def exit_on_error() -> Iterator[None]:
    """Run a command in the block. It outlives the readers of its output; an error becomes a sentence and a code."""
    tolerate_broken_pipe()
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        if slurm.is_follower():
            wait_for_the_first()
            if isinstance(error, Interrupted):  # with our code, srun --kill-on-bad-exit would kill the first
                sys.exit(0)
        ended = sentence_and_code(error)
        if ended is None:
            raise
        sys.exit(report_error(*ended))


def sentence_and_code(error: BaseException) -> tuple[str, int] | None:
    """(sentence, exit code) of an error; None for one that needs its traceback."""
    match error:
        case UserError():
            return str(error), 2
        case RunError():
            return str(error), 1
        case Interrupted():
            return str(error), error.code
        case KeyboardInterrupt():
            return "stopped", 130  # 128 + SIGINT, as in a shell
        case OSError() if error.errno in (*NO_PLACE, *FULL):
            return sentence_and_code(cannot_write(error.filename or "the run's folder or the cache", error))
    return None


def wait_for_the_first() -> None:
    """Wait until this process is ended, or until the first one has had time to report the error.

    Most errors are the same in all processes, or follow from the end of the first. If the launcher ends this one, it
    exits with 0: srun exits with the largest code, which is then the first one's.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    slurm.release()
    time.sleep(FIRST + int(os.environ.get("LOCAL_RANK", "0")))


def report_error(message: str, code: int) -> int:
    """Print one sentence on stderr. Returns the exit code.

    It is also written to the file from which torchrun and accelerate take it for their own report.
    """
    sentence = f"{Path(sys.argv[0]).name}: {message}"
    if file := os.environ.get("TORCHELASTIC_ERROR_FILE"):
        failure = {"message": sentence, "extraInfo": {"timestamp": int(time.time())}}
        Path(file).write_text(json.dumps({"message": failure}), encoding="utf-8")
    print(sentence, file=sys.stderr)
    return code
