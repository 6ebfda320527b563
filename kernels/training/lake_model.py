"""A trained network as a `.lake` file, and back; and one texel of such a file, read alone."""

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from kernels.bits import lake_file
from kernels.bits.cells import WORD
from kernels.bits.texel import HIDDEN, INPUTS, blend_cells, describe
from kernels.config import COLOURS, FEATURES, GRID_CHANNELS, OUTPUTS, Config
from kernels.field_math import pixel_centre
from kernels.files.atomic import make_output_folder, refuse_to_replace, write_atomically
from kernels.files.images import to_uint8
from kernels.files.psnr import psnr_label, psnr_of_loss
from kernels.plumbing.errors import InputError
from kernels.state import State, initial_state
from kernels.training.archive import Unfit, open_file, unusable
from kernels.training.backend import BackendFactory

SUFFIX = ".lake"

# ---------------------------------------------------------------- a whole picture


def save_lake(
    path: Path, image: np.ndarray, config: Config, state: State, factory: BackendFactory, anew: bool
) -> dict[str, Any]:
    """Write what was learned of an image with `config.bits`; read it back, and tell how good it is.

    anew: whether a file may be replaced. Raises `InputError` if the file cannot be written.
    """
    height, width, _ = image.shape
    content = to_bytes(config, state, width, height)
    write_atomically(path, lambda file: file.write(content), anew)
    _, stored, _, _ = model_of(lake_file.from_bytes(content, str(path)))
    return {
        "lake": str(path),
        "lake_bytes": len(content),
        "lake_bits_per_pixel": 8 * len(content) / (width * height),
        "lake_psnr_db": psnr_of_loss(factory(image, config, stored).mean_squared_error()),
    }


def to_bytes(config: Config, state: State, width: int, height: int) -> bytes:
    """The file of a picture of width x height pixels. state: with the exact grid."""
    steps, half = np.float32((1 << config.bits) - 1), np.float32(0.5)
    values = np.clip(state.feature_grid.reshape(-1), np.float32(-1), np.float32(1))
    words = packed(np.floor((values + np.float32(1)) * half * steps + half), config.bits)
    weights = lake_file.weights_to_store(state.weights)
    sizes = config.grid_width, config.grid_height, width, height, config.bits
    return lake_file.to_bytes(lake_file.Lake(*sizes, words, weights))


def verdict(summary: dict[str, Any]) -> str:
    """What the last line of a run says of its `.lake` file; "" if it has written none."""
    if "lake" not in summary:
        return ""
    size = f"{summary['lake_bytes']:,} bytes, {summary['lake_bits_per_pixel']:.3f} bits per pixel"
    return f"; {summary['lake']}: {psnr_label(summary['lake_psnr_db'])} with {size}"


def is_lake(path: Path) -> bool:
    """Whether a file begins as a `.lake` file does."""
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as file:
                return file.read(len(lake_file.MAGIC)) == lake_file.MAGIC
    return False


def load_lake(path: Path) -> tuple[Config, State, int, int]:
    """As `checkpoint.load_model`. Raises `InputError` if the file is damaged."""
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        lake_file.sizes_in(file.read(lake_file.HEADER.size), size, str(path))
        file.seek(0)  # so far nothing was believed, and no more than a header read
        return model_of(lake_file.from_bytes(file.read(size), str(path)))


def model_of(lake: lake_file.Lake) -> tuple[Config, State, int, int]:
    """The usual network, and a grid that needs no rounding any more."""
    config = Config(grid_width=lake.columns, grid_height=lake.rows)
    levels = unpacked(lake.words, lake.bits, lake.columns * lake.rows * GRID_CHANNELS)
    grid = (2 * levels).astype(np.float32) / np.float32((1 << lake.bits) - 1) - np.float32(1)
    first, second, third = layers_of(lake.weights)
    into, out = np.zeros((FEATURES, HIDDEN)), np.zeros((HIDDEN, OUTPUTS))
    into[:INPUTS], out[:, :COLOURS] = first, third
    weights = np.concatenate([part.ravel() for part in (into, second, out)]).astype(np.float32)
    state = initial_state(config)
    grid = grid.reshape(state.feature_grid.shape)
    return config, state._replace(feature_grid=grid, weights=weights), lake.width, lake.height


