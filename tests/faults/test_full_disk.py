"""A disk that fills up during each kind of write: one sentence, exit code 1, and once there is room the run completes.

The disk is a 16 MB tmpfs, filled just before a run writes a certain file.
"""

import contextlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from killed import assert_same_run

pytestmark = [pytest.mark.nightly, pytest.mark.pictures]

MOMENTS = {  # (audit event, end of its path) that fill the disk
    "the settings": ("open", "run.yaml"),
    "the text's cache": ("open", "text_text.flat"),
    "results.json": ("open", "results.json"),
    "metrics.jsonl": ("open", "metrics.jsonl"),
    "best/": ("os.mkdir", "new.best"),
    "last/": ("os.mkdir", "last"),
    "a picture": ("open", "scores.png"),
}


class Disk:
    """A small file system. The next audit event `event` on a path that ends with `end` fills it, once."""

    def __init__(self, folder: Path):
        self.folder, self.filler = folder, folder / "filler"
        self.event: str | None = None
        self.end = ""

    def fill(self, event: str, arguments: tuple) -> None:
        if event != self.event:
            return
        path = str(arguments[0])
        if path.startswith(str(self.folder)) and path.endswith(self.end):
            self.event = None
            with contextlib.suppress(OSError), open(self.filler, "wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("disk")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", folder], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.strip()}")
    one = Disk(folder)
    sys.addaudithook(one.fill)  # cannot be removed
    yield one
    one.event = None
    subprocess.run(["umount", "-l", folder], check=True)


def run_in(folder: Path, small_run: list[str]) -> list[str]:
    same = [word for word in small_run if not word.startswith(("paths.cache", "hydra.run.dir"))]
    return [*same, f"paths.cache={folder}/cache", f"hydra.run.dir={folder}/run", "resume=auto"]


@pytest.fixture(scope="module")
def straight(tmp_path_factory) -> Path:
    """Where the first test puts an undisturbed run."""
    return tmp_path_factory.mktemp("straight")


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_full_disk(small_run, cse_train, disk, straight, capsys, moment):
    disk.event, disk.end = MOMENTS[moment]
    assert cse_train(run_in(disk.folder, small_run)) == 1
    assert disk.filler.exists(), "the run never reached this write"
    said = capsys.readouterr().err.strip()
    assert len(said.splitlines()) == 1, said
    assert "No space left on device" in said
    assert str(disk.folder) in said or "the run's folder" in said  # Hydra does not say which file
    disk.filler.unlink()
    assert cse_train(run_in(disk.folder, small_run)) == 0
    if not (straight / "run").exists():
        assert cse_train(run_in(straight, small_run)) == 0
    assert_same_run(straight / "run", disk.folder / "run")
    left = [path.name for path in disk.folder.rglob("*") if path.name.startswith(".cse-")]
    assert left == []
    for part in disk.folder.iterdir():
        shutil.rmtree(part)
