"""A picture of any mode as 8-bit RGB, or the reason why nobody can say what its numbers mean."""

import numpy as np
from PIL import Image
from PIL.TiffImagePlugin import BITSPERSAMPLE, PHOTOMETRIC_INTERPRETATION, SAMPLEFORMAT, TiffImageFile

PLAIN = {"1", "L", "P", "RGB", "RGBA", "LA", "PA", "CMYK", "YCbCr", "HSV"}  # modes that Pillow itself makes RGB
REPAIR = "write it again as RGB or gray of 8 or 16 bits"


def rgb(image: Image.Image) -> Image.Image:
    """An opened picture as mode RGB: v >> 8 of 16 bits, 255 v of floats from 0 to 1, Pillow's own rules for 8 bits.

    Of a file of several pictures (GIF, TIFF) the first one. Transparency is dropped, and the orientation of EXIF is not
    applied, as torchvision's ImageFolder does. Raises ValueError for numbers without a known black and white.
    """
    if isinstance(image, TiffImageFile) and 2 in image.tag_v2.get(SAMPLEFORMAT, ()):  # Pillow reads those of 8 bits as
        raise ValueError(f"its pixels are signed integers, whose white is not known: {REPAIR}")  # if they had no sign
    if image.mode in PLAIN:
        return image.convert("RGB")
    if image.mode == "La":  # gray times its opacity
        return image.convert("LA").convert("RGB")
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format in ("PNG", "PPM")):
        gray_HW = (_sixteen_bits(image) >> 8).astype(np.uint8)
    elif image.mode == "F":
        gray_HW = _of_floats(np.asarray(image))
        if _white_is_0(image):
            gray_HW = 255 - gray_HW
    else:
        kind = "are 32-bit integers, whose white is not known" if image.mode == "I" else f"are {image.mode}"
        raise ValueError(f"its pixels {kind}: {REPAIR}")
    return Image.fromarray(gray_HW).convert("RGB")


def _sixteen_bits(image: Image.Image) -> np.ndarray:
    """(H, W), 0 to 65535 from black to white."""
    gray_HW = np.asarray(image).astype(np.int64)
    if isinstance(image, TiffImageFile):
        gray_HW <<= 16 - image.tag_v2[BITSPERSAMPLE][0]  # cameras write 12
    return 65535 - gray_HW if _white_is_0(image) else gray_HW


def _white_is_0(image: Image.Image) -> bool:
    """Whether a TIFF says so, which Pillow heeds in 8 bits alone."""
    return isinstance(image, TiffImageFile) and image.tag_v2.get(PHOTOMETRIC_INTERPRETATION) == 0


def _of_floats(gray_HW: np.ndarray) -> np.ndarray:
    """(H, W) uint8. Raises ValueError unless every number is from 0 to 1."""
    if not (gray_HW.min() >= 0 and gray_HW.max() <= 1):  # so for NaN, too
        found = f"{gray_HW.min():g} to {gray_HW.max():g}"
        raise ValueError(f"its pixels are floats from {found}, not from 0 (black) to 1 (white): {REPAIR}")
    return (gray_HW * 255).round().astype(np.uint8)
