"""A file from a plain web server: continued where it broke off, and under its own name only when it is whole."""

import logging
from pathlib import Path

import httpx2

from cse.errors import MissingResource
from cse.files import alone
from cse.sources.download import Download

log = logging.getLogger("cse")

PATIENCE = 20  # seconds without a byte
BLOCK = 1 << 20


def download(url: str, target: Path) -> Path:
    """The file, fetched unless it is there; what an earlier call left in NAME.part is continued. Several processes that
    want it at the same time fetch it once.

    Raises MissingResource where the server cannot be reached or refuses; what came so far is kept.
    """
    if target.exists():
        return target
    with alone(target):
        return target if target.exists() else _fetched(url, target)


def _fetched(url: str, target: Path) -> Path:
    """Fetch the rest of the file, or all of it. Raises MissingResource. For one process at a time."""
    part = target.with_name(f"{target.name}.part")
    came = part.stat().st_size if part.exists() else 0
    try:
        with httpx2.stream(
            "GET", url, headers={"Range": f"bytes={came}-"} if came else {}, timeout=PATIENCE, follow_redirects=True
        ) as answer:
            if answer.status_code == httpx2.codes.RANGE_NOT_SATISFIABLE:  # all of it came before
                return part.rename(target)
            answer.raise_for_status()
            continued = answer.status_code == httpx2.codes.PARTIAL_CONTENT
            log.info("web        %s: fetching %s", target.name, "the rest" if continued else url)
            _keep(answer, part, came if continued else 0)
    except httpx2.HTTPError as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise MissingResource(f"{url} cannot be had ({reason}); run it again to go on") from error
    return part.rename(target)


def _keep(answer: httpx2.Response, part: Path, came: int) -> None:
    """Write the body after the `came` bytes that are there already."""
    length = int(answer.headers.get("Content-Length", 0))
    with Download(part.stem, came + length) as progress, part.open("ab" if came else "wb") as file:
        progress.add(came)
        for block in answer.iter_bytes(BLOCK):
            file.write(block)
            progress.add(len(block))
