"""Launching: how many blocks, and on what.

Every stage ends in a function `launch_*` that knows its kernel's grid and block. It passes them to
a launcher, `launch(kernel, blocks, threads, *arguments)`. The usual one starts the kernel on the
GPU; the lab has others that run the very same kernel without one (`lessons/lab`).
"""

from kernels.config import THREADS
from kernels.plumbing.front_end import compiled_for_gpu


def blocks_for(items, threads=THREADS):
    """Number of blocks of `threads` threads that cover `items`: division, rounded up."""
    return (items + threads - 1) // threads


def on_gpu(kernel, blocks, threads, *arguments):
    """Start `kernel` on the GPU. blocks, threads: an int, or a tuple (x, y) or (x, y, z)."""
    compiled_for_gpu(kernel)[blocks, threads](*arguments)


def on_stream(stream):
    """A launcher that starts kernels on a stream; on that of a graph's builder, it records them."""

    def launch(kernel, blocks, threads, *arguments):
        compiled_for_gpu(kernel)[blocks, threads, stream](*arguments)

    return launch
