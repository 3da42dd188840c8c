"""How far a download is: a bar on a terminal, a line every 10 % elsewhere."""

import logging
import sys

from tqdm import tqdm

log = logging.getLogger(__name__)


class Download:
    """Bytes of one download, of however many files: a bar on a terminal, elsewhere a line every 10 %."""

    def __init__(self, name: str, total: int):
        self.name, self.total, self.done, self.reported = name, total, 0, 0
        self.bar = tqdm(total=total, unit="B", unit_scale=True, desc=name, disable=not (total and sys.stderr.isatty()))

    def __enter__(self) -> "Download":
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.close()

    def add(self, size: int) -> None:
        """Count `size` more bytes."""
        self.done += size
        self.bar.update(size)
        tenths = 10 * self.done // self.total if self.total else 0
        if self.bar.disable and tenths > self.reported:
            self.reported = tenths
            log.info("hub        %s: %d %% of %s", self.name, min(10 * tenths, 100), size_of(self.total))

    def bar_of_a_file(self) -> type[tqdm]:
        """The class of bar that the hub's client makes for each file: it shows nothing and counts here."""
        whole = self

        class Counter(tqdm):
            def __init__(self, *_: object, initial: int = 0, desc: str = "", **__: object):
                super().__init__(disable=True)
                # Xet counts a file twice: as received and as put together
                self.counts = "downloading bytes" not in desc
                self.update(initial)

            def update(self, n: float | None = 1) -> None:
                if self.counts and n:
                    whole.add(int(n))

        return Counter


def size_of(size: float) -> str:
    """A number of bytes in words: 440 MB."""
    for unit in ("B", "KB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
