"""Standard output and standard error whose reader may exit early, as that of `| head -1` does."""

import io
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class Pipe(io.FileIO):
    """A file that ignores a broken pipe: nobody reads the output any more, but the run's results go to its folder."""

    def write(self, content: "ReadableBuffer") -> int:
        """Returns the number of bytes written or ignored."""
        try:
            return super().write(content)
        except BrokenPipeError:
            return memoryview(content).nbytes


def tolerate_broken_pipe() -> None:
    """Let this process outlive the readers of its output. Leaves streams alone that a test has replaced."""
    if sys.stdout is sys.__stdout__ and sys.stdout is not None:
        sys.stdout = _tolerant(sys.stdout)
    if sys.stderr is sys.__stderr__ and sys.stderr is not None:
        sys.stderr = _tolerant(sys.stderr)


def _tolerant(stream: TextIO) -> TextIO:
    pipe = io.BufferedWriter(Pipe(stream.fileno(), "w", closefd=False))
    return io.TextIOWrapper(pipe, stream.encoding, "backslashreplace", line_buffering=True)
