"""Launches that are too large: for any GPU, or for the memory that the simulator has."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np

from ..dimensions import MAX_BLOCK, MAX_GRID, MAX_SHARED_BYTES, MAX_THREADS, volume
from .arguments import own_elements
from .report import Report

# What the simulator keeps at least, measured on kernels of a few lines.
BYTES_PER_THREAD = 128
BYTES_PER_ELEMENT = 24  # of an array: its history, and a copy
SMALL = 1 << 28  # fits anywhere, and need not be asked for
MEMORY_IF_UNKNOWN = 8 << 30
MOST_MULTIPROCESSORS = 192  # more than any GPU has
CONTROL_GROUP = Path("/sys/fs/cgroup/memory.max")  # a container's limit


def check_limits(
    report: Report, arguments: Iterable[object], dynamic_shared: int, blocks: int
) -> None:
    """A finding for a limit that a launch exceeds.

    dynamic_shared: bytes per block. blocks: how many are to run.
    """
    for message in exceeded(report, dynamic_shared):
        report.add("limits", report.source.tree.lineno, message)
    check_memory(report, arguments, blocks)


def exceeded(report: Report, dynamic_shared: int) -> Iterator[str]:
    """What is beyond any GPU's limits."""
    if dynamic_shared > MAX_SHARED_BYTES:
        yield (
            f"{dynamic_shared:,} bytes of dynamic shared memory: a block has {MAX_SHARED_BYTES:,}. "
            "Many GPUs have more, but a launch only gets it after the driver was asked to raise "
            "the kernel's limit, and Numba has no call for that"
        )
    blocks, threads = volume(report.grid), volume(report.block)
    if threads > MAX_THREADS:
        yield (
            f"a block of {threads:,} threads: the hardware allows "
            f"{MAX_THREADS:,}; use smaller blocks and more of them"
        )
    for axis, size, limit in zip("xyz", report.block, MAX_BLOCK, strict=True):
        if size > limit:
            yield f"a block of size {size} along {axis}: the limit is {limit}"
    for axis, size, limit in zip("xyz", report.grid, MAX_GRID, strict=True):
        if size > limit:
            yield f"a grid of size {size:,} along {axis}: the limit is {limit:,}"
    # Blocks that wait for each other must all be on the GPU at once.
    most = MOST_MULTIPROCESSORS * min(32, max(1, 2048 // threads))
    if "this_grid" in report.source.function.__code__.co_names and blocks > most:
        yield (
            f"the {blocks:,} blocks of this kernel wait for each other, and no GPU holds so many "
            "at once: ask max_cooperative_grid_blocks(block) of the compiled kernel, and let each "
            "block do more"
        )


# ---------------------------------------------------------------- memory of this machine


def check_memory(report: Report, arguments: Iterable[object], blocks: int) -> None:
    """Refuse at once what would fill the memory, rather than some minutes later."""
    threads = blocks * volume(report.block)
    arrays = [value for value in arguments if isinstance(value, np.ndarray)]
    elements = sum(own_elements(array).size for array in arrays)
    needed = threads * BYTES_PER_THREAD + elements * BYTES_PER_ELEMENT
    there = memory_of_this_machine() if needed >= SMALL else needed
    if needed <= there:
        return
    report.add(
        "unsupported",
        report.source.tree.lineno,
        f"{threads:,} threads ({blocks:,} x {volume(report.block):,}) and "
        f"{elements:,} elements take {gigabytes(needed)} of memory in this simulator, and "
        f"there are {gigabytes(there)}: a launch of some blocks, on arrays that fit, shows the "
        f"same mistakes; only_blocks=range({blocks - 1}, {blocks}) runs the last block alone",
    )


def gigabytes(size: int) -> str:
    return f"{size / 1e9:,.0f} GB" if size >= 1e10 else f"{size / 1e9:.1f} GB"


def memory_of_this_machine() -> int:
    """Bytes that this process may use."""
    limits = [MEMORY_IF_UNKNOWN]
    with suppress(AttributeError, ValueError, OSError):  # Windows has none of these
        limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    with suppress(ValueError, OSError):  # "max" is no number
        limits.append(int(CONTROL_GROUP.read_text()))
    with suppress(ImportError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        limits += [limit] * (limit != resource.RLIM_INFINITY)
    return min(limits)
