"""Files with one fault each, named after it, and damaged copies of checkpoints, runs and score sets.

Damage is {file: what to do to it}: None deletes it, a float truncates it to that share, text or bytes replace it, a
dict is merged into its JSON, and a function maps its text to new text or edits a safetensors file's tensors and
metadata.
"""

import io
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch
from made_up import WORDS, made_up_sentences
from PIL import Image
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from toy_hub import parquet

LINES = made_up_sentences(40)
TEXT = "\n".join(LINES) + "\n"
CSV = "a,b\n" + "".join(f"{line},{line}\n" for line in LINES)
BINARY = bytes(range(256)) * 9
VECTORS = f"{len(WORDS)} 3\n" + "".join(f"{word} {0.1 * n} {(7 * n) % 5} 1\n" for n, word in enumerate(WORDS))


class Payload:
    """Unpickling one runs `touch ran`."""

    def __reduce__(self):
        return os.system, ("touch ran",)


def torch_file(value: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


SSAST = {"module.v.patch_embed.proj.weight": torch.zeros(32, 5), "module.v.patch_embed.proj.bias": torch.zeros(7),
         "module.v.cls_token": torch.zeros(1), "module.v.pos_embed": torch.zeros(3)}  # fmt: skip
FILES: dict[str, bytes | str] = {
    "plain.txt": TEXT, "empty.txt": "", "folder.txt/inside": "x",
    "bom16.csv": CSV.encode("utf-16"), "mixed/1.csv": CSV, "mixed/2.csv": "c,d\n1,2\n",
    "nan.jsonl": '{"a": "x"}\n{"a": NaN}\n', "twice.jsonl": '{"a": "x", "a": "y"}\n',
    "list.jsonl": '{"a": "x", "b": "y", "neg": ["z", "w"]}\n',
    "norows.parquet": parquet(a=pa.array([], pa.string())),
    "code.pth": torch_file(Payload()), "list.pth": torch_file([1, 2]), "shapes.pth": torch_file(SSAST),
    "text.pth": torch_file({key: "x" for key in SSAST}),
    **{f"broken_sounds/{speaker}/{n}.wav": b"RIFF" for speaker in "ab" for n in range(9)},
}  # fmt: skip


def write_files(folder: Path) -> None:
    """Write FILES, an empty folder, one with too few images, and links to what cannot be read."""
    for name, content in FILES.items():
        change(folder / name, content)
    (folder / "empty").mkdir()
    (folder / "unreadable.txt").symlink_to("/proc/self/mem")
    (folder / "loop").symlink_to("loop")
    for kind in ("one", "two"):  # fewer than a batch
        (folder / "few_images" / kind).mkdir(parents=True)
        for n in range(3):
            Image.new("RGB", (40, 40)).save(folder / "few_images" / kind / f"{n}.png")


def seal(folder: Path) -> bool:
    """Make a folder in which not even root can write. Returns whether this file system can."""
    folder.mkdir(mode=0o555)
    if os.geteuid():
        return True
    return subprocess.run(["chattr", "+i", str(folder)], capture_output=True).returncode == 0


def unseal(folder: Path) -> None:
    subprocess.run(["chattr", "-i", str(folder)], capture_output=True)


@contextmanager
def unchanged(folder: Path) -> Iterator[None]:
    """Assert that no file in the folder is new, gone or another after the block, but for logs."""
    before = content(folder)
    yield
    assert content(folder) == before


def content(folder: Path) -> dict[Path, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {path: path.read_bytes() for path in files if path.suffix != ".log"}


def copy(whole: str | Path, target: Path, changes: dict[str, Any]) -> Path:
    """Copy a folder and damage the copy."""
    shutil.copytree(whole, target)
    for name, what in changes.items():
        change(target / name, what)
    return target


def change(path: Path, what: Any) -> None:
    """Damage one file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if what is None:
        path.unlink()
    elif isinstance(what, float):
        path.write_bytes(path.read_bytes()[: int(what * path.stat().st_size)])
    elif isinstance(what, dict):
        before = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(before | what))
    elif not callable(what):
        path.write_bytes(what.encode() if isinstance(what, str) else what)
    elif path.suffix == ".safetensors":
        with safe_open(path, "pt") as file:
            about = file.metadata()
        tensors = load_file(path)
        what(tensors, about)
        save_file(tensors, path, metadata=about)
    else:
        path.write_text(what(path.read_text()))
