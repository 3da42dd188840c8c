"""The texts and data that the tests beside call F, each right but for what its name says."""

import gzip
import io
import json
import os
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from made_up import made_up_sentences
from PIL import Image

LINES = made_up_sentences(40)
TEXT = "\n".join(LINES) + "\n"
ROWS = [f"{a},{b}" for a, b in zip(LINES[:20], LINES[20:], strict=True)]
CSV = "\n".join(["a,b", *ROWS]) + "\n"
JSONL = [json.dumps({"a": line, "b": line}) for line in LINES]


class Runs:
    """Pickled, it is code: unpickled, it would run `touch ran`."""

    def __reduce__(self):
        return os.system, ("touch ran",)


def parquet(**columns: list) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def torch_file(value: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def ssast(rows: int) -> dict[str, torch.Tensor]:
    return {"module.v.patch_embed.proj.weight": torch.zeros(32, rows), "module.v.patch_embed.proj.bias": torch.zeros(7),
            "module.v.cls_token": torch.zeros(1), "module.v.pos_embed": torch.zeros(3)}  # fmt: skip


GZ, PARQUET = gzip.compress(TEXT.encode() * 50), parquet(a=LINES * 200, b=LINES * 200)
TEXTS: dict[str, bytes | str] = {
    "plain.txt": TEXT, "empty.txt": "", "one.txt": "one sentence\n",
    "latin.txt": f"a\nb\n{'ä'}\n{TEXT}".encode("latin-1"),
    "binary.txt": bytes(range(256)) * 20, "data.doc": TEXT, "noending": TEXT, "text.zip": b"PK\x03\x04",
    "text.txt.bz2": b"BZh9", "garbage_after.txt.gz": GZ + b"garbage", "folder.txt/inside": "x",
    "a.csv": CSV, "ragged.csv": CSV.replace(ROWS[1], ROWS[1] + ",x"), "header.csv": "a,b\n",
    "bom16.csv": CSV.encode("utf-16"), "mixed/1.csv": CSV, "mixed/2.csv": "c,d\n1,2\n",
    "a.json": "[]", "a.jsonl": "\n".join(JSONL), "nan.jsonl": f'{JSONL[0]}\n{{"a": NaN}}\n',
    "array.jsonl": json.dumps([{"a": line} for line in LINES], indent=1), "twice.jsonl": '{"a": "x", "a": "y"}\n',
    "a.parquet": PARQUET, "cut.parquet": PARQUET[:-100], "norows.parquet": parquet(a=pa.array([], pa.string())),
    "code.pth": torch_file(Runs()), "list.pth": torch_file([1, 2]), "shapes.pth": torch_file(ssast(5)),
    "text.pth": torch_file({key: "x" for key in ssast(1)}), "binary.vec": bytes(range(256)) * 9, "plain.bin": TEXT,
    **{f"broken_sounds/{speaker}/{n}.wav": b"RIFF" for speaker in "ab" for n in range(9)},
}  # fmt: skip


def write_texts(folder: Path) -> None:
    """F."""
    for name, content in TEXTS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    (folder / "empty").mkdir()
    (folder / "unreadable.txt").symlink_to("/proc/self/mem")
    (folder / "loop").symlink_to("loop")
    for kind in ("one", "two"):  # fewer than a batch
        (folder / "few_images" / kind).mkdir(parents=True)
        for n in range(3):
            Image.new("RGB", (40, 40)).save(folder / "few_images" / kind / f"{n}.png")


def seal(folder: Path) -> bool:
    """Make a folder in which nobody can write, not even root; whether that could be done."""
    folder.mkdir(mode=0o555)
    if os.geteuid():
        return True
    return subprocess.run(["chattr", "+i", str(folder)], capture_output=True).returncode == 0


def unseal(folder: Path) -> None:
    subprocess.run(["chattr", "-i", str(folder)], capture_output=True)
