"""The CPU backend at each number of threads, beside PyTorch and what the processor can do.

    pip install torch        (only here; the project itself never needs it)
    python -m benchmarks.cpu_step --save cpu-step

Both draw a fresh random batch, look up its colours, encode, run the network forward and back and
take an Adam step, on the default model and batch, with the same number of threads. Short windows
alternate (ours, the peak, PyTorch, ours, ...), so that a machine that slows down slows all; each
figure is the median. Ours is in one process for each number of threads, PyTorch in another for all:
in one their thread pools get in each other's way. Before ours there is a pause, since PyTorch's
threads spin for a while after their work.
PyTorch runs in the fastest way we found: fused Adam, the layout its kernels like best, no padding,
an allocator told to keep its memory, and the loss through `torch.compile`, which needs a C++
compiler.

The peak is measured in the threads that train: chains of multiply-adds in the first-level cache.
"""

import ctypes
import importlib.util
import math
import multiprocessing
import os
import statistics
import sys
import time

import numba
import numpy as np
from numba import float32

from benchmarks.machine import parser_of, save
from kernels.config import (
    COLOURS,
    ENCODED,
    FEATURES,
    FOURIER_OCTAVES,
    GRID_CHANNELS,
    OUTPUTS,
    Config,
)
from kernels.files.images import load_image
from kernels.state import initial_state
from kernels.training.cpu_backend import CpuBackend

LAKE = "images/lake.png"
CHAINS = 192  # 12 vectors of 16: enough to hide the latency of a multiply-add
ROUNDS = 2_000_000  # some 10 ms
WARM_UP = 5  # steps
PAUSE = 0.1  # seconds


def ours(image, config):
    backend = CpuBackend(image, config, initial_state(config))
    rates = [[config.learning_rate_mlp, config.learning_rate_grid]]
    step = 1

    def run(steps):
        nonlocal step
        backend.run(step, rates * steps)
        step += steps
        return backend.take_losses()[-1]

    return run


def pytorch(image, config):
    import torch
    from torch.nn import functional

    torch.manual_seed(config.seed)
    # (1, 3, H, W): the layout of `grid_sample`, whose conventions (pixel centres, clamped edges)
    # are ours with align_corners=False and padding_mode="border".
    target_image = torch.from_numpy(image).permute(2, 0, 1)[None].contiguous()
    state = initial_state(config)
    grid = torch.from_numpy(state.feature_grid).permute(2, 0, 1)[None].contiguous()
    grid.requires_grad_()
    matrices, begin = [], 0
    for fan_in, fan_out in config.layer_shapes:
        matrix = torch.from_numpy(state.weights[begin : begin + fan_in * fan_out].copy())
        # (fan_out, fan_in) is the layout of torch.nn.Linear, and its fastest. The 13 outputs that
        # only fill a tile in our kernels are left out: that saves PyTorch two thirds of the step.
        used = COLOURS if fan_out == OUTPUTS and len(matrices) == config.layers else fan_out
        matrices.append(matrix.reshape(fan_in, fan_out).T[:used].contiguous().requires_grad_())
        begin += fan_in * fan_out
    cells = torch.tensor([config.grid_width, config.grid_height], dtype=torch.float32)
    waves = torch.tensor([2.0**octave for octave in range(FOURIER_OCTAVES)])
    optimizer = torch.optim.Adam(
        [
            {"params": matrices, "lr": config.learning_rate_mlp},
            {"params": [grid], "lr": config.learning_rate_grid},
        ],
        betas=(config.beta1, config.beta2),
        eps=config.epsilon,
        fused=True,
    )

    def sample(texture, uv):
        where = (2 * uv - 1)[None, None]
        sampled = functional.grid_sample(
            texture, where, "bilinear", padding_mode="border", align_corners=False
        )
        return sampled[0, :, 0].T  # (B, 3)

    @torch.compile
    def loss_of(uv):
        with torch.no_grad():
            target = sample(target_image, uv)
            sub_cell = torch.sin(2 * math.pi * (uv * cells - 0.5))
            angles = (2 * math.pi * uv[:, :, None] * waves).flatten(1)
            padding = torch.ones(len(uv), FEATURES - ENCODED)
        hidden = torch.cat(
            [sample(grid, uv), sub_cell, torch.sin(angles), torch.cos(angles), padding], 1
        )
        for matrix in matrices[:-1]:
            hidden = torch.relu(functional.linear(hidden, matrix))
        rgb = torch.sigmoid(functional.linear(hidden, matrices[-1]))
        return functional.mse_loss(rgb, target)

    def run(steps):
        for _ in range(steps):
            loss = loss_of(torch.rand(config.batch, 2))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        return loss.item()

    return run


