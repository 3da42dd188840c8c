"""The texts and data that bad_inputs.yaml names (F), each right but for what its name says."""

import gzip
import io
import json
import os
import pickle
import subprocess
import zipfile
from pathlib import Path

import numpy as np
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


def flipped(content: bytes, place: float) -> bytes:
    """The same with the eight bytes at that share of it inverted."""
    start = int(place * len(content))
    return content[:start] + bytes(255 - byte for byte in content[start : start + 8]) + content[start + 8 :]


def torch_file(value: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("text.txt", TEXT)
    return buffer.getvalue()


def ssast(rows: int) -> dict[str, torch.Tensor]:
    return {"module.v.patch_embed.proj.weight": torch.zeros(32, rows), "module.v.patch_embed.proj.bias": torch.zeros(7),
            "module.v.cls_token": torch.zeros(1), "module.v.pos_embed": torch.zeros(3)}  # fmt: skip


GZ, PARQUET = gzip.compress(TEXT.encode() * 50), parquet(a=LINES * 200, b=LINES * 200)
VEC = "3 2\n" + "".join(f"{word} 0.5 {i}\n" for i, word in enumerate(("kadan", "lofel", "migor")))
TEXTS: dict[str, bytes | str] = {
    "plain.txt": TEXT, "empty.txt": "", "blank.txt": "\n\n\n", "one.txt": "one sentence\n",
    "seven.txt": "\n".join(LINES[:7]), "blanks.txt": "\n".join([*LINES[:30], *[" \t "] * 10]),
    "zero_width.txt": "\n".join([*LINES[:30], *["\u200b\u200d"] * 10]), "nul.txt": "\n".join(f"{x}\0" for x in LINES),
    "utf16.txt": TEXT.encode("utf-16"), "latin.txt": f"a\nb\n{'ä'}\n{TEXT}".encode("latin-1"),
    "umlaut.txt": f"a\nä\n{TEXT}", "binary.txt": bytes(range(256)) * 20, "data.doc": TEXT, "noending": TEXT,
    "text.zip": zipped(), "text.txt.bz2": b"BZh9", "plain.txt.gz": TEXT, "cut.txt.gz": GZ[: len(GZ) // 2],
    "flipped.txt.gz": flipped(GZ, 0.5), "garbage_after.txt.gz": GZ + b"garbage", "a.csv": CSV, "a.json": "[]",
    "twice.csv": CSV.replace("a,b", "a,a"), "ragged.csv": CSV.replace(ROWS[1], ROWS[1] + ",x"),
    "short.csv": CSV.replace(ROWS[2], "alone"), "quote.csv": CSV.replace(ROWS[1], '"' + ROWS[1]),
    "quote_inside.csv": CSV.replace(ROWS[0], '"say "this" now",b'), "header.csv": "a,b\n",
    "emptycells.csv": "a,b\n" + "x,\n" * 20, "huge_cell.csv": CSV + '"' + "x" * 10_000_001 + '",b\n',
    "semicolon.csv": CSV.replace(",", ";"), "a.tsv": "a\tb\n" + CSV, "nul.csv": CSV.replace("kadan", "ka\0dan"),
    "bom16.csv": CSV.encode("utf-16"), "blank_line.csv": CSV.replace(ROWS[3], f"{ROWS[3]}\n"),
    "a.jsonl": "\n".join(JSONL), "broken.jsonl": f'{JSONL[0]}\n{{"a": \n', "list.jsonl": '["a"]\n',
    "number.jsonl": f'{JSONL[0]}\n{{"a": 5}}\n', "missing.jsonl": f'{JSONL[0]}\n{{"b": "x"}}\n',
    "surrogate.jsonl": '{"a": "\\ud800"}\n', "deep.jsonl": '{"a": ' + "[" * 100_000 + "\n",
    "digits.jsonl": '{"a": ' + "1" * 5000 + "}\n", "nan.jsonl": f'{JSONL[0]}\n{{"a": NaN}}\n',
    "array.jsonl": json.dumps([{"a": line} for line in LINES], indent=1), "twice.jsonl": '{"a": "x", "a": "y"}\n',
    "not.parquet": TEXT, "cut.parquet": PARQUET[:-100], "flipped.parquet": flipped(PARQUET, 0.05), "a.parquet": PARQUET,
    "numbers.parquet": parquet(a=list(range(20))), "nulls.parquet": parquet(a=[None] * 20 + LINES),
    "nested.parquet": parquet(a=[["x"]] * 20), "bytes.parquet": parquet(a=[b"x"] * 20),
    "norows.parquet": parquet(a=pa.array([], pa.string())), "mixed/1.csv": CSV, "mixed/2.csv": "c,d\n1,2\n",
    "folder.txt/inside": "x", "flat_sounds/a.wav": b"", "coco_text/train.pkl": TEXT, "coco_text/valid.pkl": TEXT,
    "coco_text/test.pkl": TEXT,
    **{f"coco_code/{name}.pkl": pickle.dumps(Runs()) for name in ("train", "valid", "test")},
    "captions_cut/val.tsv.gz": GZ[:50], "captions_columns/val.tsv.gz": gzip.compress(b"a\tb\nc\td\ne\tf\n"),
    "captions_columns/test_2016.tsv.gz": gzip.compress(b"a\n"), "captions_columns/train.tsv.gz": gzip.compress(b"a\n"),
    "code.pth": torch_file(Runs()), "list.pth": torch_file([1, 2]), "other.pth": torch_file({"x": torch.zeros(1)}),
    "shapes.pth": torch_file(ssast(5)), "text.pth": torch_file({key: "x" for key in ssast(1)}),
    "empty.vec": "", "header.vec": "3 2\n", "letters.vec": VEC.replace("0.5", "half", 1), "fewer.vec": VEC[:-12],
    "ragged.vec": VEC.replace("0.5 1", "0.5"), "nan.vec": VEC.replace("0.5", "nan"),
    "binary.vec": bytes(range(256)) * 9,
    "words.vec": TEXT, "cut.vec.gz": gzip.compress(VEC.encode() * 99)[:40], "plain.bin": TEXT,
    **{f"broken_sounds/{speaker}/{n}.wav": b"RIFF" for speaker in "ab" for n in range(9)},
}  # fmt: skip


def write_texts(folder: Path) -> None:
    """F."""
    for name, content in TEXTS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    (folder / "empty").mkdir()
    (folder / "unreadable.txt").symlink_to("/proc/self/mem")
    (folder / "dangling.txt").symlink_to("/no/such/target")
    (folder / "loop").symlink_to("loop")
    pixels = np.zeros((40, 40, 3), np.uint8)
    for kind, number in (("flat_images", 2), ("few_images/one", 3), ("few_images/two", 3), ("broken_images/good", 9)):
        (folder / kind).mkdir(parents=True)
        for n in range(number):
            Image.fromarray(pixels).save(folder / kind / f"{n}.png")
    (folder / "broken_images" / "bad").mkdir()
    for n in range(9):
        (folder / "broken_images" / "bad" / f"{n}.png").write_bytes(b"\x89PNG cut short")


def seal(folder: Path) -> bool:
    """Make a folder in which nobody can write, not even root; whether that could be done."""
    folder.mkdir(mode=0o555)
    if os.geteuid():
        return True
    return subprocess.run(["chattr", "+i", str(folder)], capture_output=True).returncode == 0


def unseal(folder: Path) -> None:
    subprocess.run(["chattr", "-i", str(folder)], capture_output=True)
