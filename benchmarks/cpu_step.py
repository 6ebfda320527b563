"""One training step on the CPU: ours against PyTorch's, in turn, in one run.

    pip install torch        (only here; the project itself never needs it)
    python -m benchmarks.cpu_step

Both draw a fresh random batch, look up its colours, encode, run the network forward and back and
take an Adam step, on the default model and batch, with the same number of threads. Rounds alternate
(ours, PyTorch, ours, ...), so that a machine that slows down slows both, and the ratio is the
median over pairs. Each lives in a process of its own, which sleeps while the other works: in one
process their two thread pools get in each other's way. PyTorch runs in the fastest way we found:
fused Adam, the layout its kernels like best, no padding, an allocator told to keep its memory, and
the loss through `torch.compile` (needs a C++ compiler; --eager does without).

Also prints our rate of network arithmetic, in GFLOP/s.
"""

import argparse
import ctypes
import json
import math
import multiprocessing
import os
import platform
import statistics
import sys
import time
from importlib import metadata
from pathlib import Path

import numba
import numpy as np

from kernels.config import (
    COLOURS,
    ENCODED,
    FEATURES,
    FOURIER_OCTAVES,
    GRID_CHANNELS,
    OUTPUTS,
    Config,
)
from kernels.state import initial_state
from kernels.training.cpu_backend import CpuBackend
from kernels.training.devices import cpu_name
from kernels.training.results import versions

RESULTS = Path(__file__).resolve().parent / "results"


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


def pytorch(image, config, compiled):
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

    loss_of = torch.compile(loss_of) if compiled else loss_of

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


def milliseconds_per_step(run, steps):
    begin = time.perf_counter()
    run(steps)
    return (time.perf_counter() - begin) / steps * 1e3


def work(name, pipe, threads, eager):
    """A worker process: set up, then time as many steps as each message asks for."""
    config = Config()
    image = np.random.default_rng(0).random((550, 800, 3), np.float32)
    if name == "ours":
        numba.set_num_threads(threads)
        run = ours(image, config)
    else:
        # Our modules ask threads to sleep while they wait; PyTorch is faster when they spin.
        os.environ.pop("OMP_WAIT_POLICY", None)
        import torch

        keep_freed_memory()
        torch.set_num_threads(threads)
        run = pytorch(image, config, compiled=not eager)
    run(20)
    pipe.send("ready")
    while steps := pipe.recv():
        pipe.send(milliseconds_per_step(run, steps))


def keep_freed_memory():
    """Stop the C library from returning every freed 2 MB tensor to the system, page by page."""
    if sys.platform == "linux":
        library = ctypes.CDLL(None)
        trim_threshold, mmap_threshold = -1, -3
        library.mallopt(trim_threshold, 1 << 30)
        library.mallopt(mmap_threshold, 1 << 30)


def start_worker(name, options):
    ours_end, theirs = multiprocessing.Pipe()
    arguments = (name, theirs, options.threads, options.eager)
    multiprocessing.Process(target=work, args=arguments, daemon=True).start()
    theirs.close()
    ours_end.recv()
    return ours_end


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=15, help="rounds of each (default: 15)")
    parser.add_argument("--steps", type=int, default=100, help="steps per round (default: 100)")
    parser.add_argument(
        "--threads",
        type=int,
        default=numba.config.NUMBA_NUM_THREADS,
        help="threads of each (default: one for each core)",
    )
    parser.add_argument("--eager", action="store_true", help="PyTorch without torch.compile")
    parser.add_argument("--alone", action="store_true", help="ours only, without PyTorch")
    parser.add_argument("--save", metavar="NAME", help="write results/NAME.json")
    options = parser.parse_args()

    multiprocessing.set_start_method("spawn")
    names = ["ours"] if options.alone else ["ours", "pytorch"]
    workers = {name: start_worker(name, options) for name in names}
    times = {name: [] for name in names}
    for _ in range(options.pairs):
        for name, worker in workers.items():
            worker.send(options.steps)
            times[name].append(worker.recv())
    for worker in workers.values():
        worker.send(0)

    config = Config()
    report = {
        "date": time.strftime("%Y-%m-%d"),
        "device": cpu_name(),
        "threads": options.threads,
        "batch": config.batch,
        "versions": versions() | {"system": f"{platform.system()} {platform.machine()}"},
        "command": " ".join(["python -m benchmarks.cpu_step", *sys.argv[1:]]),
        "rows": [],
    }
    print(f"{report['device']}, {options.threads} threads, batch {config.batch:,}")
    for name, values in times.items():
        low, middle, high = min(values), statistics.median(values), max(values)
        report["rows"].append({"backend": name, "ms_per_step": middle, "min": low, "max": high})
        print(f"{name:8} {middle:6.3f} ms per step (from {low:.3f} to {high:.3f})")
    flops = 2 * multiply_adds_per_sample(config) * config.batch
    report["gflops"] = flops / statistics.median(times["ours"]) / 1e6
    print(f"ours does {report['gflops']:.0f} GFLOP/s of network arithmetic, all else included")
    if "pytorch" in times:
        report["versions"]["torch"] = metadata.version("torch")
        ratios = [
            theirs / mine for mine, theirs in zip(times["ours"], times["pytorch"], strict=True)
        ]
        report["ratio"] = statistics.median(ratios)
        print(f"PyTorch / ours: {report['ratio']:.2f} (median of {len(ratios)} pairs)")
    if options.save:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{options.save}.json").write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
