"""Access to the Hugging Face hub: files, models, datasets, the meaning of its errors, and whether it answers."""

import logging
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from http.client import HTTP_PORT, HTTPS_PORT
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from cse.errors import MissingResource, UserError, first_line, in_short

if TYPE_CHECKING:  # importing datasets takes seconds
    from datasets import Dataset, Features, IterableDataset

log = logging.getLogger(__name__)

PATIENCE = 10  # seconds to wait for an answer of the hub
ADDRESS = "https://huggingface.co"
PORTS = {"http": HTTP_PORT, "https": HTTPS_PORT}
TO_CONNECT = 2.0  # seconds that the first connection may take
UNREACHABLE = "cannot be reached"
REFUSED = (401, 403, 429, *range(500, 600))  # HTTP: no permission, too many requests, errors of the hub
SETTINGS = ["*.json", "*.txt", "*.model", "*.vocab", "*.bpe", "*.codes", "*.jinja"]  # files of settings and tokenizers
WEIGHTS = {  # the only names of weights; .bin if a repository has no .safetensors
    ".safetensors": ["model.safetensors", "model-*-of-*.safetensors", "[123]_*/model.safetensors"],
    ".bin": ["pytorch_model.bin", "pytorch_model-*-of-*.bin", "[123]_*/pytorch_model.bin"],
}
ELSEWHERE = ["*/*/*", "[!123]*/*"]  # not the root, and not sentence-transformers' folders, such as 1_Pooling


@dataclass(frozen=True)
class Repo:
    """A repository on the hub, with texts for messages about it.

    asked: the setting that needs the repository (data=wiki1m, `weights`=NAME). instead: what to use if
    the repository is not available. revision: a commit, or None for the newest.
    """

    name: str
    kind: Literal["model", "dataset"]
    asked: str
    instead: str
    revision: str | None = None

    @property
    def page(self) -> str:
        """Return the address of the repository on the hub, for messages."""
        from huggingface_hub import constants

        return f"{constants.ENDPOINT}/{'datasets/' if self.kind == 'dataset' else ''}{self.name}"


def fetch_file(repo: Repo, path: str) -> Path:
    """Return the local copy of one file. Asks the hub, and downloads, only if the cache has no copy.

    An interrupted download continues. The hub's client refuses a file outside the repository. Raises MissingResource.
    """
    from huggingface_hub import constants, hf_hub_download

    with refusals(repo):
        if known := find_file(repo, path):
            return known
        if not constants.HF_HUB_OFFLINE:
            log.info("hub        %s: fetching %s", repo.name, path)
        return Path(hf_hub_download(repo.name, path, repo_type=repo.kind, revision=repo.revision))


def find_file(repo: Repo, path: str) -> Path | None:
    """Return the copy of a file in the hub's cache, or None."""
    from huggingface_hub import try_to_load_from_cache

    known = try_to_load_from_cache(repo.name, path, repo_type=repo.kind, revision=repo.revision)
    return Path(known) if isinstance(known, str) else None


def cache_of(repo: Repo) -> Path:
    """Return the folder of a repository in the hub's cache."""
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    return Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=repo.name, repo_type=repo.kind)


@contextmanager
def cache_only() -> Iterator[None]:
    """Make the hub's clients of this process use only the cache until the block ends."""
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True  # `datasets` copies this value when it is imported
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def list_repo(repo: Repo, folder: str = "") -> list[str]:
    """Return the names of the files in a folder of a repository, in the hub's order. Raises MissingResource."""
    from huggingface_hub import HfApi

    api = HfApi()
    with refusals(repo):
        info = api.dataset_info(repo.name, revision=repo.revision, timeout=PATIENCE)
        if info.gated:  # everybody may list its files, but not read them
            api.auth_check(repo.name, repo_type=repo.kind)
    return [one.rfilename for one in info.siblings or [] if one.rfilename.startswith(folder)]


