"""The native engine: threads that wait, in loops, for what another thread writes."""

import numpy as np
import pytest
from numba import cuda, float32

from lessons.lab import native
from lessons.lab.compiled import cores, engine
from lessons.lab.compiled.waits import waits_in
from lessons.lab.compiled.warps import SPINNING
from lessons.lab.source import read_source
from tests.lab.helpers import line_of_comment


@cuda.jit
def wait_for_the_last_thread(flag, values, out):
    i = cuda.grid(1)
    if i == out.size - 1:
        values[0] = 7
        cuda.threadfence()
        cuda.atomic.exch(flag, 0, 1)
    else:
        while cuda.atomic.add(flag, 0, 0) == 0:
            pass
    out[i] = values[0]


@cuda.jit
def hand_on(turns, out):
    """Each thread waits for the one behind it, and through a barrier."""
    tile = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    if i < cuda.blockDim.x - 1:
        while True:
            turn = cuda.atomic.cas(turns, cuda.blockIdx.x, -1, -1)
            if turn == i + 1:
                break
    tile[i] = i
    cuda.threadfence()
    cuda.atomic.exch(turns, cuda.blockIdx.x, i)
    cuda.syncthreads()
    out[cuda.grid(1)] = tile[cuda.blockDim.x - 1 - i]


@pytest.mark.slow
def test_threads_may_wait_for_others_of_their_block_in_loops():
    flag, out = np.zeros(1, np.int32), np.zeros(40)
    native(wait_for_the_last_thread, ask_numba=False)[1, 40](flag, np.zeros(1), out)
    assert (out == 7).all()


@pytest.mark.slow
def test_they_may_wait_in_turn_and_meet_at_a_barrier():
    turns, out = np.full(3, 64, np.int32), np.zeros((3, 64))
    native(hand_on, ask_numba=False)[3, 64](turns, out.reshape(-1))
    assert (out == np.arange(64)[::-1]).all()


@cuda.jit
def blocks_meet_twice(turn, out):
    grid = cuda.cg.this_grid()
    for k in range(2):
        if cuda.threadIdx.x == 0:
            expected = cuda.gridDim.x * (k + 1) - 1 - cuda.blockIdx.x
            while cuda.atomic.cas(turn, 0, -1, -1) != expected:
                pass
            cuda.atomic.add(turn, 0, 1)
        grid.sync()
        out[k, cuda.grid(1)] = turn[0]
        grid.sync()


@pytest.mark.slow
def test_blocks_of_a_cooperative_launch_may_wait_for_later_blocks():
    turn, out = np.zeros(1, np.int32), np.zeros((2, 8))
    native(blocks_meet_twice, ask_numba=False)[4, 2](turn, out)
    assert (out[0] == 4).all() and (out[1] == 8).all()


@cuda.jit
def wait_for_nobody(flag, out):
    while flag[0] == 0:  # here
        pass
    out[0] = 1


@pytest.mark.slow
def test_waiting_for_what_nobody_writes_comes_to_an_end(monkeypatch):
    monkeypatch.setattr(cores, "STUCK_SECONDS", 0.4)
    line = line_of_comment(wait_for_nobody)
    launch = native(wait_for_nobody, ask_numba=False)[3, 4]
    with pytest.raises(engine.NativeRefusal, match=rf"line {line}: `while flag\[0\] == 0` waits"):
        launch(np.zeros(1), np.zeros(1))
    out = np.zeros(1)
    launch(np.ones(1), out)
    assert out[0] == 1


@cuda.jit
def searches(x, order, n, out):
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if x[middle] < 5:
            low = middle + 1
        else:
            high = middle
    node = 0
    while order[node] >= 0:
        node = order[node]
    out[0], out[1] = low, node
    while True:
        item = cuda.atomic.add(order, 0, 1)
        if item >= n:
            break
        x[item] += 1


def test_loops_that_get_somewhere_by_themselves_do_not_wait():
    assert SPINNING not in waits_in(read_source(searches))
    for kernel in (wait_for_the_last_thread, hand_on, blocks_meet_twice, wait_for_nobody):
        assert SPINNING in waits_in(read_source(kernel))
