"""What other ways make of a picture: bits per pixel, and dB. JPEG, WebP, and a small BC1."""

import io

import numpy as np
from PIL import Image

from kernels.files.images import to_uint8
from kernels.files.psnr import psnr

QUALITIES = 5, 10, 15, 20, 30, 40, 50, 60, 75, 85, 92
BLOCK = 4  # pixels on a side of a block of BC1, which has 64 bits
BC1_BITS = 64 / BLOCK**2
REFITS = 3
SHARES = np.array([0, 1, 1 / 3, 2 / 3])  # of the second colour, in each of the four of a block


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
    found["BC1"] = np.array([[BC1_BITS], [psnr(bc1(image), image)]])
    return found


def coded(pixels, image, how):
    """(bits per pixel, dB) of a picture that is written and read again."""
    file = io.BytesIO()
    pixels.save(file, **how)
    with Image.open(file) as read:
        again = np.asarray(read.convert("RGB"), np.float32) / 255
    return file.tell() * 8 / (pixels.width * pixels.height), psnr(again, image)


def bc1(image):
    """The picture (H, W, 3) as blocks of 4 x 4 pixels with four colours each, two of them stored.

    The stored ones begin at the ends of the block's main axis. Then, in turns, each pixel takes its
    nearest colour, and the two are fitted to that by least squares. They have 5, 6 and 5 bits.
    """
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
    stored = in_565(middle + ends[:, :, np.newaxis] * axis[:, np.newaxis])
    best, least = nearest(blocks, stored)
    for _ in range(REFITS):
        found = in_565(fitted(blocks, best[1]))
        again, error = nearest(blocks, found)
        better = error < least
        choose = better[:, np.newaxis, np.newaxis]
        best = np.where(choose, again[0], best[0]), np.where(choose, again[1], best[1])
        least = np.minimum(error, least)
    painted = best[0].reshape(rows, columns, BLOCK, BLOCK, 3).swapaxes(1, 2)
    return painted.reshape(padded.shape)[:height, :width].astype(np.float32)


def in_565(colours):
    steps = np.array([31, 63, 31])
    return np.round(np.clip(colours, 0, 1) * steps) / steps


def nearest(blocks, stored):
    """((the painted blocks (N, 16, 3), the shares (N, 16, 1) of the second colour), error (N,))."""
    four = stored[:, :1] * (1 - SHARES)[:, np.newaxis] + stored[:, 1:] * SHARES[:, np.newaxis]
    distances = ((blocks[:, :, np.newaxis] - four[:, np.newaxis]) ** 2).sum(axis=3)
    taken = distances.argmin(axis=2)
    painted = np.take_along_axis(four, taken[:, :, np.newaxis], axis=1)
    return (painted, SHARES[taken][:, :, np.newaxis]), distances.min(axis=2).sum(axis=1)


def fitted(blocks, shares):
    """(N, 2, 3): the two colours that come nearest to each block, with these shares."""
    a = np.concatenate([1 - shares, shares], axis=2)
    square = np.einsum("npi, npj -> nij", a, a) + 1e-6 * np.eye(2)
    return np.linalg.solve(square, np.einsum("npi, npc -> nic", a, blocks))
