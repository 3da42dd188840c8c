"""A Hugging Face hub on this machine. It answers huggingface_hub, transformers and datasets from files in memory."""

import hashlib
import io
import json
import re
import tarfile
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class ToyHub:
    """The hub.

    repos: {"models/NAME" or "datasets/NAME": {path: content}}. moved: {old name of a model: new name}. gated:
    repositories with terms to accept. status: the HTTP status of all answers. breaks: the number of downloads that end
    in the middle. lfs: {path: the sha256 that the hub reports}. requests: method, path and status of each request.
    """

    repos: dict[str, dict[str, bytes]] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    gated: set[str] = field(default_factory=set)
    status: int | None = None
    breaks: int = 0
    lfs: dict[str, str] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    url: str = ""

    def add(self, name: str, source: Path | dict[str, bytes]) -> None:
        """Add a repository with the files of a folder or a dictionary."""
        if isinstance(source, Path):
            source = {str(p.relative_to(source)): p.read_bytes() for p in sorted(source.rglob("*")) if p.is_file()}
        self.repos[name] = source

    def downloads(self) -> list[str]:
        """Return the paths whose content the hub sent."""
        return [line.split()[1] for line in self.requests if line.startswith("GET") and "/resolve/" in line]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: ToyHub

    def log_message(self, *_: object) -> None:
        pass

    def answer(self, status: int, content: bytes | dict | list = b"", **headers: str) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.hub.requests.append(f"{self.command} {urlsplit(self.path).path} {status}")
        self.send_response(status)
        for name, value in {"X-Repo-Commit": COMMIT, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if self.hub.breaks and headers.get("Accept_Ranges") and len(body) > 1000:
            self.hub.breaks -= 1
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
        else:
            self.wfile.write(body)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.hub.status:
            return self.answer(self.hub.status)
        name = re.match(r"/api/(\w+/.+?)/paths-info/", unquote(self.path))
        paths = json.loads(body)["paths"] if body.startswith("{") else parse_qs(body).get("paths", [])
        files = self.hub.repos.get(name[1], {}) if name else {}
        return self.answer(200, [self.entry(path, files[path]) for path in paths if path in files])

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        for old, new in self.hub.moved.items():
            if path.startswith((f"/api/models/{old}", f"/{old}/resolve")):
                return self.answer(307, Location=self.path.replace(old, new, 1))
        if self.hub.status:
            return self.answer(self.hub.status)
        if path.endswith("/auth-check"):
            gated = path.removeprefix("/api/").removesuffix("/auth-check") in self.hub.gated
            return self.answer(403, X_Error_Code="GatedRepo") if gated else self.answer(200)
        tree = re.match(r"/api/(\w+/.+?)/tree/[^/]+/?(.*)$", path)
        info = re.match(r"/api/(\w+/.+?)(/revision/.+)?$", path)
        content = re.match(r"/(datasets/)?(.+?)/resolve/([^/]+)/(.+)$", path)
        if content:
            return self.content(f"{content[1] or 'models/'}{content[2]}", content[4])
        name = (tree or info)[1] if tree or info else ""
        if name not in self.hub.repos:
            return self.answer(401, {"error": "Repository not found"}, X_Error_Code="RepoNotFound")
        files = self.hub.repos[name]
        if tree:
            inside = [path for path in files if path.startswith(tree[2] and f"{tree[2]}/")]
            folders = {str(folder) for path in inside for folder in Path(path).parents} - {".", tree[2]}
            deep = "recursive=true" in self.path.lower()
            rows = [{"type": "directory", "path": folder, "oid": "0" * 40} for folder in sorted(folders)]
            rows += [self.entry(path, files[path]) for path in inside]
            return self.answer(200, [row for row in rows if deep or str(Path(row["path"]).parent) == (tree[2] or ".")])
        siblings: list[dict] = [{"rfilename": path, "size": len(content)} for path, content in files.items()]
        for one in siblings:
            if one["rfilename"] in self.hub.lfs:
                one["lfs"] = {"size": one["size"], "sha256": self.hub.lfs[one["rfilename"]], "pointerSize": 1}
        about = {"id": name.partition("/")[2], "sha": COMMIT, "siblings": siblings, "tags": [], "private": False}
        self.answer(200, about | {"gated": "manual" if name in self.hub.gated else False})

    def content(self, name: str, path: str) -> None:
        files = self.hub.repos.get(name)
        if files is None:
            return self.answer(401, X_Error_Code="RepoNotFound")
        if name in self.hub.gated:
            return self.answer(403, X_Error_Code="GatedRepo")
        if path not in files:
            return self.answer(404, X_Error_Code="EntryNotFound")
        whole = files[path]
        etag = self.hub.lfs.get(path) or hashlib.sha1(whole).hexdigest()
        headers = {"ETag": f'"{etag}"', "Accept_Ranges": "bytes"}
        span = re.match(r"bytes=(\d*)-(\d*)", self.headers.get("Range", "") if self.command == "GET" else "")
        if not span:
            return self.answer(200, whole, **headers)
        first = int(span[1]) if span[1] else len(whole) - int(span[2])
        last = min(int(span[2]) if span[1] and span[2] else len(whole) - 1, len(whole) - 1)
        headers["Content_Range"] = f"bytes {first}-{last}/{len(whole)}"
        self.answer(206, whole[first : last + 1], **headers)

    @staticmethod
    def entry(path: str, content: bytes) -> dict:
        return {"type": "file", "path": path, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}


def serve(hub: ToyHub) -> ThreadingHTTPServer:
    """Start a server for the hub, and set `hub.url`. Close the server with shutdown() and server_close()."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"hub": hub}))
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def parquet(**columns: list) -> bytes:
    """A Parquet file of these columns."""
    import pyarrow.parquet

    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), file)
    return file.getvalue()


def tar_of(files: dict[str, bytes]) -> bytes:
    """A tar of these files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in files.items():
            (about := tarfile.TarInfo(name)).size = len(content)
            tar.addfile(about, io.BytesIO(content))
    return packed.getvalue()
