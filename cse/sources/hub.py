"""What is asked of the Hugging Face hub: single files, whole models, datasets; and what its refusals mean."""

import errno
import logging
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cse.errors import MissingResource, UserError
from cse.sources.download import Download, size_of

if TYPE_CHECKING:  # importing datasets takes seconds
    from datasets import Dataset, IterableDataset

log = logging.getLogger(__name__)

PATIENCE = 10  # seconds for the hub's answer to a question
WEIGHTS = (".safetensors", ".bin")
LOADED = re.compile(r"(model|pytorch_model)(-\d+-of-\d+)?\.(safetensors|bin)")  # weights by these names alone
SETTINGS = (".json", ".txt", ".model", ".vocab", ".bpe", ".codes", ".jinja")  # and tokenizers
ROOTS = ("", "1_", "2_", "3_")  # folders of a sentence-transformers model: 1_Pooling, 2_Dense, ...


@dataclass(frozen=True)
class Repo:
    """A repository, and what a message needs to say about it.

    asked: the setting that asks for it (data=wiki1m). instead: what works without it. revision: a commit, or None for
    the newest.
    """

    name: str
    kind: Literal["model", "dataset"]
    asked: str
    instead: str
    revision: str | None = None

    @property
    def page(self) -> str:
        """Its address on the hub, for messages."""
        from huggingface_hub import constants

        return f"{constants.ENDPOINT}/{'datasets/' if self.kind == 'dataset' else ''}{self.name}"


class NotHere(MissingResource):
    """Something of a repository is not in the cache, and cannot be had from the hub now."""

    def __init__(self, sentence: str, repo: Repo | None = None, reason: str = ""):
        super().__init__(sentence, reason)
        self.repo = repo


@dataclass(frozen=True)
class RemoteFile:
    """A file of a repository, its bytes and its sha256; None where the hub's list does not say them."""

    path: str
    size: int | None
    sha256: str | None = None


def file(repo: Repo, path: str) -> Path:
    """The local copy of one file: from the cache without asking the hub, or downloaded. Raises MissingResource."""
    known = cached(repo, path)
    if known is not None:
        return known
    (local,) = downloaded(repo, [_named(repo, path, listing(repo))])
    return local


def cached(repo: Repo, path: str) -> Path | None:
    """The local copy of a file, or None."""
    from huggingface_hub import try_to_load_from_cache

    known = try_to_load_from_cache(repo.name, path, repo_type=repo.kind, revision=repo.revision)
    return Path(known) if isinstance(known, str) else None


def cache_of(repo: Repo) -> Path:
    """The folder of the hub's cache that holds what was fetched of a repository."""
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    return Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=repo.name, repo_type=repo.kind)


@contextmanager
def cache_only() -> Iterator[None]:
    """Inside, the hub's clients of this process look in the cache alone."""
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True  # `datasets` takes it over when it is imported
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def listing(repo: Repo) -> list[RemoteFile]:
    """The files of a repository. Raises MissingResource."""
    from huggingface_hub import HfApi

    with refusals(repo):
        api = HfApi()
        ask = api.model_info if repo.kind == "model" else api.dataset_info
        info = ask(repo.name, revision=repo.revision, files_metadata=True, timeout=PATIENCE)
        if info.gated:  # its list is open to all, its files are not
            api.auth_check(repo.name, repo_type=repo.kind)
    return [RemoteFile(one.rfilename, one.size, one.lfs.sha256 if one.lfs else None) for one in info.siblings or []]


def downloaded(repo: Repo, files: list[RemoteFile]) -> Iterator[Path]:
    """The local copies of files, each when it is there. What an interrupted download left is continued.

    Says what is fetched and how large, then shows a bar on a terminal, a line every 10 % elsewhere. Raises
    MissingResource, before anything is fetched where the disk is too small.
    """
    from huggingface_hub import hf_hub_download

    missing = [one for one in files if cached(repo, one.path) is None]
    total = sum(_size(repo, one) if one.size is None else one.size for one in missing)
    if missing:
        names = missing[0].path if len(missing) == 1 else f"{len(missing)} files"
        check_space(repo, total)
        log.info("hub        %s: fetching %s, %s", repo.name, names, size_of(total))
    with Download(repo.name, total) as download, refusals(repo):
        for one in files:
            yield cached(repo, one.path) or Path(
                hf_hub_download(
                    repo.name,
                    one.path,
                    repo_type=repo.kind,
                    revision=repo.revision,
                    tqdm_class=download.bar_of_a_file(),
                )
            )


def model(repo: Repo) -> Path:
    """A folder with a model's weights, configuration and tokenizer, newest on the hub; the cached one where the hub
    cannot be asked. Raises MissingResource."""
    try:
        files = files_of_model(listing(repo))
    except MissingResource:
        known = cached(repo, "config.json")
        if known is None or not any(path.suffix in WEIGHTS for path in known.parent.iterdir()):
            raise
        return known.parent
    _named(repo, "config.json", files)
    local = {one.path: path for one, path in zip(files, downloaded(repo, files), strict=True)}
    return local["config.json"].parent


def files_of_model(files: list[RemoteFile]) -> list[RemoteFile]:
    """Those that loading needs: settings, tokenizer, and weights in one format, safetensors where they exist."""
    mine = [
        one
        for one in files
        if (folder := one.path.rpartition("/")[0]) in ROOTS or (one.path.count("/") == 1 and folder[:2] in ROOTS)
    ]
    weights = [one for one in mine if LOADED.fullmatch(one.path.rpartition("/")[2])]
    safe = [one for one in weights if one.path.endswith(".safetensors")]
    has_safe = any("/" not in one.path for one in safe)
    chosen = safe if has_safe else weights
    return [one for one in mine if one.path.endswith(SETTINGS)] + chosen


