"""Blocks of 32 x 8."""

from kernels.launch import blocks_for, on_gpu


def launch_over_pixels(kernel, source, result, launch=on_gpu):
    height, width = result.shape[:2]
    launch(kernel, (blocks_for(width, 32), blocks_for(height, 8)), (32, 8), source, result)
