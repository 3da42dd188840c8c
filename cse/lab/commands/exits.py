"""How each command ends: an error becomes a message on standard error, and an exit code.

Start at `exit_on_error`, a block in which every command runs. If torchrun, accelerate or srun started several
processes, only the first process reports an error. A command continues if nobody reads its output any more, as in
`cse-train | head -1`.
"""

import errno
import io
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from cse.errors import Interrupted, RunError, UserError
from cse.files import NO_PLACE, cannot_write
from cse.lab.run import slurm
from cse.lab.run.this_process import is_follower
from cse.lab.text_columns import as_shown

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # the disk, the quota, the largest size of a file
FIRST = 10.0  # seconds: after the first process fails, a launcher needs up to this time to end the other processes


@contextmanager
def exit_on_error() -> Iterator[None]:
    """Turn an error of the command in the block into a message and an exit code."""
    tolerate_broken_pipe()
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        if is_follower():
            wait_for_the_first()
            if isinstance(error, Interrupted):  # after a code > 0, srun --kill-on-bad-exit would kill the first process
                sys.exit(0)
        ended = message_and_code(error)
        if ended is None:
            raise
        sys.exit(report_error(*ended))


def message_and_code(error: BaseException) -> tuple[str, int] | None:
    """Return the message and the exit code of an error, or None for an error in the code, which needs a traceback."""
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
            return message_and_code(cannot_write(error.filename or "the run's folder or the cache", error))
    return None


def wait_for_the_first() -> None:
    """Wait until the launcher ends this process, or until the first process has had time to report its error.

    Most errors are the same in all processes, or are caused by the end of the first process. If the launcher ends this
    process, this process exits with 0: srun exits with the largest code of all processes, and so with the first
    process's code.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    slurm.release()
    time.sleep(FIRST + int(os.environ.get("LOCAL_RANK", "0")))


def report_error(message: str, code: int) -> int:
    """Print an error on standard error, and return the exit code.

    If torchrun or accelerate names a file for errors, the error is also written there for the launcher's own report.
    """
    line = f"{Path(sys.argv[0]).name}: {message}"
    if file := os.environ.get("TORCHELASTIC_ERROR_FILE"):
        failure = {"message": line, "extraInfo": {"timestamp": int(time.time())}}
        Path(file).write_text(json.dumps({"message": failure}), encoding="utf-8")
    print(as_shown(line, sys.stderr), file=sys.stderr)
    return code


class Pipe(io.FileIO):
    """A file that ignores a broken pipe. The results of a run are in the run's folder, so the output may be lost."""

    def write(self, content: "ReadableBuffer") -> int:
        """Write the content. Return its size in bytes, even if nobody reads it."""
        try:
            return super().write(content)
        except BrokenPipeError:
            return memoryview(content).nbytes


def tolerate_broken_pipe() -> None:
    """Let this process continue if nobody reads its output any more. Keep a stream that a test has replaced."""
    if sys.stdout is sys.__stdout__ and sys.stdout is not None:
        sys.stdout = tolerant_stream(sys.stdout)
    if sys.stderr is sys.__stderr__ and sys.stderr is not None:
        sys.stderr = tolerant_stream(sys.stderr)


def tolerant_stream(stream: TextIO) -> TextIO:
    """Return a stream that writes to the same file and ignores a broken pipe."""
    pipe = io.BufferedWriter(Pipe(stream.fileno(), "w", closefd=False))
    return io.TextIOWrapper(pipe, stream.encoding, "backslashreplace", line_buffering=True)