def dataset(repo: Repo, config: str | None = None, split: str = "train") -> "Dataset":
    """A split of a dataset, downloaded and kept by `datasets`. Raises MissingResource."""
    from datasets import load_dataset

    log.info("hub        %s: %s", repo.name, split if config is None else f"{config}, {split}")
    with refusals(repo, config):
        return load_dataset(repo.name, config, split=split, revision=repo.revision)


def stream(repo: Repo, config: str | None = None, split: str = "train") -> "IterableDataset":
    """A split of a dataset, downloaded while it is read and not kept. Raises MissingResource."""
    from datasets import load_dataset

    with refusals(repo, config):
        return load_dataset(repo.name, config, split=split, revision=repo.revision, streaming=True)


@contextmanager
def refusals(repo: Repo, config: str | None = None) -> Iterator[None]:
    """Inside, whatever the hub's clients raise becomes a MissingResource that says what the hub said.

    config: of a dataset; where it does not exist, a UserError lists those that do.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # the hub's client, its HTTP library and `datasets` share no base class
        if isinstance(error, ValueError) and "BuilderConfig" in str(error):
            raise UserError(f"{repo.asked}: {repo.name} has no {config} ({_first_line(error)})") from error
        said = refusal(repo, error)
        raise NotHere(f"{repo.asked}: the {repo.kind} {repo.name} {said}; {repo.instead}", repo, said) from error


def refusal(repo: Repo, error: BaseException) -> str:
    """What an error of a hub client means, as the end of a sentence about the repository."""
    from httpx2 import TransportError  # of the library that the hub's client speaks through
    from huggingface_hub import constants, errors

    chain = list(_chain(error))
    for one in chain:
        if isinstance(one, errors.GatedRepoError) or "gated dataset" in str(one):
            return f"is gated: accept its terms at {repo.page} and log in (hf auth login, or HF_TOKEN)"
        if isinstance(one, errors.RevisionNotFoundError):
            return f"has no revision {repo.revision}"
        if isinstance(one, errors.RemoteEntryNotFoundError):
            return f"has no such file ({_first_line(one)})"
        if isinstance(one, errors.RepositoryNotFoundError) or "doesn't exist on the Hub" in str(one):
            return "does not exist on the hub, or is private (then log in: hf auth login, or HF_TOKEN)"
        if isinstance(one, errors.HfHubHTTPError) and (said := _status(one.response.status_code)):
            return said
        if isinstance(one, OSError) and one.errno == errno.ENOSPC:
            return f"does not fit on the disk of {constants.HF_HUB_CACHE}: free space, or set HF_HOME=FOLDER"
        if "Dataset scripts are no longer supported" in str(one):
            return f"needs a script, which no client runs any more ({_first_line(one)}): use its parquet files"
    if any(isinstance(one, errors.OfflineModeIsEnabled) for one in chain) or is_offline(os.environ):
        return (
            f"is not in the cache {constants.HF_HUB_CACHE}, and {constants.ENDPOINT} is not asked: it did not answer, "
            "or HF_HUB_OFFLINE is set"
        )
    if any(isinstance(one, ConnectionError | TransportError | errors.LocalEntryNotFoundError) for one in chain):
        return f"is not in the cache {constants.HF_HUB_CACHE}, and {constants.ENDPOINT} cannot be reached"
    return f"cannot be had ({type(error).__name__}: {_first_line(error)})"


def _status(code: int) -> str | None:
    if code == 429:
        return "is refused for now: the hub's rate limit is reached; wait some minutes, or log in (hf auth login)"
    if code in (401, 403):
        return f"is refused ({code}): log in with a token that may read it (hf auth login, or HF_TOKEN)"
    if code >= 500:
        return f"cannot be had now: the hub has trouble of its own ({code}); run again later"
    return None


def check_space(repo: Repo, size: int) -> None:
    """Raise MissingResource where the cache's disk has less room than `size` bytes."""
    from huggingface_hub import constants

    cache = Path(constants.HF_HUB_CACHE)
    disk = next(folder for folder in (cache, *cache.absolute().parents) if folder.exists())
    free = shutil.disk_usage(disk).free
    if free < size:
        raise MissingResource(
            f"{repo.asked}: the {repo.kind} {repo.name} needs {size_of(size)}, and {cache} has {size_of(free)} free: "
            f"set HF_HOME=FOLDER; {repo.instead}"
        )


def is_offline(environment: Mapping[str, str]) -> bool:
    """Whether HF_HUB_OFFLINE, as the hub's client reads it, forbids asking: 0, no, off and nothing do not."""
    return environment.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}


def asked_for(error: BaseException) -> Repo | None:
    """The repository that an error is about: its own, or that of what caused it."""
    return next((one.repo for one in _chain(error) if isinstance(one, NotHere)), None)


def _size(repo: Repo, one: RemoteFile) -> int:
    """The bytes of a file, from a hub whose list does not say them (a mirror)."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    url = hf_hub_url(repo.name, one.path, repo_type=repo.kind, revision=repo.revision)
    with refusals(repo):
        return get_hf_file_metadata(url).size or 0


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _named(repo: Repo, path: str, files: list[RemoteFile]) -> RemoteFile:
    named = [one for one in files if one.path == path]
    if not named:
        raise NotHere(f"{repo.asked}: the {repo.kind} {repo.name} has no file {path}; {repo.instead}", repo)
    return named[0]
