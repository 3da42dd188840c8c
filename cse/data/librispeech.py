"""LibriSpeech (Panayotov et al., 2015), one split: its archive is fetched and unpacked where the cache lacks it.

Addresses and checksums are torchaudio's, whose own download begins anew after a break and unpacks without a word.
"""

import logging
import tarfile
from pathlib import Path

from cse.errors import MissingResource, UserError
from cse.files import alone, sha256, written_once
from cse.sources.download import Download
from cse.sources.web import download

log = logging.getLogger("cse")

INSTEAD = "or give a folder that holds one folder of wav or flac files per speaker, paths.audio=FOLDER (CSE_AUDIO)"


def librispeech(cache: Path, split: str) -> Path:
    """The folder of a split, which holds one of each speaker. Raises MissingResource, UserError for no split of it."""
    folder = cache / "LibriSpeech" / split
    if folder.is_dir():
        return folder
    known = archives()
    if split not in known:
        raise UserError(f"aux_modality.data.split={split}: LibriSpeech has {', '.join(known)}; {INSTEAD}")
    with alone(cache / split):  # jobs that start at the same time would unpack, and remove, each other's archive
        return folder if folder.is_dir() else _fetched(folder, cache, *known[split])


def _fetched(folder: Path, cache: Path, url: str, expected: str) -> Path:
    """Fetch the archive, check it and unpack it into `folder`. Raises MissingResource.

    url, expected: the archive's address and sha256. For one process at a time.
    """
    split = folder.name
    try:
        archive = download(url, cache / Path(url).name)
    except (MissingResource, OSError) as error:  # OSError: a full disk
        raise MissingResource(f"LibriSpeech {split} is not in {cache}: {error}; {INSTEAD}") from error
    if sha256(archive) != expected:
        archive.unlink()
        raise MissingResource(f"LibriSpeech {split}: what came from {url} is damaged; run it again, {INSTEAD}")
    log.info("web        %s: unpacking into %s", archive.name, folder)
    written_once(folder, lambda temporary: unpack(archive, temporary, f"LibriSpeech/{split}/"))
    archive.unlink()
    return folder


def archives() -> dict[str, tuple[str, str]]:
    """Of each split: the address of its archive, and the archive's sha256."""
    from torchaudio.datasets.librispeech import _CHECKSUMS

    return {Path(url).name.removesuffix(".tar.gz"): (url, digest) for url, digest in _CHECKSUMS.items()}


def unpack(archive: Path, folder: Path, inside: str) -> None:
    """Write what the archive has under `inside` into the folder; how far it is, is told."""
    with (
        Download(f"{archive.name}, unpacked", archive.stat().st_size) as progress,
        archive.open("rb") as raw,
        tarfile.open(fileobj=raw, mode="r:gz") as files,
    ):
        for member in files:
            if member.name.startswith(inside):
                member.name = member.name.removeprefix(inside)
                files.extract(member, folder, filter="data")
            progress.add(raw.tell() - progress.done)
