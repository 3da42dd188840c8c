"""A W&B server on this machine. It stores the lines and the names of the files that runs send."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PROJECT = {"id": "p", "name": "cse", "entity": {"id": "e", "name": "me"}}
VIEWER = {"id": "u", "entity": "me", "username": "me", "flags": "{}", "teams": None}


class ToyWandb:
    """The server. lines: {file: streamed lines}. uploaded: names of files. broken: whether each answer is 500."""

    def __init__(self):
        self.lines: dict[str, list[str]] = {}
        self.uploaded: list[str] = []
        self.broken = False
        toy = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                self.answer({})

            def do_PUT(self):
                self.body()
                toy.uploaded.append(self.path.rpartition("/")[2])
                self.answer({})

            def do_POST(self):
                body = self.body()
                known = self.path.endswith(("graphql", "file_stream"))  # the rest is telemetry
                self.answer(toy.answer(self.path, json.loads(body)) if known else {})

            def body(self):
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))

            def answer(self, content):
                data = json.dumps(content).encode()
                self.send_response(500 if toy.broken else 200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path, content):
        """Return the server's answer to a POST."""
        if "file_stream" in path:
            for name, part in content.get("files", {}).items():
                self.lines.setdefault(name, []).extend(part["content"])
            return {}
        text, variables = content["query"], content.get("variables") or {}
        if "upsertBucket" in text:
            bucket = {"id": "r", "name": variables["name"], "displayName": "", "config": "{}", "historyLineCount": 0}
            return {"data": {"upsertBucket": {"bucket": bucket | {"project": PROJECT}, "inserted": True}}}
        if "createRunFiles" in text:
            files = [{"name": name, "uploadUrl": f"{self.url}/up/{name}"} for name in variables["files"]]
            return {"data": {"createRunFiles": {"runID": "r", "uploadHeaders": [], "files": files}}}
        return {"data": {"viewer": VIEWER} if "viewer" in text else {}}
