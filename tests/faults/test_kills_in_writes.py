"""A process killed between any two disk operations of a write: a reader finds the old content or the new, never half.

Each write runs in a forked child that exits (like SIGKILL: no `finally`, no `atexit`) at its n-th disk operation, for
every n until it survives. Python announces each operation (open, rename, mkdir, remove) as an audit event.
"""

import os
import shutil
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np
import torch
from torch import nn

from cse.data.cache import cache_columns
from cse.files import recover, replaced_folder, write_text
from cse.lab.folder.events import EventFile, read_events
from cse.training import checkpoint

ON_DISK = ("open", "os.", "shutil.")  # prefixes of the audit events
SURVIVED, KILLED, RAISED = 0, 9, 1


def killed_at(number: int, write: Callable[[], object]) -> bool:
    """Run `write` in a child that exits at its disk operation of this number. Returns whether there was one."""
    child = os.fork()
    if child == 0:
        seen = count()
        try:
            sys.addaudithook(lambda event, _: event.startswith(ON_DISK) and next(seen) == number and os._exit(KILLED))
            write()
            os._exit(SURVIVED)
        finally:
            os._exit(RAISED)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (SURVIVED, KILLED)
    return code == KILLED


def at_every_operation(write: Callable[[], object], reset: Callable[[], object], check: Callable[[], object]) -> None:
    """Kill `write` at each of its disk operations in turn, and `check` what a reader then finds."""
    for number in count():
        reset()
        killed = killed_at(number, write)
        check()
        if not killed:
            assert number > 1
            return


def test_a_file(tmp_path):
    path = tmp_path / "results.json"

    def check() -> None:
        assert path.read_text() in ("old", "new" * 10_000)

    at_every_operation(lambda: write_text(path, "new" * 10_000), lambda: path.write_text("old"), check)
    assert path.read_text() == "new" * 10_000


def fill(folder: Path, content: str) -> None:
    (folder / "inner").mkdir()
    for name in ("config.json", "inner/model.safetensors"):
        (folder / name).write_text(content)


def fill_new(folder: Path) -> None:
    folder.mkdir(parents=True)
    fill(folder, "old")


def whole(folder: Path) -> str:
    first, second = ((folder / name).read_text() for name in ("config.json", "inner/model.safetensors"))
    assert first == second
    return first


def test_best(tmp_path):
    best = tmp_path / "best"

    def replace(content: str) -> None:
        with replaced_folder(best) as temporary:
            fill(temporary, content)

    def check() -> None:
        recover(best)  # what the next start does
        assert whole(best) in ("old", "new")
        assert os.listdir(tmp_path) == ["best"]

    at_every_operation(lambda: replace("new"), lambda: replace("old"), check)
    assert whole(best) == "new"


def test_files_of_others_are_neither_recovered_nor_removed(tmp_path):
    best, place = tmp_path / "best", ".cse-0123456789abcdef.best"
    for name in ("best.old", "best.tmp", ".cse-mine.best", f"{place}.old"):
        fill_new(tmp_path / name)
    checkpoint_file = tmp_path / "last" / "state.safetensors"
    fill_new(tmp_path / "last" / ".2024.state.safetensors")
    before = sorted(tmp_path.rglob("*"))
    recover(best)
    recover(checkpoint_file)
    assert sorted(tmp_path.rglob("*")) == before
    fill_new(best)
    with replaced_folder(best) as temporary:
        fill(temporary, "new")
    assert set(before) <= set(tmp_path.rglob("*"))


def test_replacing_a_link_leaves_its_target(tmp_path):
    fill_new(tmp_path / "away")
    (tmp_path / "best").symlink_to("away")
    with replaced_folder(tmp_path / "best") as temporary:
        fill(temporary, "new")
    assert (whole(tmp_path / "best"), whole(tmp_path / "away")) == ("new", "old")
    assert {*os.listdir(tmp_path)} == {"away", "best"}


def test_a_cache(tmp_path):
    folder = tmp_path / "cache"
    rows = [(np.arange(3),), (np.arange(5),)]

    def write() -> list[np.ndarray]:
        (column,) = cache_columns(folder, iter(rows), ["ids"], "int32").columns
        return list(column)

    def check() -> None:
        for found, (row,) in zip(write(), rows, strict=True):  # the next start reads or rewrites it
            assert np.array_equal(found, row)

    at_every_operation(write, lambda: shutil.rmtree(folder, ignore_errors=True), check)


def test_a_checkpoint(tmp_path):
    module = nn.Linear(3, 2)

    def save(step: int) -> None:
        nn.init.constant_(module.weight, step)
        with checkpoint.Saver(tmp_path) as saver:
            saver.save({"encoder": module}, {}, [checkpoint.process_random_state()], {"step": step})

    def check() -> None:
        tensors, about = checkpoint.read_last(tmp_path)
        assert about["step"] in (1, 2)
        assert torch.equal(tensors["encoder/weight"], torch.full((2, 3), float(about["step"])))

    at_every_operation(lambda: save(2), lambda: save(1), check)
    save(3)
    assert os.listdir(tmp_path / "last") == ["state.safetensors"]  # what killed saves left is gone


def test_metrics(tmp_path):
    def write() -> None:
        log = EventFile(tmp_path, resume_step=1)
        for step in (2, 3):
            log.log({"train/loss": 0.5}, step)

    def reset() -> None:
        log = EventFile(tmp_path)
        for step in (0, 1):
            log.log({"train/loss": 1.0}, step)

    def check() -> None:
        steps = [event["step"] for event in read_events(tmp_path / "metrics.jsonl")]
        assert steps == list(range(len(steps)))
        assert len(steps) >= 2

    at_every_operation(write, reset, check)
