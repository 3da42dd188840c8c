"""LibriSpeech (Panayotov et al., 2015), one split: its archive is fetched and unpacked unless the cache has it.

Addresses and checksums are torchaudio's. Its own download is not used: it starts over after a break, and says nothing
while it unpacks.
"""

import logging
import tarfile
from pathlib import Path

from cse.errors import MissingResource, UserError
from cse.files import file_lock, written_once
from cse.sources.web import download

log = logging.getLogger("cse")

INSTEAD = "or give a folder that holds one folder of wav or flac files per speaker, paths.audio=FOLDER (CSE_AUDIO)"


def librispeech(cache: Path, split: str) -> Path:
    """The folder of a split, with one folder per speaker. Raises MissingResource, UserError for an unknown split."""
    folder = cache / "LibriSpeech" / split
    if folder.is_dir():
        return folder
    known = archives()
    if split not in known:
        raise UserError(f"aux_modality.data.split={split}: LibriSpeech has {', '.join(known)}; {INSTEAD}")
    url, checksum = known[split]
    with file_lock(cache / split):  # jobs that start together would unpack, and delete, each other's archive
        if folder.is_dir():
            return folder
        try:
            archive = download(url, cache / Path(url).name, checksum)
        except MissingResource as error:
            raise MissingResource(f"LibriSpeech {split} is not in {cache}: {error}; {INSTEAD}") from error
        log.info("web        %s: unpacking into %s", archive.name, folder)
        written_once(folder, lambda temporary: unpack(archive, temporary, f"LibriSpeech/{split}"))
        archive.unlink()
    return folder


def archives() -> dict[str, tuple[str, str]]:
    """{split: (address of its archive, SHA-256 of the archive)}."""
    from torchaudio.datasets.librispeech import _CHECKSUMS

    return {Path(url).name.removesuffix(".tar.gz"): (url, digest) for url, digest in _CHECKSUMS.items()}


def unpack(archive: Path, folder: Path, inside: str) -> None:
    """Unpack the archive's folder `inside` into an empty folder."""
    with tarfile.open(archive) as files:
        for member in files:
            if member.name.startswith(f"{inside}/"):
                files.extract(member.replace(name=member.name.removeprefix(f"{inside}/")), folder, filter="data")
