"""Compile every kernel to PTX for one compute capability, on a machine with or without a GPU.

    python -m tests.compile_kernels 9.0

prints one JSON object: kernel name -> how many lines of PTX use double precision or local memory.
A process of its own, because Numba's simulator, in which the tests run, cannot compile.
"""

import json
import sys
from types import SimpleNamespace

from numba import cuda, float32, int32, int64, typeof, uint64
from numba.cuda import dispatcher

from kernels import adam, backward, encode, image_ops, matmul, mlp_forward, sampler
from kernels.config import Config

vector = float32[::1]
matrix = float32[:, ::1]
cube = float32[:, :, ::1]
adam_rates = typeof(Config().adam_rates)

SIGNATURES = {
    sampler.sample_batch: (cube, uint64, uint64, matrix, matrix),
    sampler.pixel_centres: (int64, int32, int32, matrix),
    encode.encode: (matrix, cube, matrix),
    matmul.matmul_naive: (matrix, matrix, matrix),
    matmul.matmul_tiled: (matrix, matrix, matrix),
    mlp_forward.mlp_forward: (matrix, vector, cube, matrix),
    backward.backward: (
        matrix, matrix, cube, matrix, matrix, vector, vector, cube, vector,
    ),  # fmt: skip
    adam.adam_weights: (
        vector, vector, vector, vector, int32, matrix, float32, adam_rates,
    ),  # fmt: skip
    adam.adam_grid: (
        cube, cube, cube, cube, int32[:, ::1], matrix, float32, adam_rates,
    ),  # fmt: skip
    image_ops.grayscale: (cube, matrix),
    image_ops.downsample: (cube, cube),
    image_ops.upsample: (cube, cube),
}


def compile_to_ptx(kernel, signature, capability):
    # Functions called from a kernel ask the current device what to compile for; there may be none.
    device = SimpleNamespace(compute_capability=capability)
    dispatcher.get_current_device = lambda: device
    ptx, _ = cuda.compile_ptx(kernel.py_func, signature, cc=capability)
    return ptx


def count_lines(ptx, word):
    return sum(word in line for line in ptx.splitlines())


def main():
    major, minor = map(int, sys.argv[1].split("."))
    report = {}
    for kernel, signature in SIGNATURES.items():
        ptx = compile_to_ptx(kernel, signature, (major, minor))
        report[kernel.py_func.__name__] = {
            "target": f"sm_{major}{minor}" in ptx,
            "double": count_lines(ptx, ".f64"),
            "local": count_lines(ptx, ".local"),
        }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
