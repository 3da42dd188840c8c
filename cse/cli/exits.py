"""How a command of ours ends: an error is one sentence on standard error, and an exit code.

Of the processes of torchrun, accelerate and srun the first one speaks for all.
"""

import errno
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cse.cli.streams import tolerate_broken_pipe
from cse.columns import PrintableHandler, printable
from cse.errors import Interrupted, RunError, UserError
from cse.files import NO_PLACE, cannot_write
from cse.run import slurm

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # a disk, a quota, a file's limit
FIRST = 10.0  # seconds in which a launcher ends the others, once the first process has failed


@contextmanager
def exit_on_error() -> Iterator[None]:
    """A command's work: it outlives the readers of what it prints, and its error ends this process as `ending` says."""
    tolerate_broken_pipe()
    logging.lastResort = PrintableHandler(sys.stderr)  # of what is said where there is no log
    logging.lastResort.setLevel(logging.WARNING)
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        if slurm.is_follower():
            let_the_first_speak()
            if isinstance(error, Interrupted):  # srun --kill-on-bad-exit would end the first for our code
                sys.exit(0)
        ended = ending(error)
        if ended is None:
            raise
        sys.exit(complain(*ended))


def ending(error: BaseException) -> tuple[str, int] | None:
    """The sentence for an error and its exit code; None where only the traceback tells what happened."""
    match error:
        case UserError():
            return str(error), 2
        case RunError():
            return str(error), 1
        case Interrupted():
            return str(error), error.code
        case KeyboardInterrupt():
            return "stopped", 130  # as a shell says it of Ctrl-C
        case OSError() if error.errno in (*NO_PLACE, *FULL):
            return ending(cannot_write(error.filename or "the run's folder or the cache", error))
    return None


def let_the_first_speak() -> None:
    """Wait until this process is ended, or until the first one would have said what is wrong.

    What is wrong is mostly wrong in all of them, or follows from the first one's end. One that its launcher ends has no
    code of its own: srun exits with the largest, which is then the first one's.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    slurm.release()
    time.sleep(FIRST + int(os.environ.get("LOCAL_RANK", "0")))


def complain(message: str, code: int) -> int:
    """Print one sentence on stderr, and return the exit code that goes with it.

    torchrun and accelerate read it in a file, for the last lines of their own report.
    """
    sentence = f"{Path(sys.argv[0]).name}: {message}"
    if file := os.environ.get("TORCHELASTIC_ERROR_FILE"):
        failure = {"message": sentence, "extraInfo": {"timestamp": int(time.time())}}
        Path(file).write_text(json.dumps({"message": failure}), encoding="utf-8")
    print(printable(sentence), file=sys.stderr)
    return code
