"""Download a file from a plain web server: resumed after a break, and renamed only when it is complete."""

import logging
from pathlib import Path

import httpx2

from cse.errors import MissingResource, first_line
from cse.files import file_lock
from cse.progress import showing, track

log = logging.getLogger("cse")

PATIENCE = 20  # seconds without a byte
MEGABYTE = 1 << 20


def download(url: str, target: Path) -> Path:
    """The file, fetched unless it is there; continues what an earlier call left in NAME.part. Processes that want it at
    the same time fetch it once.

    Raises MissingResource if the server cannot be reached or refuses; the part that came is kept.
    """
    if target.exists():
        return target
    with file_lock(target):
        if target.exists():
            return target
        part = target.with_name(f"{target.name}.part")
        try:
            _receive(url, part)
        except httpx2.HTTPError as error:
            raise MissingResource(f"{url}: download failed ({first_line(error)}); run it again to continue") from error
        return part.replace(target)


def _receive(url: str, part: Path) -> None:
    """Append what is missing to the part, or write all of it if the server cannot continue. Raises HTTPError."""
    came = part.stat().st_size if part.exists() else 0
    headers = {"Range": f"bytes={came}-"} if came else {}
    with httpx2.stream("GET", url, headers=headers, timeout=PATIENCE, follow_redirects=True) as answer:
        if answer.status_code == httpx2.codes.RANGE_NOT_SATISFIABLE:  # it is complete already
            return
        answer.raise_for_status()
        continued = answer.status_code == httpx2.codes.PARTIAL_CONTENT
        log.info("web        %s: fetching %s", part.stem, "the rest" if continued else url)
        megabytes = -(-int(answer.headers.get("Content-Length", 0)) // MEGABYTE) or None
        with part.open("ab" if continued else "wb") as file, showing(f"fetching {part.stem}"):
            for block in track(answer.iter_bytes(MEGABYTE), "MB", megabytes):
                file.write(block)
