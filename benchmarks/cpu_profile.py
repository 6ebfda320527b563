"""Where the CPU backend's time goes, against what the processor can do, and how it scales.

    python -m benchmarks.cpu_profile --save cpu-profile

First whole steps with 1, 2, 4, ... threads, each in a process of its own. The peak is measured, in
turn with the steps, in the same threads: chains of multiply-adds in the first-level cache. PyTorch,
where it is installed, has a process that takes the same numbers of threads one after another. Of
all three, the fastest of several short windows counts. Then stages are timed one by one on one
thread, block after block of 512 samples, at the points that a step draws: what stays in the cache
in training stays there.
"""

import argparse
import importlib.util
import json
import math
import os
import subprocess
import sys
import time
from functools import partial

import numba
import numpy as np
from numba import float32

from benchmarks.cpu_step import keep_freed_memory, multiply_adds_per_sample, pytorch
from benchmarks.machine import RESULTS, description
from kernels.adam import bias_corrections
from kernels.config import Config
from kernels.cpu import step as cpu
from kernels.cpu.adam import adam_grid_rows
from kernels.cpu.compile import compiled
from kernels.files.images import load_image
from kernels.state import initial_state
from kernels.training.cpu_backend import CpuBackend

LAKE = "images/lake.png"
CHAINS = 192  # 12 vectors of 16: enough to hide the latency of a multiply-add
ROUNDS = 2_000_000  # some 10 ms
WINDOWS, STEPS = 12, 20  # of ours and of the peak, and steps in a window
PYTORCH_WINDOWS, PYTORCH_STEPS = 4, 10


@numba.njit(fastmath=True)
def multiply_add(values, rounds):
    a, b = float32(0.999), float32(0.001)
    x = values.copy()
    for _ in range(rounds):
        for i in range(CHAINS):
            x[i] = x[i] * a + b
    return x.sum()


@numba.njit(parallel=True)
def multiply_add_on(threads, values, rounds):
    sums = np.zeros(threads)
    for thread in numba.prange(threads):
        sums[thread] = multiply_add(values, rounds)
    return sums


def step_flops(config):
    return 2 * multiply_adds_per_sample(config) * config.batch


def seconds_of(run, rounds=7):
    """The fastest of several rounds: others may have shared the machine."""
    run()
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return min(times)


def whole_step(threads):
    """The default training on so many threads, and the measured peak, in turn."""
    numba.set_num_threads(threads)
    config, values = Config(), np.ones(CHAINS, np.float32)
    backend = CpuBackend(load_image(LAKE), config, initial_state(config), threads)
    rates = np.full((STEPS, 2), 0.001, np.float32)
    windows = [
        (
            seconds_of(lambda: backend.run(1, rates), 1),
            seconds_of(lambda: multiply_add_on(threads, values, ROUNDS), 1),
        )
        for _ in range(WINDOWS)
    ]
    seconds, peak_seconds = map(min, zip(*windows, strict=True))
    return {
        "threads": threads, "us_per_step": seconds / STEPS * 1e6,
        "peak_gflops": 2 * CHAINS * ROUNDS * threads / peak_seconds * 1e-9,
    }  # fmt: skip


def pytorch_steps(counts):
    """Prints a JSON object for each number of threads: PyTorch's microseconds per step."""
    os.environ.pop("OMP_WAIT_POLICY", None)  # as in `cpu_step.work`
    import torch

    keep_freed_memory()
    for threads in counts:
        torch.set_num_threads(threads)
        torch._dynamo.reset()  # what was compiled knows how many threads it has
        run = pytorch(load_image(LAKE), Config(), compiled=True)
        seconds = seconds_of(lambda run=run: run(PYTORCH_STEPS), PYTORCH_WINDOWS) / PYTORCH_STEPS
        print(json.dumps({"threads": threads, "pytorch_us": seconds * 1e6}), flush=True)


@compiled
def blocks_of(
    stage, points, places, corners, shares, uv, target, features, hidden, outputs, deltas, grads,
    grid_grad, image, state,
):  # fmt: skip
    for block in range(points.shape[0]):
        if stage == 0:
            cpu.draw_uv(np.uint64(1), 5, block * 512, uv)
        elif stage == 1:
            cpu.find_corners(points[block], image, corners, shares)
            cpu.blend_corners(image, corners, shares, target)
        elif stage == 2:
            cpu.encode(points[block], state.feature_grid, corners, shares, features)
        elif stage == 3:
            cpu.mlp_forward(features, state.weights, hidden, outputs)
        elif stage == 4:
            cpu.output_delta(outputs, target, 512, float32(1e-5), deltas[0])
        elif stage == 5:
            cpu.mlp_backward(features, state.weights, hidden, deltas, grads)
        elif stage == 6:
            cpu.scatter(places[block], shares, deltas[1], 512, grid_grad)


