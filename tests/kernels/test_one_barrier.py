"""The training kernel with one barrier per step: readers move what they read.

Without a GPU it runs in the checked simulator, which looks for races between blocks and between
the two halves of a block, and notices each barrier and each clearing that is taken out. On a GPU it
is compared with the kernel with two barriers.
"""

import functools

import numpy as np
import pytest
from numba import cuda

from kernels.adam import bias_corrections
from kernels.config import Config
from kernels.fast import weight_tiles
from kernels.fast.cells import REPLICAS, SAMPLES, THREADS, fits, one_barrier_size
from kernels.fast.persistent_one_barrier import make_train_one_barrier
from kernels.fast.sample import FIXED_POINT
from kernels.fast.weight_tiles import WEIGHT_UNITS
from kernels.state import initial_state
from kernels.training.cpu_backend import CpuBackend
from kernels.training.kernel_arrays import one_barrier_arrays
from kernels.training.trainer import Trainer
from lessons.lab import checked_run
from tests.kernels.changed_module import changed_module
from tests.kernels.test_backends_agree import picture
from tests.kernels.test_fused import (
    checked,
    expect_steps_of_the_cpu,
    expect_sums,
    relative,
    run_steps,
)

BLOCKS = 2


def arrays_for(config, image, deterministic=False):
    return one_barrier_arrays(
        image, initial_state(config), bias_corrections(config.beta1, config.beta2), BLOCKS,
        one_barrier_size(config.hidden, config.layers, deterministic), deterministic,
    )  # fmt: skip


# ---------------------------------------------------------------- gradients, against float64


def lower_and_upper(pairs):
    """What two numbers of 32 bits in one of 64 are, by plain Python's integers."""
    lower = [(pair + 2**31) % 2**32 - 2**31 for pair in pairs]
    return lower, [(pair - low) >> 32 for pair, low in zip(pairs, lower, strict=True)]


def tile_values(sums, deterministic):
    """(tiles, 32 lanes, 4) float64 from one replica's sums."""
    if not deterministic:
        return sums.reshape(-1, 32, 4).astype(np.float64)
    pairs = sums.reshape(-1, 2, 32)
    lower, upper = lower_and_upper(pairs.ravel().tolist())
    numbers = np.stack([lower, upper], axis=-1).reshape(-1, 2, 32, 2) / WEIGHT_UNITS
    return numbers.transpose(0, 2, 1, 3).reshape(-1, 32, 4)


