"""A web server with one file. The first download of the file ends in the middle."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class ToyWeb:
    """The server of the file at `path`. ranges: whether it accepts ranges. asked: each request's Range, or None."""

    path: str
    content: bytes
    ranges: bool = True
    asked: list[str | None] = field(default_factory=list)
    url: str = ""


class Handler(BaseHTTPRequestHandler):
    web: ToyWeb

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.path != self.web.path:
            return self.send_error(404)
        span = self.headers.get("Range") if self.web.ranges else None
        first = int(span.removeprefix("bytes=").rstrip("-")) if span else 0
        body = self.web.content[first:]
        self.web.asked.append(span)
        self.send_response(206 if span else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body if len(self.web.asked) > 1 else body[: len(body) // 2])
        self.close_connection = True


@contextmanager
def serving(path: str, content: bytes, ranges: bool = True) -> Iterator[ToyWeb]:
    """Serve the file at `web.url` during the block."""
    web = ToyWeb(path, content, ranges)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"web": web}))
    web.url = f"http://127.0.0.1:{server.server_address[1]}{path}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield web
    finally:
        server.shutdown()
        server.server_close()
