"""Write constraints.txt anew: the newest versions that pip finds to fit together, of the project with all its extras.

Nothing is installed: pip is asked what it would install into an empty environment.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]


def resolved() -> dict[str, str]:
    """{package: version}"""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet"]
        subprocess.run([*command, "--report", str(report), f"{ROOT}[{','.join(extras)}]"], check=True)
        found = [one["metadata"] for one in json.loads(report.read_text())["install"]]
    return {canonicalize_name(one["name"]): one["version"] for one in found if one["name"] != "cse-lab"}


if __name__ == "__main__":
    file = ROOT / "constraints.txt"
    pinned = (line.split("==") for line in file.read_text().split())
    before = {canonicalize_name(name): version for name, version in pinned}
    now = resolved()
    file.write_text("".join(f"{name}=={now[name]}\n" for name in sorted(now)))
    for name in sorted(now.keys() | before.keys()):
        if now.get(name) != before.get(name):
            sys.stdout.write(f"{name}: {before.get(name, 'new')} -> {now.get(name, 'gone')}\n")
