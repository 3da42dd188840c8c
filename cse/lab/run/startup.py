"""The process around a run. Before the heavy libraries are imported: silence their chatter, and do not wait for a hub
that does not answer. After the run: restore the environment.
"""

import logging
import os
import socket
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from http.client import HTTP_PORT, HTTPS_PORT
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from cse.errors import UserError
from cse.sources.hub import is_offline

HUB = "https://huggingface.co"
PORTS = {"http": HTTP_PORT, "https": HTTPS_PORT}
PATIENCE = 2.0  # seconds
TALKATIVE = (
    *("accelerate", "datasets", "filelock", "gensim", "httpcore", "httpcore2", "httpx", "httpx2", "huggingface_hub"),
    *("matplotlib", "peft", "sentence_transformers", "smart_open", "torch", "transformers", "urllib3"),
)
REPEATING = "hydra.utils"  # logs the errors that it also raises


def before_libraries() -> None:
    """What is done before the heavy libraries are imported. Raises UserError, as `settle_hub` and `quiet` do."""
    settle_hub()
    quiet()


def quiet() -> None:
    """Silence the loading reports and warnings of libraries; cse itself reports what matters.

    Raises UserError if there is no place for temporary files, on which imports would fail, each in its own words.
    """
    try:
        tempfile.gettempdir()
    except FileNotFoundError as error:
        raise UserError(f"{error.strerror}: set TMPDIR=FOLDER in the environment to one that can be written") from error
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    for name in ("HF_HUB_VERBOSITY", "DATASETS_VERBOSITY"):  # read when they are imported, maybe later
        os.environ.setdefault(name, "error")
    warnings.filterwarnings("ignore")
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.ERROR)
    logging.getLogger(REPEATING).setLevel(logging.CRITICAL)
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()


def settle_hub() -> bool:
    """Ask once, for up to two seconds, whether the hub answers; if not, make all libraries use the local cache only.

    Returns whether the hub can be used. It is not asked if the environment has a proxy, which means that it can, or
    HF_HUB_OFFLINE=1 (or on, yes, true, as the hub's client reads it), which means that it cannot. Raises UserError if
    HF_ENDPOINT is no address.
    """
    if is_offline():
        return False
    scheme, host, port = hub_address()
    if {scheme, "all"} & getproxies().keys() and not proxy_bypass(host):
        return True
    if answers(host, port):
        return True
    os.environ["HF_HUB_OFFLINE"] = os.environ["HF_DATASETS_OFFLINE"] = "1"
    return False


def hub_address() -> tuple[str, str, int]:
    """Scheme, host and port of the hub, which may be a mirror. Raises UserError."""
    endpoint = os.environ.get("HF_ENDPOINT") or HUB
    with suppress(ValueError):  # a port that is no number
        address = urlsplit(endpoint)
        if address.hostname and address.scheme in PORTS:
            return address.scheme, address.hostname, address.port or PORTS[address.scheme]
    raise UserError(f"HF_ENDPOINT={endpoint} in the environment is no address: write https://HOST or http://HOST:PORT")


@cache
def answers(host: str, port: int) -> bool:
    """Whether something listens at this address."""
    with suppress(OSError), socket.create_connection((host, port), timeout=PATIENCE):
        return True
    return False


BUSY = threading.RLock()


@contextmanager
def alone() -> Iterator[None]:
    """Run the block with the process to itself, and restore the environment after it.

    Raises UserError while another thread is in such a block: the two would draw from the same random states.
    """
    if not BUSY.acquire(blocking=False):
        raise UserError(
            "another thread of this process is training or scoring with the same random states: wait until it is done"
        )
    try:
        with environment_kept():
            yield
    finally:
        BUSY.release()


@contextmanager
def environment_kept() -> Iterator[None]:
    """After the block, restore the environment variables, the filters of warnings, and the levels of the loggers that
    `quiet` silences: a notebook has other work too."""
    before = dict(os.environ)
    levels = {name: logging.getLogger(name).level for name in (*TALKATIVE, REPEATING)}
    try:
        with warnings.catch_warnings():
            yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update({name: value for name, value in before.items() if os.environ.get(name) != value})
