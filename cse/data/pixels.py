"""Check that an image file is complete, and read its pixels as RGB in 8 bits."""

from io import BytesIO

import numpy as np
from PIL import Image
from PIL.TiffImagePlugin import BITSPERSAMPLE, PHOTOMETRIC_INTERPRETATION, SAMPLEFORMAT, TiffImageFile

FORMATS = ("JPEG", "PNG", "GIF", "BMP", "PPM", "TIFF", "WEBP")  # not EPS: Ghostscript would run it as a program
IMAGE_ENDINGS = (
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".apng", ".gif", ".bmp", ".tif", ".tiff", ".webp"),
    *(".ppm", ".pgm", ".pbm", ".pnm", ".pfm"),
)  # the endings of these formats, from Pillow
LAST_BYTES = 4096
END_MARKS = {"JPEG": b"\xff\xd9", "PNG": b"IEND"}  # a complete file has this mark in its last bytes
PLAIN = {"1", "L", "P", "RGB", "RGBA", "LA", "PA", "CMYK", "YCbCr", "HSV"}  # modes that Pillow converts to RGB
UNCLEAR = "it is unclear which value is white"
REPAIR = "save it again as RGB or gray with 8 or 16 bits"


def read_rgb(path: str) -> Image.Image:
    """Return the picture in an image file, in mode RGB; see `rgb`."""
    with Image.open(path, formats=FORMATS) as image:
        return rgb(image)


def check_image(content: bytes) -> None:
    """Raise Pillow's error or a ValueError for content that is no image, is truncated, or is refused by `rgb`.

    Decoding takes ten times as long as reading. So only a JPEG or PNG without its end mark, and an image in an unusual
    mode, are decoded. For other formats only the header is checked.
    """
    with Image.open(BytesIO(content), formats=FORMATS) as image:
        if image.mode not in PLAIN:
            rgb(image)
        elif END_MARKS.get(image.format or "", b"") not in content[-LAST_BYTES:]:
            image.load()


def rgb(image: Image.Image) -> Image.Image:
    """Return an opened picture in mode RGB. A pixel v of 16 bits becomes v >> 8; a float v from 0 to 1 becomes 255 v.

    Pillow converts pictures of 8 bits. If a file has several pictures (GIF, TIFF), the first is used. As in
    torchvision's ImageFolder, transparency is dropped, and EXIF's orientation is not applied. Raises ValueError if it
    is unknown which number is black and which is white.
    """
    if isinstance(image, TiffImageFile) and 2 in image.tag_v2.get(SAMPLEFORMAT, ()):  # Pillow ignores an 8-bit sign
        raise ValueError(f"its pixels are signed integers, and {UNCLEAR}: {REPAIR}")
    if image.mode in PLAIN:
        return image.convert("RGB")
    if image.mode == "La":  # gray multiplied by alpha
        return image.convert("LA").convert("RGB")
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format in ("PNG", "PPM")):
        gray_HW = (_sixteen_bits(image) >> 8).astype(np.uint8)
    elif image.mode == "F":
        gray_HW = _of_floats(np.asarray(image))
        if _white_is_0(image):
            gray_HW = 255 - gray_HW
    else:
        kind = f"are 32-bit integers, and {UNCLEAR}" if image.mode == "I" else f"are {image.mode}"
        raise ValueError(f"its pixels {kind}: {REPAIR}")
    return Image.fromarray(gray_HW).convert("RGB")


def _sixteen_bits(image: Image.Image) -> np.ndarray:
    """Return the pixels (H, W) as numbers from 0 (black) to 65535 (white)."""
    gray_HW = np.asarray(image).astype(np.int64)
    if isinstance(image, TiffImageFile):
        gray_HW <<= 16 - image.tag_v2[BITSPERSAMPLE][0]  # cameras write 12 bits
    return 65535 - gray_HW if _white_is_0(image) else gray_HW


def _white_is_0(image: Image.Image) -> bool:
    """Return whether a TIFF declares that 0 is white. Pillow follows this declaration only for 8 bits."""
    return isinstance(image, TiffImageFile) and image.tag_v2.get(PHOTOMETRIC_INTERPRETATION) == 0


def _of_floats(gray_HW: np.ndarray) -> np.ndarray:
    """Return float pixels as (H, W) uint8. Raises ValueError unless every number is from 0 to 1."""
    if not (gray_HW.min() >= 0 and gray_HW.max() <= 1):  # true for NaN, too
        found = f"{gray_HW.min():g} to {gray_HW.max():g}"
        raise ValueError(f"its pixels are floats in the range {found}, not 0 (black) to 1 (white): {REPAIR}")
    return (gray_HW * 255).round().astype(np.uint8)
