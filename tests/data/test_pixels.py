"""Pictures of every mode: 8 bits of each number, or a refusal that names the file."""

import struct
import zlib

import numpy as np
import pytest
from made_up_images import images
from PIL import Image, TiffImagePlugin

from cse.data.pixels import rgb
from cse.errors import UserError

GRAY_HW = np.linspace(0, 65535, 64 * 64).reshape(64, 64).astype(np.uint16)


def png(kind: int, channels: int) -> bytes:
    """GRAY_HW in each channel of a PNG of 16 bits."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    rows = b"".join(b"\0" + np.repeat(row, channels).astype(">u2").tobytes() for row in GRAY_HW)
    header = struct.pack(">IIBBBBB", 64, 64, 16, kind, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def pgm(most: int) -> bytes:
    return f"P5 64 64 {most}\n".encode() + (GRAY_HW // (65536 // (most + 1))).astype(">u2").tobytes()


@pytest.mark.parametrize("content", [png(0, 1), png(2, 3), png(4, 2), png(6, 4), pgm(65535), pgm(4095)])
def test_of_sixteen_bits_the_higher_eight_are_kept(tmp_path, content):
    (tmp_path / "a").write_bytes(content)
    with Image.open(tmp_path / "a") as image:
        found_HWC = np.asarray(rgb(image))
    assert np.abs(found_HWC.astype(int) - (GRAY_HW >> 8)[..., None]).max() <= (content[:2] == b"P5")


@pytest.mark.parametrize(("gray_HW", "near"), [
    (GRAY_HW, 0), (GRAY_HW.astype(">u2"), 0), ((GRAY_HW / 65535).astype(np.float32), 1),
])  # fmt: skip
def test_tiff_of_sixteen_bits_and_of_floats_from_0_to_1(tmp_path, gray_HW, near):
    big_endian = gray_HW.dtype == np.dtype(">u2")
    made = Image.frombytes("I;16B", (64, 64), gray_HW.tobytes()) if big_endian else Image.fromarray(gray_HW)
    made.save(tmp_path / "a.tif")
    with Image.open(tmp_path / "a.tif") as image:
        found_HWC = np.asarray(rgb(image)).astype(int)
    assert np.abs(found_HWC - (GRAY_HW >> 8)[..., None]).max() <= near
    assert found_HWC.mean() == pytest.approx(127.5, abs=0.1)


def test_tiff_of_sixteen_bits_whose_white_is_0(tmp_path):
    tags = TiffImagePlugin.ImageFileDirectory_v2()
    tags[TiffImagePlugin.PHOTOMETRIC_INTERPRETATION] = 0
    Image.fromarray(GRAY_HW).save(tmp_path / "a.tif", tiffinfo=tags)
    with Image.open(tmp_path / "a.tif") as image:
        assert image.tag_v2[TiffImagePlugin.PHOTOMETRIC_INTERPRETATION] == 0
        found_HWC = np.asarray(rgb(image))
    assert np.array_equal(found_HWC[..., 0], (65535 - GRAY_HW) >> 8)


@pytest.mark.parametrize("gray_HW", [
    GRAY_HW.astype(np.int32), (GRAY_HW / 257).astype(np.float32), np.full((64, 64), np.nan, np.float32),
    np.full((64, 64), -0.1, np.float32),
])  # fmt: skip
def test_numbers_without_a_known_white_are_refused_with_the_file(tmp_path, gray_HW):
    (tmp_path / "class").mkdir()
    for name in ("0.tif", "1.tif"):
        Image.fromarray(gray_HW).save(tmp_path / "class" / name)
    with pytest.raises(UserError, match=r"2 of the 2 images .*0\.tif, its pixels .*16 bits"):
        images(tmp_path, batch_size=2)


def tiff(path, gray_HW: np.ndarray, sample_format: int, white_is_0: bool):
    """An uncompressed TIFF of one strip. sample_format: 1 for numbers without a sign, 2 with one, 3 for floats."""
    rows, bits = gray_HW.shape[0], 8 * gray_HW.itemsize
    entries = [(256, rows), (257, rows), (258, bits), (259, 1), (262, 0 if white_is_0 else 1), (273, 8), (277, 1)]
    entries += [(278, rows), (279, gray_HW.nbytes), (339, sample_format)]
    table = b"".join(struct.pack("<HHIHH", tag, 3, 1, value, 0) for tag, value in entries)
    start = struct.pack("<2sHI", b"II", 42, 8 + gray_HW.nbytes)
    path.write_bytes(start + gray_HW.tobytes() + struct.pack("<H", len(entries)) + table + struct.pack("<I", 0))


def test_a_tiff_of_floats_whose_white_is_0(tmp_path):
    gray_HW = (GRAY_HW / 65535).astype("<f4")
    tiff(tmp_path / "a.tif", gray_HW, 3, white_is_0=True)
    with Image.open(tmp_path / "a.tif") as image:
        found_HWC = np.asarray(rgb(image)).astype(int)
    assert np.abs(found_HWC - (255 - 255 * gray_HW)[..., None]).max() <= 0.5


def test_a_tiff_of_8_bits_with_a_sign_is_refused(tmp_path):
    tiff(tmp_path / "a.tif", (GRAY_HW.astype(int) // 256 - 128).astype(np.int8), 2, white_is_0=False)
    with Image.open(tmp_path / "a.tif") as image, pytest.raises(ValueError, match="signed"):
        rgb(image)
