"""The pages on adding something are followed literally: each file is written and each command run, in order."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from blocks import blocks

ROOT = Path(__file__).resolve().parents[2]
LEFT = ("__pycache__", ".*", "*.egg-info", "outputs", "multirun", "runs", "reports", "site", "build", "dist", "wandb")


@pytest.mark.nightly
@pytest.mark.parametrize("page", sorted(page.stem for page in (ROOT / "docs" / "adding").glob("*.md")))
def test_following_a_page_on_adding_works(page, minilm, tmp_path):
    """In a copy of the checkout, which serves as a folder of one's own and as the project."""
    shutil.copytree(ROOT, tmp_path, ignore=shutil.ignore_patterns(*LEFT), dirs_exist_ok=True)
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "CSE_CACHE": str(tmp_path / "cache"),
        "PYTHONPATH": str(tmp_path),
        "TERM": "dumb",
    }
    for block in blocks(tmp_path / "docs" / "adding" / f"{page}.md"):
        if block.caption:
            file = tmp_path / block.caption
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            command = ["bash", "-euxo", "pipefail", "-c", block.text]
            ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
            assert ended.returncode == 0, f"{page}.md:{block.line}\n{ended.stdout[-2000:]}\n{ended.stderr[-3000:]}"