def multiply_adds_per_sample(config):
    """Without padding: 13 inputs, 3 outputs, and of the input gradient only the grid's channels."""
    inner = (config.layers - 1) * config.hidden**2
    forward = ENCODED * config.hidden + inner + COLOURS * config.hidden
    weights = forward
    inputs = COLOURS * config.hidden + inner + GRID_CHANNELS * config.hidden
    return forward + weights + inputs


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


def seconds_of(run, *arguments):
    begin = time.perf_counter()
    run(*arguments)
    return time.perf_counter() - begin


def peak_gflops(threads):
    seconds = seconds_of(multiply_add_on, threads, np.ones(CHAINS, np.float32), ROUNDS)
    return 2 * CHAINS * ROUNDS * threads / seconds * 1e-9


def work_of_ours(pipe, threads):
    """A process: microseconds per step and the peak, for each number of steps that it is sent."""
    numba.set_num_threads(threads)
    run = ours(load_image(LAKE), Config())
    run(WARM_UP), peak_gflops(threads)
    pipe.send("ready")
    while steps := pipe.recv():
        pipe.send((seconds_of(run, steps) / steps * 1e6, peak_gflops(threads)))


def work_of_pytorch(pipe, _):
    """The same without a peak, for each number of threads that it is sent; steps end with 0."""
    # Our modules ask threads to sleep while they wait; PyTorch is faster when they spin.
    os.environ.pop("OMP_WAIT_POLICY", None)
    import torch

    keep_freed_memory()
    while threads := pipe.recv():
        torch.set_num_threads(threads)
        torch._dynamo.reset()  # what was compiled knows how many threads it has
        run = pytorch(load_image(LAKE), Config())
        run(WARM_UP)
        pipe.send("ready")
        while steps := pipe.recv():
            pipe.send(seconds_of(run, steps) / steps * 1e6)


def keep_freed_memory():
    """Stop the C library from returning every freed 2 MB tensor to the system, page by page."""
    if sys.platform == "linux":
        library = ctypes.CDLL(None)
        trim_threshold, mmap_threshold = -1, -3
        library.mallopt(trim_threshold, 1 << 30)
        library.mallopt(mmap_threshold, 1 << 30)


def start_process(target, argument):
    ours_end, theirs = multiprocessing.Pipe()
    multiprocessing.Process(target=target, args=(theirs, argument), daemon=True).start()
    theirs.close()
    return ours_end


def ask(pipe, what):
    pipe.send(what)
    return pipe.recv()


def row_of(threads, theirs, windows, steps):
    """Windows in turn, on so many threads. theirs: PyTorch's process, or nothing."""
    mine = start_process(work_of_ours, threads)
    mine.recv()
    if theirs:
        ask(theirs, threads)
    found = []
    for _ in range(windows):
        time.sleep(PAUSE)
        found.append((*ask(mine, steps), ask(theirs, steps) if theirs else math.nan))
    for pipe in filter(None, (mine, theirs)):
        pipe.send(0)
    us, peak, other = map(statistics.median, zip(*found, strict=True))
    ratio = statistics.median(theirs / ours for ours, _, theirs in found)
    return {
        "threads": threads, "us_per_step": us, "peak_gflops": peak, "pytorch_us": other,
        "pytorch_over_ours": ratio, "windows": found,
    }  # fmt: skip


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--windows", type=int, default=12, help="of each (default: 12)")
    parser.add_argument("--steps", type=int, default=10, help="steps per window (default: 10)")
    counts = [1 << i for i in range(numba.config.NUMBA_NUM_THREADS.bit_length())]
    parser.add_argument(
        "--threads", type=int, nargs="+", default=counts, help="default: 1, 2, 4, ... of the cores"
    )
    options = parser.parse_args()

    multiprocessing.set_start_method("spawn")
    has_torch = importlib.util.find_spec("torch") is not None
    theirs = start_process(work_of_pytorch, None) if has_torch else None
    rows = []
    for threads in options.threads:
        row = row_of(threads, theirs, options.windows, options.steps)
        rows.append(row)
        row["scales"] = rows[0]["us_per_step"] / row["us_per_step"]
        row["peak_scales"] = row["peak_gflops"] / rows[0]["peak_gflops"]
        row["of_the_peak"] = row["scales"] / row["peak_scales"]
        print("{threads:2} threads: {us_per_step:5.0f} us per step, {scales:.2f} times as fast; "
              "the peak {peak_scales:.2f} ({of_the_peak:.0%} of it); PyTorch {pytorch_us:.0f} us, "
              "{pytorch_over_ours:.2f} times as long".format(**row), flush=True)  # fmt: skip
        save(options.save, rows=rows)
    if theirs:
        theirs.send(0)
    for process in multiprocessing.active_children():
        process.join()


if __name__ == "__main__":
    main()
