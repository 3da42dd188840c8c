"""Before the heavy libraries are imported: no chatter, and no waiting for a hub that is not there."""

import logging
import os
import socket
import warnings
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from cse.sources.hub import is_offline

HUB = "https://huggingface.co"
PATIENCE = 2.0  # seconds
TALKATIVE = (
    *("accelerate", "datasets", "filelock", "gensim", "httpcore", "httpcore2", "httpx", "httpx2", "huggingface_hub"),
    *("matplotlib", "peft", "sentence_transformers", "smart_open", "torch", "transformers", "urllib3"),
)


def quiet() -> None:
    """Silence loading reports and warnings of libraries; cse says what matters itself."""
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
    if is_offline(os.environ):
        return False
    address = urlsplit(os.environ.get("HF_ENDPOINT", HUB))
    if {address.scheme, "all"} & getproxies().keys() and not proxy_bypass(address.hostname or ""):
        return True
    try:
        socket.create_connection((address.hostname, address.port or 443), timeout=PATIENCE).close()
        return True
    except OSError:
        os.environ["HF_HUB_OFFLINE"] = os.environ["HF_DATASETS_OFFLINE"] = "1"
        return False