def matrix_of_tiles(tiles, inputs, units):
    """Four numbers per lane -> (inputs, units): tiles of 16 units x 8 inputs, inputs first."""
    matrix = np.zeros((inputs, units))
    for number, tile in enumerate(tiles):
        block, part = divmod(number, inputs // 8)
        for lane in range(32):
            unit, column = 16 * block + lane // 4, 8 * part + 2 * (lane % 4)
            matrix[column : column + 2, unit] = tile[lane, :2]
            matrix[column : column + 2, unit + 8] = tile[lane, 2:]
    return matrix


def weight_gradient(arrays, config, deterministic):
    """The sums of the first step, turn 0, in the order of the weights."""
    rows = one_barrier_size(config.hidden, config.layers).sum_rows
    replicas = arrays.grad_weights[:rows].reshape(REPLICAS, -1)
    values = sum(tile_values(replica, deterministic) for replica in replicas)
    matrices, first = [], 0
    for inputs, units in (
        [(16, config.hidden)]
        + [(config.hidden, config.hidden)] * (config.layers - 1)
        + [(config.hidden, 16)]
    ):
        count = inputs // 8 * (units // 16)
        matrices.append(matrix_of_tiles(values[first : first + count], inputs, units))
        first += count
    assert first == len(values)
    return np.concatenate([matrix.ravel() for matrix in matrices])


@pytest.mark.parametrize(
    "hidden, layers, batch, deterministic",
    [(32, 2, 200, False), (32, 2, 250, True), (16, 3, 130, False), (32, 1, 40, True)],
)
@pytest.mark.slow
def test_gradients_of_a_step(hidden, layers, batch, deterministic):
    """A ragged last group, a block without samples: against float64."""
    config = Config(
        steps=40, batch=batch, grid_width=23, grid_height=29, seed=5, hidden=hidden, layers=layers
    )
    image = picture(31, 44)
    arrays = arrays_for(config, image, deterministic)
    weights = arrays.weights.copy()
    train, _ = make_train_one_barrier(hidden, layers, deterministic, named_barriers=False)
    run_steps(train, THREADS, config, image, arrays, np.zeros((1, 2), np.float32), first_step=7)

    by_weights = weight_gradient(arrays, config, deterministic)
    by_grid = arrays.grad_cells[: 23 * 29] / (FIXED_POINT if deterministic else 1)
    expect_sums(config, image, weights, arrays.squared_errors, by_weights, by_grid)


# ---------------------------------------------------------------- several steps


@pytest.mark.each(2)
@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("grid", [(9, 7), (31, 29)])
def test_steps_in_one_kernel(deterministic, grid):
    """No race, and it learns as the CPU does. The larger grid has more cells than owners."""
    config = Config(steps=40, batch=200, grid_width=grid[0], grid_height=grid[1])
    image = picture(31, 44)
    train, _ = make_train_one_barrier(32, 2, deterministic, named_barriers=False)
    arrays = arrays_for(config, image, deterministic)
    expect_steps_of_the_cpu(train, THREADS, config, image, arrays, 6)


@pytest.mark.thorough
def test_a_deterministic_run_may_be_cut_anywhere():
    config, image = Config(steps=40, batch=150, grid_width=9, grid_height=7), picture(31, 44)
    train, _ = make_train_one_barrier(32, 2, True, named_barriers=False)
    rates = Trainer(image, config, CpuBackend).learning_rates(1, 5)
    whole, cut = arrays_for(config, image, True), arrays_for(config, image, True)
    run_steps(train, THREADS, config, image, whole, rates)
    run_steps(train, THREADS, config, image, cut, rates[:2])
    run_steps(train, THREADS, config, image, cut, rates[2:], first_step=3)
    for name in ("feature_grid", "grid_m", "grid_v", "weights", "weights_m", "weights_v"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(cut, name), name)


KERNEL = "persistent_one_barrier"
# What can be taken out, and where: (file, line, what stands in its place).
WITHOUT = {
    "the barrier of the block before the products": (
        KERNEL, "owners.load(arrays, i, owner, of_owner)\n            cuda.syncthreads()\n",
        "owners.load(arrays, i, owner, of_owner)\n",
    ),
    "the consumers' wait for the way forward": (
        KERNEL, "            wait_for_producers(producer, FORWARD_DONE)\n", "",
    ),
    "the barrier between two layers": (
        KERNEL, "have read now.\n                cuda.syncthreads()\n", "have read now.\n",
    ),
    "the consumers' wait for the way back": (
        KERNEL, "            wait_for_producers(producer, BACKWARD_DONE)\n", "",
    ),
    "the barrier of the grid": (
        KERNEL, "            wait_at_barrier(counter, i + 2)\n",
        "            cuda.syncthreads()\n",
    ),
    "the barrier of the grid at the beginning": (
        KERNEL, "        wait_at_barrier(counter, 1)\n",
        "        cuda.syncthreads()\n",
    ),
    "clearing the gradients of cells": (
        "cells", "        kind.sums.clear(arrays.grad_cells, uint32(after + cell))\n", "",
    ),
    "clearing the gradients of weights": (
        "cells", "        clear_sums(arrays, ((i + 1) & TURN_MASK) * sum_rows, sum_rows)\n", "",
    ),
    "a turn between reading and clearing": (
        "cells", "uint32(((i + 1) & TURN_MASK) * cells)", "uint32(((i - 2) & TURN_MASK) * cells)",
    ),
    "a turn between reading and writing copies": (
        KERNEL, "oldest = uint32(((i - 2) & TURN_MASK) * cells)",
        "oldest = uint32(((i - 1) & TURN_MASK) * cells)",
    ),
    "the copy": (
        "cells", "        kind.write_copy(arrays.cell_copies, uint32(before + cell), "
        "uint32(TURNS * cells), mine[0])\n", "",
    ),
}  # fmt: skip


@functools.cache
def six_steps(make_train):
    """(arrays afterwards, the lab's report). After four, turns are used again."""
    config, image = Config(steps=40, batch=200, grid_width=9, grid_height=7), picture(31, 44)
    arrays = arrays_for(config, image)
    train, _ = make_train(32, 2, named_barriers=False)
    rates = np.full((6, 2), 0.01, np.float32)
    return arrays, run_steps(train, THREADS, config, image, arrays, rates, engine=checked_run)


@pytest.mark.thorough  # each takes ten seconds or more, those with many races a minute
@pytest.mark.parametrize("what", WITHOUT)
def test_the_lab_notices_what_is_missing(what, monkeypatch, tmp_path):
    """A race is found, or the result is not what it is with it."""
    right, report = six_steps(make_train_one_barrier)
    assert report.ok
    changed = changed_module(monkeypatch, tmp_path, KERNEL, *WITHOUT[what])
    wrong, report = six_steps(changed.make_train_one_barrier)
    same = np.allclose(right.feature_grid, wrong.feature_grid, atol=1e-3) and np.allclose(
        right.weights, wrong.weights, atol=1e-3
    )
    assert not report.ok or not same


# ---------------------------------------------------------------- parts


def test_two_whole_numbers_in_one():
    """Sums of both signs, and numbers that are too large: they stay at the limit."""

    @cuda.jit
    def add_and_read(numbers, sums, result):
        lane = cuda.threadIdx.x
        weight_tiles.add_whole_numbers(
            sums, 0, lane, numbers[cuda.blockIdx.x, lane, 0], numbers[cuda.blockIdx.x, lane, 1],
            numbers[cuda.blockIdx.x, lane, 2], numbers[cuda.blockIdx.x, lane, 3],
        )  # fmt: skip
        cuda.syncthreads()
        g0, g1, g2, g3 = weight_tiles.read_whole_numbers(sums, 0, lane)
        if cuda.blockIdx.x == blocks - 1:
            result[lane, 0], result[lane, 1], result[lane, 2], result[lane, 3] = g0, g1, g2, g3

    blocks = 1
    numbers = np.random.default_rng(3).normal(size=(1, 32, 4)).astype(np.float32) * 1e-3
    numbers[0, 0] = 1e-30, -1e-30, 7, -7
    numbers[0, 1] = -7, -1e-9, 0, -0.0
    sums, result = np.zeros((32, 2), np.int64), np.zeros((32, 4), np.float32)
    checked(add_and_read, 1, 32, numbers, sums, result)
    expected = np.clip(numbers[0].astype(np.float64), -2, 2)
    np.testing.assert_allclose(result, expected, atol=0.6 / WEIGHT_UNITS, rtol=1e-6)
    # The same by plain integers, for a sum of many.
    lower, upper = lower_and_upper((40 * sums).ravel().tolist())
    wanted = 40 * np.rint(np.clip(numbers[0, 2:], -2, 2).astype(np.float64) * WEIGHT_UNITS)
    got = np.stack([lower, upper], axis=-1).reshape(2, 32, 2).transpose(1, 0, 2).reshape(32, 4)[2:]
    assert abs(got - wanted).max() <= 40


@pytest.mark.parametrize(
    "hidden, layers, batch, processors, expected",
    [
        (32, 2, 16_384, 132, True),
        (32, 2, 16_384, 127, False),
        (32, 2, 132 * SAMPLES + 1, 132, False),
        (16, 4, 1, 1, True),
        (32, 3, 1_000, 132, False),
        (64, 1, 1_000, 132, False),
    ],
)
def test_which_batches_fit(hidden, layers, batch, processors, expected):
    assert fits(hidden, layers, batch, processors) == expected


def test_corrections_of_the_next_two_moves():
    table = bias_corrections(0.9, 0.99)
    config = Config(grid_width=9, grid_height=7)
    arrays = arrays_for(config, picture(2, 2))
    np.testing.assert_array_equal(arrays.cell_corrections[0], [*table[1], *table[2]])
    np.testing.assert_array_equal(arrays.cell_corrections[70], [*table[71], *table[72]])
    np.testing.assert_array_equal(arrays.cell_corrections[-1], np.ones(4))
    assert arrays.cell_corrections.dtype == np.float32


# ---------------------------------------------------------------- on a GPU


@pytest.fixture
def kinds(real_gpu):
    """(one barrier, two barriers): backends, whose modules cannot be imported without a GPU."""
    from kernels.training.gpu_backends import PersistentBackend
    from kernels.training.persistent_backends import OneBarrierBackend

    return OneBarrierBackend, PersistentBackend


@pytest.mark.gpu
@pytest.mark.parametrize("hidden, layers, batch", [(32, 2, 13_000), (16, 1, 70), (32, 1, 4000)])
@pytest.mark.parametrize("deterministic", [False, True])
def test_it_learns_as_with_two_barriers(kinds, hidden, layers, batch, deterministic):
    config, image = Config(hidden=hidden, layers=layers, batch=batch), picture(275, 400)
    rates = Trainer(image, config, CpuBackend).learning_rates(1, 60)
    states, losses = [], []
    for kind in kinds:
        backend = kind(image, config, initial_state(config), deterministic=deterministic)
        backend.run(1, rates)
        states.append(backend.state())
        losses.append(sum(backend.take_losses()))
    assert losses[0] == pytest.approx(losses[1], rel=5e-3)
    assert relative(states[0].weights, states[1].weights) < 0.05
    assert abs(states[0].grid_steps - states[1].grid_steps).mean() < 0.01


@pytest.mark.gpu
def test_a_cut_run_has_the_same_bits(kinds):
    """State in and out between launches, in new arrays each time."""
    config, image = Config(steps=3000), picture(275, 400)
    rates = Trainer(image, config, CpuBackend).learning_rates(1, 3000)
    states = []
    for cuts in ([3000], [1, 2, 997, 2000]):
        state, first = initial_state(config), 0
        for count in cuts:
            backend = kinds[0](image, config, state, deterministic=True)
            backend.run(1 + first, rates[first : first + count])
            state, first = backend.state(), first + count
        states.append(state)
    for one, other in zip(*states, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.gpu
def test_large_batches_take_two_barriers(kinds):
    from kernels.training.gpu_backends import processors
    from kernels.training.persistent_backends import LargeBatchBackend, persistent_backend

    most = SAMPLES * processors()
    cases = [(most, 32, kinds[0]), (most + 1, 32, kinds[1]), (50, 64, kinds[1])]
    cases += [(1 << 17, 32, LargeBatchBackend), (1 << 17, 64, kinds[1])]
    for batch, hidden, kind in cases:
        config = Config(batch=batch, hidden=hidden)
        backend = persistent_backend(picture(20, 30), config, initial_state(config))
        assert type(backend) is kind


@pytest.mark.gpu
def test_no_local_memory(kinds):
    for hidden, layers in ((32, 2), (32, 1), (16, 2)):
        config = Config(hidden=hidden, layers=layers)
        backend = kinds[0](picture(20, 30), config, initial_state(config))
        for compiled in backend.train.overloads.values():
            assert compiled.local_mem_per_thread == 0