STAGES = ("random points", "colours", "encode", "forward", "loss", "backward", "scatter")


def stage_times():
    """stage -> microseconds of one thread for a batch of 16,384."""
    config = Config()
    image, state = load_image(LAKE), initial_state(config)
    w = cpu.make_workspace(config, 1)
    corrections = bias_corrections(config.beta1, config.beta2)
    random = np.random.default_rng(1)
    points = random.random((config.batch // cpu.BLOCK, 2, cpu.BLOCK), np.float32)
    places = np.empty((len(points), 4, cpu.BLOCK), np.uint32)
    for block, place in zip(points, places, strict=True):
        cpu.find_corners(block, state.feature_grid, place, w.blend_weights[0])
    times = {}
    for number, name in enumerate(STAGES):
        run = partial(
            blocks_of, number, points, places, w.corners[0], w.blend_weights[0], w.uv[0],
            w.target[0], w.features[0], w.hidden[0], w.outputs[0], w.deltas[0], w.grad_weights[0],
            w.grad_feature_grid[0], image, state,
        )  # fmt: skip
        times[name] = 1e6 * seconds_of(run, 15)
    rows = config.grid_height

    def adam():
        w.grad_feature_grid[:] = 1e-6
        adam_grid_rows(
            0,
            rows,
            state,
            w.grad_feature_grid,
            w.adam_rows[0],
            corrections,
            float32(0.01),
            config.adam_rates,
        )

    def fill():
        w.grad_feature_grid[:] = 1e-6

    times["clear"] = 1e6 * seconds_of(lambda: cpu.clear(w.grad_feature_grid[0]), 15)
    times["Adam, grid"] = 1e6 * (seconds_of(adam, 15) - seconds_of(fill, 15))
    return times


def lines_of(*options):
    """The JSON objects that this program prints with other options, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.cpu_profile", *map(str, options)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def whole_steps():
    """A row for each number of threads."""
    processors = len(os.sched_getaffinity(0))
    counts = [1 << i for i in range(processors.bit_length())]
    rows = [lines_of("--threads", count)[0] for count in counts]
    if importlib.util.find_spec("torch") is not None:
        for row, found in zip(rows, lines_of("--pytorch", *counts), strict=True):
            row |= found | {"pytorch_over_ours": found["pytorch_us"] / row["us_per_step"]}
    for row in rows:
        row["scales"] = rows[0]["us_per_step"] / row["us_per_step"]
        row["peak_scales"] = row["peak_gflops"] / rows[0]["peak_gflops"]
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", metavar="NAME", help="write results/NAME.json")
    parser.add_argument("--threads", type=int, help="only a whole step on so many threads")
    parser.add_argument("--pytorch", type=int, nargs="+", help="only PyTorch, on so many threads")
    options = parser.parse_args()
    if options.threads:
        print(json.dumps(whole_step(options.threads)))
        return
    if options.pytorch:
        pytorch_steps(options.pytorch)
        return
    rows = whole_steps()
    for row in rows:
        print("{threads:2} threads: {us_per_step:7.0f} us per step, {scales:.2f} times as fast as "
              "one, where the peak grows {peak_scales:.2f} times ({share:.0%}); PyTorch takes "
              "{pytorch} times as long"
              .format(**row, share=row["scales"] / row["peak_scales"],
                      pytorch=f"{row.get('pytorch_over_ours', math.nan):.2f}"))  # fmt: skip
    stages = stage_times()
    total = sum(stages.values())
    flops = step_flops(Config())
    for name, us in stages.items():
        print(f"{name:14} {us:7.0f} us on one thread, {us / total:5.1%}")
    network = stages["forward"] + stages["backward"]
    share = flops / network * 1e-3 / rows[0]["peak_gflops"]
    print(f"network: {flops / network * 1e-3:.1f} GFLOP/s on one thread, {share:.0%} of its peak")
    if options.save:
        result = {**description(), "rows": rows, "stages_us": stages, "network_share": share}
        (RESULTS / f"{options.save}.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