def layers_of(weights: np.ndarray) -> list[np.ndarray]:
    """The matrices of the three layers: (14, 32), (32, 32), (32, 3)."""
    begin = INPUTS * HIDDEN
    parts = np.split(weights, [begin, begin + HIDDEN * HIDDEN])
    return [
        part.reshape(-1, units)
        for part, units in zip(parts, (HIDDEN, HIDDEN, COLOURS), strict=True)
    ]


def packed(levels: np.ndarray, bits: int) -> np.ndarray:
    """(m,) uint32, as `pack_cells` makes them, of levels (n,)."""
    levels, used = levels.astype(np.int32), len(levels) * bits
    stream = np.zeros(-(-used // WORD) * WORD, np.uint8)  # a bit each
    for bit in range(bits):
        stream[bit:used:bits] = levels >> bit & 1
    return np.packbits(stream, bitorder="little").view("<u4").astype(np.uint32)


def unpacked(words: np.ndarray, bits: int, count: int) -> np.ndarray:
    """(count,) int32: the levels in words (m,) uint32."""
    octets = words.astype("<u4").view(np.uint8)
    stream = np.unpackbits(octets, count=count * bits, bitorder="little")
    levels = np.zeros(count, np.int32)
    for bit in range(bits):
        levels |= stream[bit::bits].astype(np.int32) << bit
    return levels


# ---------------------------------------------------------------- one texel


class WordsOfFile:
    """The words of a grid, each read from the file when it is asked for. read: which were."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.read: set[int] = set()

    def __getitem__(self, index: int) -> int:
        self.read.add(int(index))
        self.file.seek(lake_file.HEADER.size + 4 * int(index))
        return int.from_bytes(self.file.read(4), "little")


def read_texel(path: Path, column: int, row: int) -> tuple[np.ndarray, int]:
    """One texel, and how many bytes of the grid were read for it; colour (3,) float32 in [0, 1].

    column, row: from the upper left corner, from 0. Raises `InputError` if the file is damaged, or
    has no such texel.
    """
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        beginning = file.read(lake_file.HEADER.size)
        columns, rows, width, height, bits = lake_file.sizes_in(beginning, size, str(path))
        if not (column < width and row < height):
            raise InputError(
                f"{path} has {width} x {height} texels, so none at {column},{row}: count from 0"
            )
        words = WordsOfFile(file)
        u, v = pixel_centre(row * width + column, width, height)
        activations = np.empty(INPUTS, np.float32)
        x, y = blend_cells(u, v, words, bits, columns, rows, activations)
        describe(u, v, x, y, activations)
        file.seek(lake_file.HEADER.size + 4 * lake_file.word_count(columns, rows, bits))
        layers = layers_of(lake_file.weights_in(file.read(), str(path)))
    for layer in layers:
        sums = activations @ layer
        activations = np.maximum(sums, 0)
    return 1 / (1 + np.exp(-sums)), 4 * len(words.read)


def texel_in_words(path: Path, column: int, row: int) -> str:
    colour, count = read_texel(path, column, row)
    red, green, blue = to_uint8(colour[None, None])[0, 0]
    return (
        f"texel {column},{row}: #{red:02x}{green:02x}{blue:02x}, read with {count} bytes of the "
        "grid, and the weights"
    )


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with open_file(path, "model") as file:
            yield file
    except Unfit as error:
        raise unusable(path, "model", str(error)) from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


# ---------------------------------------------------------------- where a run leaves it


def file_to_write(options: argparse.Namespace, folder: Path, picture: Path) -> Path:
    """The file that --to names, or the one in the run's folder. picture: the one to learn.

    Raises `InputError` now if it could not be written at the end.
    """
    if options.to is None:
        return folder / lake_file.FILE
    path = Path(options.to)
    if path.suffix != SUFFIX:
        raise InputError(f"cannot write {path}: --bits writes a file that ends in {SUFFIX}")
    refuse_to_replace(path, options.overwrite)
    if path.exists() and path.samefile(picture):
        raise InputError(f"{path} is the picture to learn: give --to another name")
    if not path.parent.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {path.parent}")
    make_output_folder(path.parent)  # proves that a file can be written there
    return path
