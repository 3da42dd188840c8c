"""A process around a run. Before the heavy libraries are imported: no chatter, and no waiting for a hub that is not
there. After the run: the environment and the random states as they were.
"""

import logging
import os
import random
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from cse.errors import UserError
from cse.sources.hub import is_offline

HUB = "https://huggingface.co"
PATIENCE = 2.0  # seconds
TALKATIVE = (
    *("accelerate", "datasets", "filelock", "gensim", "httpcore", "httpcore2", "httpx", "httpx2", "huggingface_hub"),
    *("matplotlib", "peft", "sentence_transformers", "smart_open", "torch", "transformers", "urllib3"),
)


def quiet() -> None:
    """Silence loading reports and warnings of libraries; cse says what matters itself.

    Raises UserError where no temporary file can be made: imports of libraries would fail, each in its own words.
    """
    try:
        tempfile.gettempdir()
    except FileNotFoundError as error:
        raise UserError(f"{error.strerror}: TMPDIR=FOLDER in the environment names one that can be written") from error
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    for name in ("HF_HUB_VERBOSITY", "DATASETS_VERBOSITY"):  # read when these are imported, which may be later
        os.environ.setdefault(name, "error")
    warnings.filterwarnings("ignore")
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.ERROR)
    logging.getLogger("hydra.utils").setLevel(logging.CRITICAL)  # it tells an error that it raises as well
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()


def settle_hub() -> bool:
    """Ask once, for two seconds, whether the hub answers; if not, all libraries look in the local cache only.

    Returns whether the hub can be used. A proxy in the environment is the user's word that it can, and
    HF_HUB_OFFLINE=1 (or on, yes, true, as the hub's client reads it) that it cannot.
    """
    if is_offline():
        return False
    address = urlsplit(os.environ.get("HF_ENDPOINT", HUB))
    if {address.scheme, "all"} & getproxies().keys() and not proxy_bypass(address.hostname or ""):
        return True
    if answers(address.hostname, address.port or 443):
        return True
    os.environ["HF_HUB_OFFLINE"] = os.environ["HF_DATASETS_OFFLINE"] = "1"
    return False


@cache
def answers(host: str | None, port: int) -> bool:
    """Whether something listens there."""
    with suppress(OSError), socket.create_connection((host, port), timeout=PATIENCE):
        return True
    return False


BUSY = threading.RLock()
FORKED = threading.Event()  # set in a process forked from one that had torch: it lacks the threads that torch waits for
os.register_at_fork(after_in_child=lambda: FORKED.set() if "torch" in sys.modules else None)


@contextmanager
def alone() -> Iterator[None]:
    """A block that has the process for itself, and puts its environment and its random states back.

    Raises UserError while another thread is in one: two at a time would have other results than each alone. And in a
    fork of a process that had torch, which would wait forever.
    """
    if FORKED.is_set():
        raise UserError(
            "this process was forked from one that had torch, and lacks its threads: multiprocessing's spawn"
        )
    if not BUSY.acquire(blocking=False):
        raise UserError(
            "another thread of this process trains or scores, with the same random states: wait for its end"
        )
    try:
        with environment_kept(), random_states_kept():
            yield
    finally:
        BUSY.release()


@contextmanager
def environment_kept() -> Iterator[None]:
    """Put the environment's variables back after the block."""
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update({name: value for name, value in before.items() if os.environ.get(name) != value})


@contextmanager
def random_states_kept() -> Iterator[None]:
    """Put back after the block: the random states of Python, numpy and torch, torch's flags and default dtype."""
    import numpy as np
    import torch

    switches, drawn, numpys = torch.backends.cudnn, random.getstate(), np.random.get_state()
    flags = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    fast, dtype = (switches.deterministic, switches.benchmark, switches.allow_tf32), torch.get_default_dtype()
    cards = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
    try:
        with torch.random.fork_rng(cards):
            yield
    finally:
        random.setstate(drawn)
        np.random.set_state(numpys)
        torch.use_deterministic_algorithms(flags[0], warn_only=flags[1])
        switches.deterministic, switches.benchmark, switches.allow_tf32 = fast
        torch.set_default_dtype(dtype)