def fetch_model(repo: Repo) -> Path:
    """Return a folder with a model's weights, configuration and tokenizer: the hub's newest files or, if the hub does
    not answer, the cached files. Raises MissingResource."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    with refusals(repo):
        for suffix, names in WEIGHTS.items():
            wanted = [*SETTINGS, *names]
            folder = Path(
                snapshot_download(repo.name, revision=repo.revision, allow_patterns=wanted, ignore_patterns=ELSEWHERE)
            )
            if any(folder.glob(f"*{suffix}")):
                return folder
        raise LocalEntryNotFoundError(f"{folder} has no weights")


def fetch_split(
    repo: Repo, config: str | None = None, split: str = "train", check: Callable[["Features"], None] | None = None
) -> "Dataset":
    """Return a split of a dataset, which `datasets` downloads and caches. Raises MissingResource.

    check: called with the columns and their types before the download, if the hub lists them; may raise UserError.
    """
    from datasets import load_dataset_builder

    log.info("hub        %s: %s", repo.name, split if config is None else f"{config}, {split}")
    with refusals(repo, config):
        builder = load_dataset_builder(repo.name, config, revision=repo.revision)
        if check and builder.info.features:
            check(builder.info.features)
        builder.download_and_prepare()
        return builder.as_dataset(split)


def find_prepared(name: str, config: str) -> Path | None:
    """Return the folder in which `datasets` has cached a configuration of a dataset, or None."""
    from datasets import config as cache

    folder = Path(cache.HF_DATASETS_CACHE) / name.replace("/", "___") / config
    return folder if folder.is_dir() else None


def stream_split(repo: Repo, config: str | None = None, split: str = "train") -> "IterableDataset":
    """Return a split of a dataset, which is downloaded while it is read, and not kept. Raises MissingResource."""
    from datasets import load_dataset

    with refusals(repo, config):
        return load_dataset(repo.name, config, split=split, revision=repo.revision, streaming=True)


@contextmanager
def refusals(repo: Repo, config: str | None = None) -> Iterator[None]:
    """Turn every error of the hub's clients in the block into a MissingResource with the hub's reason.

    config: the configuration of a dataset. If the dataset has no such configuration, a UserError lists all of them.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # the errors of the hub's client, its HTTP library and `datasets` share no base class
        if isinstance(error, ValueError) and "BuilderConfig" in str(error):
            raise UserError(f"{repo.asked}: {repo.name} has no configuration {config} ({first_line(error)})") from error
        said = refusal(repo, error)
        why = f"{repo.asked}: the {repo.kind} {repo.name} {said}"
        raise MissingResource(why, instead=repo.instead) from error


def refusal(repo: Repo, error: BaseException) -> str:
    """Return the meaning of a hub client's error, as the end of a sentence about the repository."""
    from httpx2 import TransportError  # the HTTP library of the hub's client
    from huggingface_hub import constants, errors

    raised = list(_chain(error))
    for one in raised:
        if isinstance(one, errors.GatedRepoError) or "gated dataset" in str(one):
            return f"is gated: accept its terms at {repo.page} and log in (hf auth login, or HF_TOKEN)"
        if isinstance(one, errors.RevisionNotFoundError | errors.RemoteEntryNotFoundError):
            return f"has no such file or revision ({in_short(one)})"
        if isinstance(one, errors.RepositoryNotFoundError) or "doesn't exist on the Hub" in str(one):
            return "does not exist on the hub, or is private (then log in: hf auth login, or HF_TOKEN)"
        if isinstance(one, errors.HfHubHTTPError) and one.response.status_code in REFUSED:
            return f"was refused ({first_line(one)}): log in (hf auth login, or HF_TOKEN), or run again later"
    unreachable = (ConnectionError, TransportError, errors.LocalEntryNotFoundError)
    if is_offline() or any(isinstance(one, unreachable) for one in raised):
        return f"is not in the cache {constants.HF_HUB_CACHE}, and {constants.ENDPOINT} {UNREACHABLE}"
    return f"could not be loaded ({in_short(error)})"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()  # a cause and a context may lead back to each other
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


# Whether the hub answers


def is_offline() -> bool:
    """Return whether HF_HUB_OFFLINE forbids asking the hub. The hub's client reads this variable in the same way."""
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}


def use_hub_if_it_answers() -> bool:
    """Return whether the hub answers. If not, make all libraries of this process use only the local cache.

    Call this function before the hub's client is imported. Raises UserError if HF_ENDPOINT is not an address.
    """
    is_here = hub_answers()
    if not is_here and not is_offline():
        os.environ["HF_HUB_OFFLINE"] = os.environ["HF_DATASETS_OFFLINE"] = "1"
    return is_here


def hub_answers() -> bool:
    """Return whether the hub answers within two seconds.

    The hub is not asked in two cases: with a proxy in the environment, the result is True; with HF_HUB_OFFLINE=1 (or
    on, yes, true), the result is False. Raises UserError if HF_ENDPOINT is not an address.
    """
    if is_offline():
        return False
    scheme, host, port = hub_address()
    if {scheme, "all"} & getproxies().keys() and not proxy_bypass(host):
        return True
    return answers(host, port)


def hub_address() -> tuple[str, str, int]:
    """Return scheme, host and port of the hub or of its mirror. Raises UserError if HF_ENDPOINT is not an address."""
    endpoint = os.environ.get("HF_ENDPOINT") or ADDRESS
    with suppress(ValueError):  # a port that is no number
        address = urlsplit(endpoint)
        if address.hostname and address.scheme in PORTS:
            return address.scheme, address.hostname, address.port or PORTS[address.scheme]
    raise UserError(
        f"HF_ENDPOINT={endpoint} in the environment is not an address: write https://HOST or http://HOST:PORT"
    )


@cache
def answers(host: str, port: int) -> bool:
    """Return whether a server accepts a connection at this address."""
    with suppress(OSError), socket.create_connection((host, port), timeout=TO_CONNECT):
        return True
    return False
