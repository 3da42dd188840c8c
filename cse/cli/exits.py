"""How a command of ours ends: an error is one sentence on standard error, and an exit code."""

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cse.cli import launched
from cse.errors import Interrupted, RunError, UserError
from cse.files import NO_PLACE
from cse.run import slurm

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # a disk, a quota, a file's limit


@contextmanager
def exit_on_user_error() -> Iterator[None]:
    """End this process with one sentence where the block meets a mistake (exit code 2) or fails (1)."""
    try:
        yield
    except UserError as error:
        sys.exit(complain(str(error), 2))
    except RunError as error:
        sys.exit(complain(str(error), 1))


@contextmanager
def exit_on_error() -> Iterator[None]:
    """The same for work that writes files and that signals end, in each of the processes of one run."""
    try:
        with exit_on_user_error(), launched.in_turn():
            yield
    except OSError as error:
        if error.errno in NO_PLACE:
            place = f"cannot write {error.filename}: {error.strerror}"
            sys.exit(complain(f"{place}; set hydra.run.dir to a folder of yours", 2))
        if error.errno not in FULL:
            raise
        where = error.filename or "the run's folder or the cache"
        sys.exit(complain(f"cannot write {where}: {error.strerror}; free space and run again with resume=auto", 1))
    except Interrupted as error:
        if slurm.is_follower():  # the first says it; srun --kill-on-bad-exit would end it for our code
            sys.exit(0)
        sys.exit(complain(str(error), error.code))
    except KeyboardInterrupt:
        sys.exit(complain("stopped", 130))  # as a shell says it of Ctrl-C


def complain(message: str, code: int) -> int:
    """Print one sentence on stderr, for a launcher too, and return the exit code that goes with it."""
    sentence = f"{Path(sys.argv[0]).name}: {message}"
    launched.report(sentence)
    print(sentence, file=sys.stderr)
    return code
