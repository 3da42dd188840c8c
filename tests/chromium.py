"""A page in headless Chromium, controlled by Chromium's DevTools protocol over a pipe, without network or driver."""

import base64
import itertools
import json
import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest

BINARY = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WAIT = 600  # seconds until an answer comes, even on a busy machine
needed = pytest.mark.skipif(BINARY is None, reason="needs Chromium (apt-get install chromium)")


class Page:
    """A context manager for a page. complaints: errors on the console. requests: the addresses that the page loads."""

    def __init__(self, file: Path, folder: Path, width: int = 1600, dark: bool = False):
        self.file, self.folder, self.width, self.dark = file, folder, width, dark
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.numbers = itertools.count(1)
        self.buffer = b""

    def __enter__(self):
        theirs, ours = os.pipe(), os.pipe()
        flags = [
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-extensions", "--disable-background-networking"),
            *("--no-first-run", "--remote-debugging-pipe", f"--user-data-dir={self.folder}"),
        ]
        command = f"exec {shlex.join([BINARY, *flags])} 3<&{theirs[0]} 4>&{ours[1]}"
        self.process = subprocess.Popen(
            ["bash", "-c", command], pass_fds=[theirs[0], ours[1]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(theirs[0])
        os.close(ours[1])
        self.write, self.read = theirs[1], ours[0]
        os.set_blocking(self.read, False)
        self.session = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if self.dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        size = {"width": self.width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
        self.ask("Emulation.setDeviceMetricsOverride", **size)
        self.ask("Emulation.setScrollbarsHidden", hidden=True)  # a picture of the whole page has no scrollbars either
        self.ask("Page.navigate", url=self.file.resolve().as_uri())
        self.run("new Promise((done) => document.readyState === 'complete' ? done() : (onload = done))")
        return self

    def __exit__(self, *_):
        os.close(self.write)
        self.process.kill()
        self.process.wait()
        os.close(self.read)

    def ask(self, method, **parameters):
        """Send a command of the protocol, and return the answer. Events that come before the answer are kept."""
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        message |= {"sessionId": self.session} if self.session else {}
        os.write(self.write, json.dumps(message).encode() + b"\0")
        for event in self.messages():
            if event.get("id") == number:
                assert "result" in event, event
                return event["result"]
            self.keep(event.get("method"), event.get("params", {}))
        raise AssertionError(f"{method}: no answer")

    def messages(self):
        deadline = time.monotonic() + WAIT
        while time.monotonic() < deadline:
            while b"\0" in self.buffer:
                message, _, self.buffer = self.buffer.partition(b"\0")
                yield json.loads(message)
            try:
                self.buffer += os.read(self.read, 1 << 20)
            except BlockingIOError:
                time.sleep(0.01)
        raise AssertionError(f"Chromium says nothing for {WAIT} s")

    def keep(self, method, event):
        if method == "Runtime.exceptionThrown":
            self.complaints.append(event["exceptionDetails"].get("exception", {}).get("description", "an error"))
        elif method == "Runtime.consoleAPICalled" and event["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(one.get("value", one)) for one in event["args"]))
        elif method == "Log.entryAdded" and event["entry"]["level"] in ("error", "warning"):
            self.complaints.append(event["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(event["request"]["url"])

    def run(self, code):
        """Return the value of a JavaScript expression. If the value is a promise, wait for its result."""
        answer = self.ask("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def picture(self, path: Path):
        """Write a picture of the whole page as a PNG file."""
        image = self.ask("Page.captureScreenshot", captureBeyondViewport=True, format="png")
        path.write_bytes(base64.b64decode(image["data"]))
