"""Standard output and standard error that may go away: `| head -1`, a closed stream, a full device.

What is said there is for people; what a run makes is in its folder. So a reader that leaves stops no work and changes
no exit code, and nothing is said of it; where a device has no room, one line on standard error says so.
"""

import errno
import io
import logging
import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class Lasting(io.FileIO):
    """A file that takes all that is written, also when it can no longer pass it on."""

    def __init__(self, descriptor: int):
        super().__init__(descriptor, "w", closefd=False)
        self.lost = False

    def write(self, content: "ReadableBuffer") -> int:
        """The number of bytes taken: all of them once the stream is lost."""
        if not self.lost:
            try:
                return super().write(content)
            except OSError as error:
                self.lost = True
                if error.errno != errno.EPIPE and self.fileno() == 1:
                    print(f"standard output cannot be written: {error.strerror}", file=sys.stderr)
        return memoryview(content).nbytes


class Console(logging.StreamHandler):
    """Writes to what is standard output at the time: on a terminal with a live bar, above that bar."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one line."""
        self.stream = sys.stdout
        super().emit(record)


def outlast() -> None:
    """Let this process outlive its standard output and error. Does nothing where a test has put others in place."""
    for descriptor in range(3):  # a closed one would be taken by the next file that is opened, and written to
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is sys.__stdout__:
        sys.stdout = lasting(1, sys.stdout)
    if sys.stderr is sys.__stderr__:
        sys.stderr = lasting(2, sys.stderr)


def lasting(descriptor: int, stream: TextIO | None) -> TextIO:
    """The same stream on a Lasting file. stream: None where it was closed when Python started."""
    encoding = "utf-8" if stream is None else stream.encoding
    live = descriptor == 2 or os.isatty(descriptor)
    return io.TextIOWrapper(io.BufferedWriter(Lasting(descriptor)), encoding, "backslashreplace", line_buffering=live)
