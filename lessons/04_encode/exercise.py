"""Lesson 4: encode. Sixteen numbers that a small network can work with.

Write `encode`; the story is in README.md beside this file.

    uv (B, 2), feature_grid (gh, gw, 3)  ->  features (B, 16)

Check your work with `python -m lessons check 4`.
"""

from numba import cuda, float32

from kernels.config import FEATURES, FOURIER_OCTAVES, GRID_CHANNELS, SUB_CELL_FEATURES, THREADS
from kernels.field_math import bilinear, neighbours, sine_of_turns
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def encode(uv, feature_grid, features):
    """Encode one batch; one thread per sample.

    uv: (B, 2) float32 in [0, 1). feature_grid: (gh, gw, 3) float32.
    Writes features (B, 16) float32.
    """
    # A cosine is a sine that started a quarter turn earlier.
    raise NotImplementedError("write me")


def launch_encode(uv, feature_grid, features, launch=on_gpu):
    launch(encode, blocks_for(uv.shape[0]), THREADS, uv, feature_grid, features)
