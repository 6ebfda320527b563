"""The lab's engines against Numba's CUDA simulator: the same kernels, in one run.

    python -m benchmarks.lab_speed

1. A sum of 2,048 numbers, 8 blocks of 256 threads with a barrier per round, on the checked
   simulator with every check on.
2. A tiled matrix product, blocks of 16 x 16 threads, on the native engine with bounds checks on.
   Numba's simulator takes seconds for one small product, so it multiplies a small matrix and the
   engine a large one of the same inner length: the ratio is that of the time *per thread*.

Rounds alternate between the two sides; a figure is the median of its rounds. Numba's simulator is
chosen when Numba is first imported, so each side lives in a process of its own.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from numba import cuda, float32

from kernels.training.devices import cpu_name
from kernels.training.results import versions

RESULTS = Path(__file__).resolve().parent / "results"
BLOCKS, THREADS = 8, 256
TILE = 16
INNER = 64
SMALL, LARGE = 32, 1024  # rows and columns of the product: for the simulator, for the engine


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


def seconds(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def sum_with(run):
    """Seconds of the sum on `run(kernel, blocks, threads, *arguments)`, its result checked."""
    values = np.random.default_rng(1).random(BLOCKS * THREADS, np.float32)
    total = np.zeros(1, np.float32)
    taken = seconds(lambda: run(block_sum, BLOCKS, THREADS, values, total))
    np.testing.assert_allclose(total[0], values.sum(dtype=np.float64), rtol=1e-5)
    return taken


def product_with(run, size):
    """Seconds per thread of the product; its result is checked."""
    random = np.random.default_rng(2)
    a, b = random.random((size, INNER), np.float32), random.random((INNER, size), np.float32)
    c = np.zeros((size, size), np.float32)
    blocks = size // TILE, size // TILE
    taken = seconds(lambda: run(matrix_product, blocks, (TILE, TILE), a, b, c))
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=1e-4)
    return taken / (size * size)


def numba_simulator(rounds):
    def run(kernel, blocks, threads, *arguments):
        kernel[blocks, threads](*arguments)

    for _ in range(rounds):
        yield sum_with(run), product_with(run, SMALL)


def lab(rounds):
    from lessons.lab.compiled.engine import launch
    from lessons.lab.simulator.run import checked_run

    def run(*arguments):
        report = checked_run(*arguments)
        assert report.ok, report

    sum_with(run), product_with(launch, LARGE)  # compile, and ask Numba for its types
    for _ in range(rounds):
        yield sum_with(run), product_with(launch, LARGE)


SIDES = {"numba-simulator": numba_simulator, "lab": lab}


def start(side, rounds):
    """A process that measures one round for each line it is sent, and prints what it found."""
    environment = dict(os.environ, NUMBA_ENABLE_CUDASIM="1" if side == "numba-simulator" else "0")
    command = [
        sys.executable,
        "-m",
        "benchmarks.lab_speed",
        "--side",
        side,
        "--rounds",
        str(rounds),
    ]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)


def one_round(process):
    process.stdin.write("\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def measure_side(side, rounds):
    results = SIDES[side](rounds)
    for _ in sys.stdin:
        print(json.dumps(next(results)), flush=True)


def compare(rounds):
    processes = {side: start(side, rounds) for side in SIDES}
    results = {side: [] for side in SIDES}
    for _ in range(rounds):
        for side, process in processes.items():
            results[side].append(one_round(process))
    for process in processes.values():
        process.communicate()
    rows = []
    for side, found in results.items():
        sums, products = zip(*found, strict=True)
        rows.append(
            {
                "engine": side,
                "block_sum_seconds": statistics.median(sums),
                "matrix_product_seconds_per_thread": statistics.median(products),
            }
        )
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--save", metavar="NAME", help="write benchmarks/results/NAME.json")
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        measure_side(options.side, options.rounds)
        return

    rows = compare(options.rounds)
    theirs, ours = rows
    sums = theirs["block_sum_seconds"] / ours["block_sum_seconds"]
    product = "matrix_product_seconds_per_thread"
    products = theirs[product] / ours[product]
    for row in rows:
        print(
            f"{row['engine']:>16}: sum of {BLOCKS} x {THREADS} threads "
            f"{row['block_sum_seconds']:.4f} s, "
            f"product {row['matrix_product_seconds_per_thread'] * 1e6:.3f} us per thread"
        )
    print(f"checked simulator: {sums:,.0f} times faster; native engine: {products:,.0f} times")
    if options.save:
        report = {
            "date": time.strftime("%Y-%m-%d"),
            "device": cpu_name(),
            "versions": versions(),
            "command": f"python -m benchmarks.lab_speed --save {options.save}",
            "rows": rows,
            "checked_ratio": sums,
            "native_ratio": products,
        }
        (RESULTS / f"{options.save}.json").write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
