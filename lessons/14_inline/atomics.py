"""Count the atomic additions that a whole picture makes, each way, on the checked simulator.

python -m lessons.14_inline.atomics [SIDE]     a picture of SIDE x SIDE pixels (default: 512)
"""

import sys
from collections.abc import Sequence

import numpy as np

from kernels.inline.learn import launch_learn
from kernels.inline.model import initial_parameters
from kernels.inline.scatter import launch_scatter_block, launch_scatter_direct
from kernels.inline.sizes import CHANNELS, WEIGHTS_SHAPE, grid_shape
from kernels.plumbing.program import complain, prepare, run
from lessons.lab import checked_run

SIDE = 512


def main(arguments: Sequence[str] | None = None) -> int:
    given = sys.argv[1:] if arguments is None else arguments
    text = given[0] if given else str(SIDE)
    if not text.isdecimal() or not 1 <= int(text) <= 1024:
        return complain(f"SIDE must be a whole number from 1 to 1,024, not {text!r}")
    show(int(text))
    return 0


def show(side: int) -> None:
    random = np.random.default_rng(1)
    gradient = random.standard_normal((side, side, CHANNELS), np.float32)
    image = random.random((side, side, 3), np.float32)
    grid, weights = initial_parameters(side, side, 1)
    grad_grid = np.zeros(grid_shape(side, side), np.float32)
    gradients = grad_grid, np.zeros(WEIGHTS_SHAPE, np.float32), np.zeros(1, np.float32)
    print(f"{side} x {side} pixels; atomic additions to global memory:")
    for name, launch, arrays in (
        ("scatter_direct", launch_scatter_direct, (gradient, grad_grid)),
        ("scatter_block", launch_scatter_block, (gradient, grad_grid)),
        ("learn, all of it", launch_learn, (image, grid, weights, *gradients)),
    ):
        reports = []

        def launch_and_count(kernel, blocks, threads, *rest, reports=reports):
            reports.append(checked_run(kernel, blocks, threads, *rest, ask_numba=False))

        launch(*arrays, launch=launch_and_count)
        reports[0].raise_if_problems()
        print(f"  {name:18} {atomics_of(reports[0]):>12,}")
    print()
    print("report.table() of scatter_block:")
    launch_scatter_block(gradient[:32, :32].copy(), grad_grid, launch=show_table)


def atomics_of(report) -> int:
    return sum(traffic.atomics for traffic in report.traffic.values())


def show_table(kernel, blocks, threads, *arrays) -> None:
    print(checked_run(kernel, blocks, threads, *arrays, ask_numba=False).table())


if __name__ == "__main__":
    prepare()
    sys.exit(run(main))
