"""The gradient of a bias in four ways, counted; on a GPU, how long all of the reductions take."""

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from kernels.reductions.columns import launch_column_sums_by_threads
from kernels.reductions.prefix_sum import parts_for
from kernels.reductions.sums import blocks_for_values
from lessons.capstones.device import Device
from lessons.lab import checked_run
from lessons.lab.simulator.traffic import Traffic

ROWS, COLUMNS = 262_144, 16  # the pixels of a picture of 512 x 512, and the outputs of a layer
BLOCKS = 64  # of the first of two stages
MANY = 1 << 26  # numbers: more than a GPU keeps near its processors
TIMED = 20  # calls; the best of three times so many counts

Launch = Callable[..., None]


def count_and_time(device: Device, mine: SimpleNamespace) -> list[dict[str, Any]]:
    """A row for each way. mine: functions of lesson 11; the first way is always ours.

    Counted by the checked simulator, in the whole size; timed on a GPU only.
    """
    random = np.random.default_rng(11)
    gradient = random.normal(size=(ROWS, COLUMNS)).astype(np.float32)
    expected = gradient.sum(axis=0, dtype=np.float64)
    ways: dict[str, tuple[Launch, tuple[int, ...]]] = {
        "per thread and column": (launch_column_sums_by_threads, ()),
        "per warp and column": (mine.launch_column_sums_by_warps, ()),
        "per block and column": (mine.launch_column_sums_by_blocks, ()),
        "two stages, none": (mine.launch_column_sums, (BLOCKS, COLUMNS)),
    }
    rows = []
    for name, (launch, partials) in ways.items():
        sums = np.zeros((1, COLUMNS) if partials else COLUMNS, np.float32)
        between = [np.empty(partials, np.float32)] if partials else []
        traffic = counted(launch, gradient, *between, sums)
        error = float(np.abs(sums.reshape(-1) - expected).max())
        row = {"way": name, "atomics": traffic.atomics, "largest_error": error}
        if device.name == "cuda":
            row["microseconds"] = timed(device, launch, gradient, *between, sums)
        rows.append(row)
    return rows


def counted(launch: Launch, *arrays: np.ndarray) -> Traffic:
    """What the kernels of one call do to memory; `arrays` then hold the results."""
    total = Traffic()

    def count(kernel: Any, blocks: Any, threads: Any, *arguments: Any) -> None:
        report = checked_run(kernel, blocks, threads, *arguments, ask_numba=False)
        report.raise_if_problems()
        for traffic in report.counted.values():
            total.add(traffic)

    launch(*arrays, launch=count)
    return total


def timed(device: Device, launch: Launch, *arrays: np.ndarray) -> float:
    """Microseconds per call, launches included."""
    on_device = [device.to_device(array) for array in arrays]
    best = float("inf")
    launch(*on_device, launch=device.launch)  # compiles
    for _ in range(3):
        device.synchronize()
        begin = time.perf_counter()
        for _ in range(TIMED):
            launch(*on_device, launch=device.launch)
        device.synchronize()
        best = min(best, (time.perf_counter() - begin) / TIMED)
    return 1e6 * best


def times_of_many(device: Device, mine: SimpleNamespace) -> list[dict[str, Any]]:
    """A row for each reduction of MANY numbers, on a GPU: microseconds and bytes per second."""
    random = np.random.default_rng(12)
    values = random.random(MANY, dtype=np.float32)
    counts = random.integers(0, 9, MANY).astype(np.int32)
    blocks = blocks_for_values(MANY)
    partials, parts = np.empty(blocks, np.float32), np.empty(parts_for(MANY), np.int32)
    one, place = np.empty(1, np.float32), np.empty(1, np.int32)
    candidates, running = np.empty(blocks, np.int32), np.empty(MANY, np.int32)
    # A number has 4 bytes. Running sums read all of them twice, and write as many.
    calls = {
        "sum": (4, mine.launch_sum, (values, partials, one)),
        "max": (4, mine.launch_max, (values, partials, one)),
        "argmax": (4, mine.launch_argmax, (values, candidates, place)),
        "prefix sum": (12, mine.launch_prefix_sum, (counts, parts, running)),
    }
    rows = []
    for name, (each, launch, arrays) in calls.items():
        microseconds = timed(device, launch, *arrays)
        terabytes = each * MANY / microseconds / 1e6
        rows.append({"way": name, "microseconds": microseconds, "terabytes_per_second": terabytes})
    return rows


def lines_of_times(rows: list[dict[str, Any]]) -> list[str]:
    lines = [f"{MANY:,} numbers{'us':>16}{'TB/s':>10}"]
    for row in rows:
        taken = f"{row['microseconds']:>12,.1f}{row['terabytes_per_second']:>10.2f}"
        lines.append(f"{row['way']:<22}{taken}")
    return [*lines, ""]


def lines_of_table(rows: list[dict[str, Any]], device: Device) -> list[str]:
    """The table as text."""
    title = f"sums of {COLUMNS} columns of {ROWS:,} rows, counted by the checked simulator"
    headings = f"{'atomic additions':<22}{'':>10}{'error':>10}"
    if device.name == "cuda":
        title += f", timed on {device.description}"
        headings += f"{'us':>10}"
    lines = ["", title, headings]
    for row in rows:
        line = f"{row['way']:<22}{row['atomics']:>10,}{row['largest_error']:>10.5f}"
        time_taken = f"{row['microseconds']:>10,.1f}" if "microseconds" in row else ""
        lines.append(line + time_taken)
    return [*lines, ""]
