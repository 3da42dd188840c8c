"""A W&B server on this machine: takes a run's start, history and files, and keeps what it was sent."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PROJECT = {"id": "p", "name": "cse", "entity": {"id": "e", "name": "me"}}
SWEEP = {"id": "s", "name": "sweep7", "project": PROJECT}


class ToyWandb:
    """queries: (name, variables) of each GraphQL query. lines: by file, what was streamed. broken: answers 500.

    sweep: the YAML of the one that it was given. jobs: {key: value} of each run that it asks an agent for.
    """

    def __init__(self):
        self.queries: list[tuple[str, dict]] = []
        self.lines: dict[str, list[str]] = {}
        self.uploaded: list[str] = []
        self.broken = False
        self.sweep, self.jobs = "", []
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
        """What the server says to one POST."""
        if "file_stream" in path:
            for name, part in content.get("files", {}).items():
                self.lines.setdefault(name, []).extend(part["content"])
            return {}
        text, variables = content["query"], content.get("variables") or {}
        self.queries.append((re.findall(r"(?:query|mutation)\s+(\w+)", text)[0], variables))
        if "upsertBucket" in text:
            bucket = {"id": "r", "name": variables["name"], "displayName": "", "config": "{}", "historyLineCount": 0}
            return {"data": {"upsertBucket": {"bucket": bucket | {"project": PROJECT}, "inserted": True}}}
        if "createRunFiles" in text:
            files = [{"name": name, "uploadUrl": f"{self.url}/up/{name}"} for name in variables["files"]]
            return {"data": {"createRunFiles": {"runID": "r", "uploadHeaders": [], "files": files}}}
        if "viewer" in text:
            return {"data": {"viewer": {"id": "u", "entity": "me", "username": "me", "flags": "{}", "teams": None}}}
        if "upsertSweep" in text:
            self.sweep = variables["config"]
            return {"data": {"upsertSweep": {"sweep": SWEEP, "configValidationWarnings": []}}}
        if "createAgent" in text:
            return {"data": {"createAgent": {"agent": {"id": "a"}}}}
        if "agentHeartbeat" in text:
            return {"data": {"agentHeartbeat": {"agent": {"id": "a"}, "commands": json.dumps(self.commands())}}}
        if "sweep(sweepName" in text:
            sweep = {"id": "s", "name": "sweep7", "config": self.sweep, "runs": {"edges": []}}
            return {"data": {"project": {"sweep": sweep}}}
        return {"data": {}}

    def commands(self):
        """What an agent is to do next."""
        if not self.jobs:
            return []
        args = {key: {"value": value} for key, value in self.jobs.pop().items()}
        return [{"type": "run", "run_id": f"run{len(self.jobs)}", "program": "cse-train", "args": args}]
