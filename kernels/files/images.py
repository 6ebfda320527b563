"""Images in, images out.

Reading turns whatever still image Pillow can open into (H, W, 3) float32 in
[0, 1]. Writing rounds to 8 bits, and never leaves half a file.
"""

import logging
import os
import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import imageio.v3 as imageio
import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError, features

from kernels.files.atomic import write_atomically
from kernels.plumbing.errors import InputError

MAX_MEGAPIXELS = 64
MAX_PIXELS = MAX_MEGAPIXELS * 1_000_000
MAX_SHRUNK_PIXELS = 8 * MAX_PIXELS  # what may be made smaller: it takes 2 GB of memory

# An explicit list: Pillow would otherwise hand PostScript to an interpreter.
READABLE_FORMATS = ["PNG", "JPEG", "PPM", "BMP", "TIFF", "WEBP", "GIF"]
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # an older Pillow knows of no such format
    READABLE_FORMATS += ["AVIF"] if features.check("avif") else []
# What a HEIC file calls itself near its beginning, at the first place or at a later one.
HEIC = (b"heic", b"heix", b"heim", b"hevc", b"mif1", b"msf1")
EIGHT_BIT_MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBX", "RGBA", "CMYK", "YCbCr")

# What each format's encoder is told, by suffix.
WRITERS: dict[str, dict[str, Any]] = {
    # The usual level takes twice as long, for files that are a twentieth smaller.
    ".png": {"compress_level": 3},
    ".ppm": {},
    ".bmp": {},
    ".tif": {},
    ".tiff": {},
    ".webp": {"lossless": True},
    ".jpg": {"quality": 95, "subsampling": 0},
    ".jpeg": {"quality": 95, "subsampling": 0},
}


def load_image(path: str | Path, shrink: bool = False) -> np.ndarray:
    """Read one still image as (H, W, 3) float32 in [0, 1], C-contiguous.

    Gray is repeated into three channels; palettes are looked up; transparency is
    composited over white; CMYK becomes RGB; the EXIF orientation is applied.
    16-bit gray keeps all its bits, 16-bit colour its upper eight (all that Pillow
    decodes). Colour profiles are ignored.

    shrink: make an image of more than MAX_MEGAPIXELS smaller, by averaging.
    Raises InputError for anything that is not one readable, finite image of at
    most that. The size is judged from the header, before decoding.
    """
    with _open_for_reading(path) as file, _quiet_pillow():
        with _decoding(path):
            image = Image.open(file, formats=READABLE_FORMATS)
        _refuse_huge(path, image, shrink)
        with _decoding(path):
            frames = 1 if image.format == "MPO" else getattr(image, "n_frames", 1)
        _refuse_animated(path, frames)
        with _decoding(path):
            image.load()
            upright = ImageOps.exif_transpose(image)
        factor = _shrinking_factor(*upright.size)
        return _to_rgb(path, upright) if factor == 1 else _averaged(path, upright, factor)


def _open_for_reading(path: str | Path) -> BinaryIO:
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            raise _unreadable(path, "it is a folder", "Name an image file inside it")
        if not stat.S_ISREG(status.st_mode):
            raise _unreadable(path, "it is not an ordinary file", "Save the image to a file first")
        if status.st_size == 0:
            raise _unreadable(path, "the file is empty", "Copy or download it again")
        return open(path, "rb")
    except (FileNotFoundError, NotADirectoryError):
        advice = f"Check the spelling; relative paths start at {os.getcwd()}"
        raise _unreadable(path, "there is no such file", advice) from None
    except PermissionError:
        advice = "Give yourself read permission, or copy it to a folder you own"
        raise _unreadable(path, "permission denied", advice) from None
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error), "Try another file") from error


def _unreadable(path: str | Path, reason: str, advice: str) -> InputError:
    return InputError(f"cannot read {path}: {reason}. {advice}.")


@contextmanager
def _quiet_pillow() -> Iterator[None]:
    """Silence Pillow's warnings and log, and leave the size limit to us."""
    log, limit = logging.getLogger("PIL"), Image.MAX_IMAGE_PIXELS
    level = log.level
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        log.setLevel(logging.CRITICAL + 1)
        # Pillow's own limit warns or raises before we could say the size.
        Image.MAX_IMAGE_PIXELS = None
        try:
            yield
        finally:
            Image.MAX_IMAGE_PIXELS = limit
            log.setLevel(level)


@contextmanager
def _decoding(path: str | Path) -> Iterator[None]:
    try:
        yield
    except UnidentifiedImageError:
        with open(path, "rb") as file:
            beginning = file.read(64)
        if beginning[4:8] == b"ftyp" and any(brand in beginning for brand in HEIC):
            advice = "Export it as JPEG (in Photos: File > Export; on the phone: share it as JPEG)"
            raise _unreadable(path, "it is a HEIC photograph", advice) from None
        reason = "it is not an image, or its header is damaged"
        raise _unreadable(
            path, reason, "Save it as one of PNG, JPEG, PPM, BMP, TIFF, WebP"
        ) from None
    except MemoryError:
        raise _unreadable(path, "not enough memory to decode it", "Resize it first") from None
    # Damaged bytes surface as OSError, SyntaxError, ValueError, KeyError, struct.error...
    except Exception as error:
        reason = "the image data is damaged or cut short"
        advice = "Copy or download it again, or save it anew from an image editor"
        raise _unreadable(path, reason, advice) from error


