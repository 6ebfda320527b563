"""The lab's engines against Numba's CUDA simulator: the same kernels, in one run.

    python -m benchmarks.lab_speed

Five kernels that everybody writes: saxpy, a tiled matrix product, a histogram in shared memory, a
tree reduction, a Mandelbrot set. Each runs on Numba's simulator, on the checked simulator with
every check on, and on the native engine with bounds checks on. Numba's simulator takes seconds for
a few thousand threads, so the native engine gets larger inputs, and all figures are times *per
thread*. The inner lengths are the same: of the matrices, of the bins, of the rounds per pixel.

A last row: one million threads of checked saxpy, with the memory that its process takes at most.

Rounds alternate between the sides; a figure is the median of its rounds. Engines are warm: what is
compiled once per kernel is compiled before. Numba's simulator is chosen when Numba is first
imported, so each side lives in a process of its own.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

import numpy as np
from numba import cuda, float32, int32

from benchmarks.machine import parser_of, save

THREADS, TILE, INNER, BINS, ROUNDS = 256, 16, 64, 32, 600
MILLION = 1 << 20


@cuda.jit
def saxpy(a, x, y, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = a * x[i] + y[i]


@cuda.jit
def matrix_product(a, b, c):
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.grid(2)
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for first in range(0, a.shape[1], TILE):
        a_tile[row, column] = a[y, first + column]
        b_tile[row, column] = b[first + row, x]
        cuda.syncthreads()
        for k in range(TILE):
            total += a_tile[row, k] * b_tile[k, column]
        cuda.syncthreads()
    c[y, x] = total


@cuda.jit
def histogram(values, counts):
    own = cuda.shared.array(BINS, int32)
    thread = cuda.threadIdx.x
    if thread < BINS:
        own[thread] = 0
    cuda.syncthreads()
    cuda.atomic.add(own, values[cuda.grid(1)], 1)
    cuda.syncthreads()
    if thread < BINS:
        cuda.atomic.add(counts, thread, own[thread])


@cuda.jit
def block_sum(values, total):
    partial = cuda.shared.array(THREADS, float32)
    thread = cuda.threadIdx.x
    partial[thread] = values[cuda.grid(1)]
    active = THREADS // 2
    while active > 0:
        cuda.syncthreads()
        if thread < active:
            partial[thread] += partial[thread + active]
        active //= 2
    if thread == 0:
        cuda.atomic.add(total, 0, partial[0])


@cuda.jit
def mandelbrot(out):
    x, y = cuda.grid(2)
    real = float32(x) / float32(out.shape[1]) * float32(3) - float32(2)
    imaginary = float32(y) / float32(out.shape[0]) * float32(2) - float32(1)
    a, b, rounds = float32(0), float32(0), 0
    while rounds < ROUNDS and a * a + b * b < float32(4):
        a, b = a * a - b * b + real, float32(2) * a * b + imaginary
        rounds += 1
    out[y, x] = rounds


# ---------------------------------------------------------------- launches, with their results


class Launch(NamedTuple):
    """check(): raises `AssertionError` if the arguments do not hold the right result."""

    kernel: object
    blocks: object
    threads: object
    arguments: tuple
    check: object


def saxpy_launch(size):
    x, y, out = random(size), random(size), np.zeros(size, np.float32)

    def check():
        np.testing.assert_allclose(out, np.float32(2) * x + y, rtol=1e-6)

    return Launch(saxpy, size // THREADS, THREADS, (np.float32(2), x, y, out), check)


def product_launch(size):
    side = int(size**0.5)
    a, b = random(side, INNER), random(INNER, side)
    c = np.zeros((side, side), np.float32)

    def check():
        np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=1e-4)

    blocks = side // TILE, side // TILE
    return Launch(matrix_product, blocks, (TILE, TILE), (a, b, c), check)


def histogram_launch(size):
    values = np.random.default_rng(3).integers(0, BINS, size).astype(np.int32)
    counts = np.zeros(BINS, np.int32)

    def check():
        np.testing.assert_array_equal(counts, np.bincount(values, minlength=BINS))

    return Launch(histogram, size // THREADS, THREADS, (values, counts), check)


def sum_launch(size):
    values, total = random(size), np.zeros(1, np.float32)

    def check():
        np.testing.assert_allclose(total[0], values.sum(dtype=np.float64), rtol=1e-4)

    return Launch(block_sum, size // THREADS, THREADS, (values, total), check)


def mandelbrot_launch(size):
    side = int(size**0.5)
    out = np.zeros((side, side), np.int32)

    def check():
        # Inside the cardioid, no point ever leaves; far outside, all do within a few rounds.
        assert out[side // 2, int(side * 0.6)] == ROUNDS and out[0, 0] < 3

    return Launch(mandelbrot, (side // TILE, side // TILE), (TILE, TILE), (out,), check)


def random(*shape):
    return np.random.default_rng(sum(shape)).random(shape, np.float32)


LAUNCHES = {
    "saxpy": saxpy_launch,
    "tiled matrix product": product_launch,
    "shared histogram": histogram_launch,
    "tree reduction": sum_launch,
    "Mandelbrot set": mandelbrot_launch,
}
SMALL, LARGE = 4096, MILLION  # threads: for the simulators, for the native engine


# ---------------------------------------------------------------- the sides


def seconds_per_thread(make, size, run):
    launch = make(size)
    begin = time.perf_counter()
    run(launch.kernel, launch.blocks, launch.threads, *launch.arguments)
    taken = time.perf_counter() - begin
    launch.check()
    return taken / size


def on_numba_simulator(kernel, blocks, threads, *arguments):
    kernel[blocks, threads](*arguments)


def checked(*arguments):
    from lessons.lab.simulator.run import checked_run

    report = checked_run(*arguments)
    assert report.ok, report


def native(*arguments):
    from lessons.lab.compiled.engine import launch

    launch(*arguments)


def rounds_of(run, size, warm_up):
    """Yields, per round, the seconds per thread of each kernel, after so many to warm up."""
    for make in LAUNCHES.values():
        for _ in range(warm_up):
            seconds_per_thread(make, size, run)
    while True:
        yield {name: seconds_per_thread(make, size, run) for name, make in LAUNCHES.items()}


def rounds_of_a_million():
    """Yields the seconds of one million threads of checked saxpy, and the most memory in bytes."""
    seconds_per_thread(saxpy_launch, MILLION, checked)
    while True:
        taken = seconds_per_thread(saxpy_launch, MILLION, checked) * MILLION
        yield {"seconds": taken, "bytes": most_memory()}


def most_memory():
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


SIDES = {
    "numba-simulator": lambda: rounds_of(on_numba_simulator, SMALL, 0),
    "checked": lambda: rounds_of(checked, SMALL, 15),
    "native": lambda: rounds_of(native, LARGE, 1),
    "million": rounds_of_a_million,
}


def start(side):
    """A process that measures one round for each line it is sent, and prints what it found."""
    environment = dict(os.environ, NUMBA_ENABLE_CUDASIM="1" if side == "numba-simulator" else "0")
    command = [sys.executable, "-m", "benchmarks.lab_speed", "--side", side]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)


def one_round(process):
    process.stdin.write("\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def measure_side(side):
    results = SIDES[side]()
    for _ in sys.stdin:
        print(json.dumps(next(results)), flush=True)


def compare(rounds):
    """Side -> the median of each of its figures."""
    processes = {side: start(side) for side in SIDES}
    results = {side: [] for side in SIDES}
    for _ in range(rounds):
        for side, process in processes.items():
            results[side].append(one_round(process))
    for process in processes.values():
        process.communicate()
    return {
        side: {name: statistics.median(found[name] for found in all_found) for name in all_found[0]}
        for side, all_found in results.items()
    }


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="of each side (default: 3)")
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        measure_side(options.side)
        return

    medians = compare(options.rounds)
    million = medians.pop("million")
    theirs = medians.pop("numba-simulator")
    rows = []
    for name, slow in theirs.items():
        row = {"kernel": name, "numba_simulator_us_per_thread": slow * 1e6}
        for side, found in medians.items():
            row[f"{side}_us_per_thread"] = found[name] * 1e6
            row[f"{side}_ratio"] = slow / found[name]
        rows.append(row)
        print(
            f"{name:>20}: Numba's simulator {slow * 1e6:8.1f} us per thread, "
            f"checked {row['checked_us_per_thread']:6.2f} ({row['checked_ratio']:,.0f} times), "
            f"native {row['native_us_per_thread']:7.4f} ({row['native_ratio']:,.0f} times)"
        )
    print(
        f"{MILLION:,} threads of checked saxpy: {million['seconds']:.2f} s, "
        f"{million['bytes'] / 1e9:.2f} GB"
    )
    threads = {"simulators": SMALL, "native": LARGE}
    save(options.save, threads=threads, rows=rows, million_threads_of_saxpy=million)


if __name__ == "__main__":
    main()
