"""Silence libraries and change the environment of a run's process, and undo both after the run.

prepare_libraries  silences the large libraries before they are imported
alone              keeps other runs out of this process during a block, then restores the environment
is_follower        returns whether the process is one of several, and not the first
"""

import logging
import os
import tempfile
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from cse.errors import UserError
from cse.sources.hub import use_hub_if_it_answers

TALKATIVE = (
    *("accelerate", "datasets", "filelock", "gensim", "httpcore", "httpcore2", "httpx", "httpx2", "huggingface_hub"),
    *("matplotlib", "peft", "sentence_transformers", "smart_open", "torch", "transformers", "urllib3"),
)
REPEATING = "hydra.utils"  # a logger of errors that Hydra also raises
BUSY = threading.RLock()


# Libraries


def prepare_libraries() -> None:
    """Test whether the hub answers, and silence the libraries before they are imported. Raises UserError."""
    use_hub_if_it_answers()
    quiet()


def quiet() -> None:
    """Silence the loading reports and warnings of libraries. cse itself reports the important facts.

    Raises UserError if there is no folder for temporary files, because imports would then fail with various errors.
    """
    try:
        tempfile.gettempdir()
    except FileNotFoundError as error:
        raise UserError(
            f"{error.strerror}: set TMPDIR=FOLDER in the environment to a folder that can be written"
        ) from error
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # huge pages for tensors on a CPU: fewer page faults in a step
    for name in ("HF_HUB_VERBOSITY", "DATASETS_VERBOSITY"):  # a library reads its variable when it is imported
        os.environ.setdefault(name, "error")
    warnings.filterwarnings("ignore")
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.ERROR)
    logging.getLogger(REPEATING).setLevel(logging.CRITICAL)
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()


# The environment


@contextmanager
def alone() -> Iterator[None]:
    """Run the block alone in this process, and restore the environment after the block.

    Raises UserError while another thread is in such a block, because both threads would share the random states.
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
    """After the block, restore the environment variables, the warning filters, and the logger levels that `quiet` sets.

    A notebook needs the earlier values for its other work.
    """
    before = dict(os.environ)
    try:
        with levels_restored((*TALKATIVE, REPEATING)), warnings.catch_warnings():
            yield
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update({name: value for name, value in before.items() if os.environ.get(name) != value})


@contextmanager
def levels_restored(names: Iterable[str]) -> Iterator[None]:
    """Restore the levels of these loggers after the block."""
    levels = {name: logging.getLogger(name).level for name in names}
    try:
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


# Several processes


def is_follower() -> bool:
    """Return whether a launcher started this process as one of several, and not as the first."""
    return os.environ.get("RANK", "0") != "0"