def _refuse_huge(path: str | Path, image: Image.Image, shrink: bool) -> None:
    width, height = image.size
    if width * height == 0:
        raise _unreadable(path, f"it has no pixels ({width} x {height})", "Try another file")
    most = MAX_SHRUNK_PIXELS if shrink else MAX_PIXELS
    if width * height > most:
        size = f"{width:,} x {height:,} pixels = {width * height / 1e6:,.1f} megapixels"
        limit = most // 1_000_000
        advice = "Resize it first" + ("" if shrink else ", or have train.py do it with --shrink")
        raise _unreadable(path, f"it has {size}, and the limit is {limit}", advice)


def _shrinking_factor(width: int, height: int) -> int:
    """Of how many pixels on each side one is made, so that the image keeps to the limit."""
    factor = 1
    while (width // min(factor, width)) * (height // min(factor, height)) > MAX_PIXELS:
        factor += 1
    return factor


def _averaged(path: str | Path, image: Image.Image, factor: int) -> np.ndarray:
    """Means of factor x factor pixels; a last column or row that would be narrower is left out."""
    across, down = min(factor, image.width), min(factor, image.height)
    width = image.width // across * across
    rows = []
    for y in range(0, image.height - down + 1, down):  # all in float32 would fill the memory
        strip = _to_rgb(path, image.crop((0, y, width, y + down)))
        rows.append(strip.reshape(down, width // across, across, 3).mean((0, 2)))
    return np.stack(rows)


def _refuse_animated(path: str | Path, frames: int) -> None:
    if frames > 1:
        reason = f"it holds {frames} frames, and one still image is needed"
        raise _unreadable(path, reason, "Save one frame as a PNG and use that")


def _to_rgb(path: str | Path, image: Image.Image) -> np.ndarray:
    if image.mode == "F" or image.mode.startswith("I"):
        return np.repeat(_deep_gray(path, image)[:, :, None], 3, axis=2)
    if image.mode not in EIGHT_BIT_MODES:
        reason = f"its colour mode {image.mode} is not supported"
        raise _unreadable(path, reason, "Save it as an RGB PNG")
    if not image.has_transparency_data:
        return np.asarray(image.convert("RGB"), dtype=np.float32) / np.float32(255)
    rgba = np.asarray(image.convert("RGBA"), dtype=np.float32) / np.float32(255)
    alpha = rgba[:, :, 3:]
    return rgba[:, :, :3] * alpha + (1 - alpha)


def _deep_gray(path: str | Path, image: Image.Image) -> np.ndarray:
    """The (H, W) float32 values of an image whose pixels hold more than 8 bits."""
    values = np.asarray(image)
    top = 1 if image.mode == "F" else 65535
    if not np.isfinite(values).all():
        raise _unreadable(path, "it has NaN or infinite pixels", "Replace them and save it again")
    if values.min() < 0 or values.max() > top:
        reason = f"its pixels reach from {values.min():g} to {values.max():g}, outside 0 to {top}"
        raise _unreadable(path, reason, "Rescale them, or save it as an 8-bit PNG")
    gray = values.astype(np.float32) / np.float32(top)
    if "transparency" in image.info:
        gray[values == image.info["transparency"]] = 1
    return gray


def to_uint8(image: np.ndarray) -> np.ndarray:
    """Round an image in [0, 1] to uint8, clamping; uint8 passes through unchanged.

    Takes (H, W) or (H, W, 3), any float dtype or uint8. Raises InputError for
    NaN or infinity, ValueError for another shape or dtype.
    """
    image = np.asarray(image)
    if image.ndim not in (2, 3) or image.shape[2:] not in ((), (3,)) or image.size == 0:
        raise ValueError(f"an image is (H, W) or (H, W, 3), not {image.shape}")
    if image.dtype == np.uint8:
        return image
    if not np.issubdtype(image.dtype, np.floating):
        raise ValueError(f"an image is float in [0, 1] or uint8, not {image.dtype}")
    if not np.isfinite(image).all():
        raise InputError(
            "the picture has NaN or infinite pixels, so the training has diverged. "
            "Try lower learning rates."
        )
    return np.floor(np.clip(image, 0, 1) * 255 + 0.5).astype(np.uint8)


def save_image(path: str | Path, image: np.ndarray, overwrite: bool = True) -> None:
    """Write an image atomically, always as RGB, in the format of the path's suffix.

    image: (H, W) or (H, W, 3), float in [0, 1] (clamped, rounded to nearest) or
    uint8. Raises InputError for an unknown suffix, for NaN, and whenever the
    file cannot be written; an older file at `path` then stays as it was.
    overwrite: whether there may be an older file.
    """
    suffix = require_image_suffix(path)
    try:
        pixels = to_uint8(image)
    except InputError as error:
        raise InputError(f"cannot write {path}: {error}") from None
    if pixels.ndim == 2:
        pixels = np.repeat(pixels[:, :, None], 3, axis=2)
    try:
        encoded = imageio.imwrite(
            "<bytes>", pixels, plugin="pillow", extension=suffix, **WRITERS[suffix]
        )
    except (OSError, ValueError) as error:
        height, width = pixels.shape[:2]
        reason = f"a {suffix} file cannot hold {width:,} x {height:,} pixels"
        raise InputError(f"cannot write {path}: {reason}. Use .png or .ppm.") from error
    write_atomically(path, lambda file: file.write(encoded), overwrite)


def require_image_suffix(path: str | Path) -> str:
    """Return the suffix of a path to write to; InputError if it names no format we write."""
    suffix = Path(path).suffix.lower()
    if suffix not in WRITERS:
        what = f"the suffix {suffix!r} names no image format" if suffix else "it has no suffix"
        raise InputError(f"cannot write {path}: {what}. Use one of {', '.join(WRITERS)}.")
    return suffix
