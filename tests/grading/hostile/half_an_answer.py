"""The first half of an answer, and then nothing."""
# like: zeros

import io
import os
import sys

from numba import cuda

from kernels.config import TILE
from kernels.launch import blocks_for, on_gpu

worker = sys.modules["lessons.grading.worker.process"]
honest_send = worker.send


def send(pipe, content, arrays=()):
    memory = io.BytesIO()
    honest_send(memory, content, arrays)
    pipe.write(memory.getvalue()[: len(memory.getvalue()) // 2])
    pipe.flush()
    os._exit(0)


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
