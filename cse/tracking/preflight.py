"""Whether W&B can be online from here, asked before its SDK is: a key, and a server that answers within seconds."""

import netrc
import os
import socket
import threading
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

PREFLIGHT_SECONDS = 2.0


def why_not_online(ask_server: bool) -> str:
    """Why W&B cannot be online, in a few words; "" where it can."""
    import wandb

    settings = wandb.setup().settings
    server = urlsplit(settings.base_url)
    if not (settings.api_key or settings.identity_token_file or in_netrc(server.hostname or "")):
        return "no API key: `wandb login` stores one"
    if ask_server and not answers(server.geturl(), PREFLIGHT_SECONDS):
        return f"{server.hostname} did not answer within {PREFLIGHT_SECONDS:g} s"
    return ""


def in_netrc(host: str) -> bool:
    """Whether the user's netrc file, where `wandb login` puts the key, has one for `host`."""
    path = Path(os.environ.get("NETRC") or "~/.netrc").expanduser()
    try:
        return netrc.netrc(path).authenticators(host) is not None
    except (OSError, netrc.NetrcParseError):
        return False


def answers(url: str, seconds: float) -> bool:
    """Whether `url`'s host, or the proxy on the way to it, takes a TCP connection within `seconds`.

    In a thread, because a timeout of `create_connection` does not bound the name's look-up.
    """
    host = urlsplit(url).hostname or ""
    proxy = None if urllib.request.proxy_bypass(host) else urllib.request.getproxies().get(urlsplit(url).scheme)
    target = urlsplit(proxy or url)
    port = target.port or {"http": 80, "https": 443}[target.scheme]
    reached = threading.Event()

    def connect() -> None:
        try:
            socket.create_connection((target.hostname or "", port), timeout=seconds).close()
            reached.set()
        except OSError:
            pass

    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(seconds)
    return reached.is_set()
