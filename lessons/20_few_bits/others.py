"""What other ways make of a picture: bits per pixel, and dB. JPEG, WebP, a small BC1 and BC7."""

import io

import numpy as np
from PIL import Image

from kernels.files.images import to_uint8
from kernels.files.psnr import psnr

QUALITIES = 5, 10, 15, 20, 30, 40, 50, 60, 75, 85, 92
BLOCK = 4  # pixels on a side of a block
REFITS = 3
# Of the second stored colour, in each of a block's colours.
FOUR = np.array([0, 1, 1 / 3, 2 / 3])
SIXTEEN = np.array([0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64]) / 64


def in_565(colours):
    steps = np.array([31, 63, 31])
    return np.round(np.clip(colours, 0, 1) * steps) / steps


def in_777(colours):
    """Seven bits each, and an eighth, lowest one for all three: the better of 0 and 1."""
    levels = np.clip(colours, 0, 1) * 255
    both = np.stack([np.round(np.clip(levels - low, 0, 254) / 2) * 2 + low for low in (0, 1)])
    better = ((both - levels) ** 2).sum(axis=-1, keepdims=True).argmin(axis=0)
    return np.where(better == 0, both[0], both[1]) / 255


# Bits of a block, how its two stored colours are rounded, and shares. Of BC7 it is mode 6 of eight.
FORMATS = {"BC1": (64, in_565, FOUR), "BC7": (128, in_777, SIXTEEN)}


def curves(image):
    """Name -> (bits per pixel, dB), one each per quality. image: (H, W, 3) float in [0, 1].

    JPEG without colour subsampling, and with the best Huffman tables for it.
    """
    pixels = Image.fromarray(to_uint8(image))
    ways = {
        "JPEG": {"format": "JPEG", "subsampling": 0, "optimize": True},
        "WebP": {"format": "WEBP", "method": 6},
    }
    found = {
        name: np.array([coded(pixels, image, {**how, "quality": q}) for q in QUALITIES]).T
        for name, how in ways.items()
    }
    for name, (bits, *_) in FORMATS.items():
        found[name] = np.array([[bits / BLOCK**2], [psnr(in_blocks(image, name), image)]])
    return found


def coded(pixels, image, how):
    """(bits per pixel, dB) of a picture that is written and read again."""
    file = io.BytesIO()
    pixels.save(file, **how)
    with Image.open(file) as read:
        again = np.asarray(read.convert("RGB"), np.float32) / 255
    return file.tell() * 8 / (pixels.width * pixels.height), psnr(again, image)


def in_blocks(image, name):
    """The picture (H, W, 3) as blocks of 4 x 4 pixels. name: of their format.

    The stored colours begin at the ends of the block's main axis. Then, in turns, each pixel takes
    its nearest colour, and the two are fitted to that by least squares.
    """
    _, rounded, shares = FORMATS[name]
    height, width, _ = image.shape
    padded = np.pad(image, ((0, -height % BLOCK), (0, -width % BLOCK), (0, 0)), mode="edge")
    rows, columns = padded.shape[0] // BLOCK, padded.shape[1] // BLOCK
    blocks = padded.reshape(rows, BLOCK, columns, BLOCK, 3).swapaxes(1, 2).reshape(-1, BLOCK**2, 3)
    blocks = blocks.astype(np.float64)

    middle = blocks.mean(axis=1, keepdims=True)
    away = blocks - middle
    axis = np.linalg.eigh(np.einsum("npc, npd -> ncd", away, away))[1][:, :, -1]
    along = np.einsum("npc, nc -> np", away, axis)
    ends = np.stack([along.min(axis=1), along.max(axis=1)], axis=1)
    best = nearest(blocks, rounded(middle + ends[:, :, np.newaxis] * axis[:, np.newaxis]), shares)
    for _ in range(REFITS):
        again = nearest(blocks, rounded(fitted(blocks, best[1])), shares)
        better = again[2] < best[2]
        best = [np.where(better, new, old) for new, old in zip(again, best, strict=True)]
    painted = best[0].reshape(rows, columns, BLOCK, BLOCK, 3).swapaxes(1, 2)
    return painted.reshape(padded.shape)[:height, :width].astype(np.float32)


def nearest(blocks, stored, shares):
    """The painted blocks (N, 16, 3), shares (N, 16, 1) of the second colour, errors (N, 1, 1)."""
    few = stored[:, :1] * (1 - shares)[:, np.newaxis] + stored[:, 1:] * shares[:, np.newaxis]
    distances = ((blocks[:, :, np.newaxis] - few[:, np.newaxis]) ** 2).sum(axis=3)
    taken = distances.argmin(axis=2)
    painted = np.take_along_axis(few, taken[:, :, np.newaxis], axis=1)
    errors = distances.min(axis=2).sum(axis=1)
    return [painted, shares[taken][:, :, np.newaxis], errors[:, np.newaxis, np.newaxis]]


def fitted(blocks, shares):
    """(N, 2, 3): the two colours that come nearest to each block, with these shares."""
    a = np.concatenate([1 - shares, shares], axis=2)
    square = np.einsum("npi, npj -> nij", a, a) + 1e-6 * np.eye(2)
    return np.linalg.solve(square, np.einsum("npi, npc -> nic", a, blocks))
