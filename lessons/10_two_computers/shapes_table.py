"""What each shape of a block costs: counted by the lab, and on a GPU timed."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from numba import cuda, uint32

from kernels.config import WARP
from kernels.transfers.block_shapes import BLOCK_SHAPES
from lessons.lab.simulator.report import Report
from lessons.lab.simulator.run import checked_run

COUNTED = 75, 142  # height and width of the part in which is counted: no multiples of a block
TIMED, HELD = 100, 30  # launches, and milliseconds in which all of them can be asked for
GAINS = np.array([1.0, 0.9, 0.7], np.float32)  # an evening
HEADER = (
    "per 32 numbers of the result, counted; \u00b5s of the whole picture on an H200, foretold\n"
    "  kernel   block       requests   sectors  foretold        \u00b5s"
)


def counted_shapes(
    mine: SimpleNamespace, gray: np.ndarray, image: np.ndarray
) -> list[dict[str, Any]]:
    """A row for each shape of `shrink`, and one for the block that `launch_tint` has chosen.

    Each has "kernel", "block", per 32 numbers of the result "requests" and "sectors", and
    "foretold", the \u00b5s that the whole picture would take on an H200.
    """
    part, colours = (np.ascontiguousarray(one[: COUNTED[0], : COUNTED[1]]) for one in (gray, image))
    small = np.zeros((part.shape[0] // 2, part.shape[1] // 2), np.float32)
    whole = np.zeros((gray.shape[0] // 2, gray.shape[1] // 2), np.float32)
    rows = [
        counted(
            "shrink",
            small.size,
            partial(mine.launch_shrink, part, small, 2, block),
            partial(mine.launch_shrink, gray, whole, 2, block),
        )
        for block in BLOCK_SHAPES
    ]
    start, start_whole = (
        partial(mine.launch_tint, picture, GAINS, np.zeros_like(picture))
        for picture in (colours, image)
    )
    rows.append(counted("tint", colours.size, start, start_whole))
    return rows


def counted(
    kernel: str, numbers: int, start: Callable[..., None], start_whole: Callable[..., None]
) -> dict[str, Any]:
    """A row. start, start_whole: launch for the part, and for the picture, which is not run."""
    reports: list[Report] = []
    blocks_used: list[tuple[int, ...]] = []

    def launch(function: Callable, blocks: Any, threads: Any, *arguments: Any) -> None:
        blocks_used.append(threads if isinstance(threads, tuple) else (threads,))
        reports.append(checked_run(function, blocks, threads, *arguments, measure=True))

    grids: list[Any] = []
    start(launch=launch)
    start_whole(launch=lambda function, blocks, *rest: grids.append(blocks))
    traffic = [row for report in reports for row in report.counted.values()]
    return {
        "kernel": kernel,
        "block": [int(size) for size in blocks_used[0]],
        "requests": sum(row.requests for row in traffic) * WARP / numbers,
        "sectors": sum(row.sectors for row in traffic) * WARP / numbers,
        "foretold": sum(
            report.predict("H200", grid).us for report, grid in zip(reports, grids, strict=True)
        ),
    }


def timed_shapes(
    mine: SimpleNamespace,
    gray: np.ndarray,
    image: np.ndarray,
    rows: list[dict[str, Any]],
    to_device: Callable[[np.ndarray], Any],
) -> None:
    """Add "microseconds" per launch on the whole picture to each row, by two events on a GPU."""
    gray_on_gpu, image_on_gpu = to_device(gray), to_device(image)
    small = cuda.device_array((gray.shape[0] // 2, gray.shape[1] // 2), np.float32)
    tinted, gains = cuda.device_array(image.shape, np.float32), to_device(GAINS)
    for row, block in zip(rows, BLOCK_SHAPES, strict=False):
        row["microseconds"] = timed(partial(mine.launch_shrink, gray_on_gpu, small, 2, block))
    rows[-1]["microseconds"] = timed(partial(mine.launch_tint, image_on_gpu, gains, tinted))


@cuda.jit
def hold(milliseconds):
    """Keep the device from going on for a while: what is asked for meanwhile waits in its queue."""
    for _ in range(milliseconds):
        cuda.nanosleep(uint32(1_000_000))


def timed(start: Callable[[], None]) -> float:
    """\u00b5s per launch on the device.

    Asking takes longer than such a small kernel does. So all launches are asked for while the
    device is held, and then follow each other without a gap.
    """
    start()
    begin, end = cuda.event(), cuda.event()
    hold[1, 1](HELD)
    begin.record()
    for _ in range(TIMED):
        start()
    end.record()
    end.synchronize()
    return 1000 * begin.elapsed_time(end) / TIMED
