"""Elements that no thread writes are told without being asked for, and only where it is certain."""

import numpy as np
import pytest
from numba import cuda

from lessons.lab import checked_run, instead_of_gpu


@cuda.jit
def fill(out, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = i


@cuda.jit
def copy_image(image, out):
    x, y = cuda.grid(2)
    rows, columns = image.shape
    if x >= columns or y >= rows:
        return
    out[y, x] = image[y, x]


@cuda.jit
def fill_in_steps(out, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        out[i] = i


@cuda.jit
def fill_twice(out, n):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < n:
        out[i] = i
        out[i + 8] = i


IMAGE = np.ones((6, 16))


@pytest.mark.parametrize(
    "kernel, grid, block, arguments, told",
    [
        (fill, 1, 8, (np.zeros(12), 12), "out[8:]"),
        (fill, 2, 8, (np.zeros(12), 12), ""),
        (fill, 1, 8, (np.zeros(12), 8), ""),
        (copy_image, (1, 2), (8, 8), (IMAGE, IMAGE.copy()), "out[:, 8:]"),
        (copy_image, (2, 1), (8, 8), (IMAGE, IMAGE.copy()), ""),
        (fill_in_steps, 1, 8, (np.zeros(12), 12), ""),
        (fill_twice, 1, 8, (np.zeros(16), 12), ""),
    ],
)
def test_a_grid_that_is_smaller_than_the_guard(kernel, grid, block, arguments, told):
    report = checked_run(kernel, grid, block, *arguments)
    assert [finding.kind for finding in report.problems] == ["unwritten"] * bool(told), report
    assert told in str(report)
    assert checked_run(kernel, grid, block, *arguments, unwritten=False).ok


def test_a_small_launch_beside_one_that_reaches_all_is_meant():
    with instead_of_gpu(quiet=True) as session:
        for blocks in (1, 2, 1):
            fill[blocks, 8](np.zeros(12), 12)
    assert session.ok, session


READS = {  # of 8 elements, of which the first 6 are written -> the finding's words
    "h.sum()": "2 elements of an", "h[:6].sum()": "", "h[6]": "the first at [6]", "h[5]": "",
    "h[::7].max()": "the first at [7]", "h[np.arange(8) < 6]": "", "h[[0, 7]]": "at [7]",
    "np.where(np.arange(8) < 6, h, 0)": "", "h.reshape(2, 4)[0].sum()": "", "h.T[7]": "at [7]",
    "h.shape": "", "str(h)": "2 elements", "h.fill(0), h.sum()": "", "[h[i] for i in range(6)]": "",
}  # fmt: skip


@pytest.mark.parametrize("read", READS)
def test_the_host_reads_what_no_thread_has_written(read):
    with instead_of_gpu(quiet=True) as session:
        array = cuda.device_array(8, np.float32)
        fill[1, 8](array, 6)
        eval(read, {"h": array.copy_to_host(), "np": np})
    assert [finding.kind for finding in session.problems] == ["unwritten"] * bool(READS[read])
    assert READS[read] in str(session)


@pytest.mark.parametrize("target", [None, np.zeros(8, np.float32)])
@pytest.mark.parametrize("n", [0, 1, 8])
def test_an_array_of_which_nothing_is_written(n, target):
    with instead_of_gpu(quiet=True) as session:
        array = cuda.device_array(8, np.float32)
        fill[1, 8](array, n)
        array.copy_to_host(target)[: max(n, 1)].sum()
    assert [finding.kind for finding in session.problems] == ["unwritten"] * (n == 0), session


@pytest.mark.parametrize("size, told", [(8, False), (12, True)])
def test_a_reduction_of_what_nobody_has_written(size, told):
    with instead_of_gpu(quiet=True) as session:
        add = cuda.reduce(lambda a, b: a + b)
        out = cuda.device_array(12)
        fill[1, 8](out, 8)
        total = add(out, size=size)
        with pytest.raises(TypeError, match="1D"):
            add(np.ones((2, 2)))
    assert told or total == sum(range(8))
    assert [finding.kind for finding in session.problems] == ["unwritten"] * told
