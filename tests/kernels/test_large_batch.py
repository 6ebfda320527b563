"""The kernel for large batches, in which every warp works by itself.

Without a GPU it runs in the checked simulator, on small sizes, against float64; and the lab notices
whatever barrier is taken out of it. On a GPU it trains beside `persistent_two_barriers`.
"""

import functools

import numpy as np
import pytest
from numba import cuda

from kernels.adam import bias_corrections
from kernels.config import Config
from kernels.fast.adam import rows_to_sum
from kernels.fast.persistent_large_batch import (
    THREADS,
    large_batch_fits,
    make_large_batch_gradients,
    make_train_large_batch,
)
from kernels.state import initial_state
from kernels.training.cpu_backend import CpuBackend
from kernels.training.kernel_arrays import fused_arrays, settings_of
from kernels.training.trainer import Trainer
from lessons.lab import checked_run as lab_run
from tests.kernels.changed_module import changed_module
from tests.kernels.test_backends_agree import picture
from tests.kernels.test_fused import (
    checked,
    expect_gradients,
    expect_steps_of_the_cpu,
    relative,
    run_steps,
)

checked_run = functools.partial(lab_run, ask_numba=False)


def arrays_for(config, image, blocks, deterministic=False, threads=THREADS):
    return fused_arrays(
        image, initial_state(config), bias_corrections(config.beta1, config.beta2), blocks,
        rows_to_sum(blocks, threads), threads, deterministic,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "hidden, layers, batch, blocks, deterministic, channels",
    [
        (32, 2, 600, 2, False, 3),  # warps with several groups, warps with none, a ragged last one
        (32, 2, 130, 1, True, 4),
        (16, 4, 90, 1, True, 3),
        (32, 1, 70, 3, False, 4),  # blocks without samples
        (16, 1, 7, 1, False, 3),
    ],
)
def test_gradients_of_a_step(hidden, layers, batch, blocks, deterministic, channels):
    gradients = make_large_batch_gradients(hidden, layers, deterministic, channels)
    network = {"hidden": hidden, "layers": layers, "channels": channels}
    assert_gradients(gradients, THREADS, network, batch, blocks, deterministic)


def assert_gradients(gradients, threads, network, batch, blocks, deterministic):
    """The first part of a step, against float64. network: arguments of `Config`."""
    config = Config(steps=40, batch=batch, grid_width=23, grid_height=29, seed=5, **network)
    image = picture(31, 44)
    arrays = arrays_for(config, image, blocks, deterministic, threads)

    @cuda.jit
    def first_part(arrays, step, settings):
        arrays.squared_errors[cuda.grid(1)] += gradients(arrays, step, settings)

    checked(first_part, blocks, threads, arrays, np.int64(7), settings_of(config, image))
    expect_gradients(config, image, arrays, deterministic)


@pytest.mark.slow
@pytest.mark.parametrize(
    "deterministic, channels", [(False, 3), pytest.param(True, 4, marks=pytest.mark.thorough)]
)
def test_steps_in_one_kernel(deterministic, channels):
    """The loop, barriers and all: no race, and it learns as the CPU does."""
    config = Config(steps=40, batch=530, grid_width=9, grid_height=7, channels=channels)
    image = picture(31, 44)
    train, _ = make_train_large_batch(32, 2, deterministic, channels)
    arrays = arrays_for(config, image, 2, deterministic)
    expect_steps_of_the_cpu(train, THREADS, config, image, arrays, 2)


# ---------------------------------------------------------------- what may not be left out

KERNEL = "persistent_large_batch"
# (file, line, what stands in its place)
WITHOUT = {
    "the barrier before the first product": (
        KERNEL, "others have packed.\n        cuda.syncthreads()\n", "others have packed.\n",
    ),
    "the warp's wait for its features": (
        KERNEL, "what a lane reads.\n            cuda.syncwarp()\n", "what a lane reads.\n",
    ),
    "the warp's wait for its gradients": (
        KERNEL, "            cuda.syncwarp()\n            if first + sample",
        "            if first + sample",
    ),
    "the warp's wait for targets that others still read": (
        KERNEL, "on the way forward.\n        cuda.syncwarp()\n", "on the way forward.\n",
    ),
    "the warp's wait before the next samples": (
        KERNEL, "these gradients are.\n            cuda.syncwarp()\n", "these gradients are.\n",
    ),
    "the wait between two warps' sums": (
        KERNEL, "after the other.\n            cuda.syncthreads()\n", "after the other.\n",
    ),
    "the barrier before Adam": (
        "persistent_two_barriers", "            wait_at_barrier(counter, 2 * i + 1)\n",
        "            cuda.syncthreads()\n",
    ),
    "the barrier after Adam": (
        "persistent_two_barriers", "            wait_at_barrier(counter, 2 * i + 2)\n",
        "            cuda.syncthreads()\n",
    ),
}  # fmt: skip


@functools.cache
def two_steps(make_train):
    """(arrays afterwards, the lab's report)."""
    config, image = Config(steps=40, batch=530, grid_width=9, grid_height=7), picture(31, 44)
    arrays = arrays_for(config, image, 2)
    rates = np.full((2, 2), 0.01, np.float32)
    train, _ = make_train(32, 2)
    return arrays, run_steps(train, THREADS, config, image, arrays, rates, engine=checked_run)


@pytest.mark.slow
def test_nothing_is_found_in_the_kernel_as_it_is():
    arrays, report = two_steps(make_train_large_batch)
    assert report.ok and np.isfinite(arrays.weights).all()


@pytest.mark.thorough
@pytest.mark.parametrize("what", WITHOUT)
def test_the_lab_notices_what_is_missing(what, monkeypatch, tmp_path):
    """A race is found."""
    changed = changed_module(monkeypatch, tmp_path, KERNEL, *WITHOUT[what])
    _, report = two_steps(changed.make_train_large_batch)
    assert "race" in {finding.kind for finding in report.findings if not finding.advice}


def test_which_networks_fit():
    sizes = [(16, 1), (16, 4), (32, 1), (32, 2), (32, 3), (64, 1)]
    assert [large_batch_fits(*size) for size in sizes] == [True, True, True, True, False, False]


# ---------------------------------------------------------------- on a GPU


@pytest.fixture
def kinds(real_gpu):
    """(large batches, two barriers): backends, whose modules cannot be imported without a GPU."""
    from kernels.training.gpu_backends import PersistentBackend
    from kernels.training.persistent_backends import LargeBatchBackend

    return LargeBatchBackend, PersistentBackend


@pytest.mark.gpu
@pytest.mark.parametrize(
    "hidden, layers, batch, channels",
    [(32, 2, 70_000, 3), (32, 2, 70_000, 4), (16, 4, 60_001, 3), (32, 1, 300, 3)],
)
@pytest.mark.parametrize("deterministic", [False, True])
def test_it_learns_as_with_shared_tiles(kinds, hidden, layers, batch, channels, deterministic):
    config = Config(hidden=hidden, layers=layers, batch=batch, channels=channels)
    image = picture(275, 400)
    rates = Trainer(image, config, CpuBackend).learning_rates(1, 60)
    states, losses = [], []
    for kind in kinds:
        backend = kind(image, config, initial_state(config), deterministic=deterministic)
        backend.run(1, rates)
        states.append(backend.state())
        losses.append(sum(backend.take_losses()))
        for compiled in backend.train.overloads.values():
            assert compiled.local_mem_per_thread == 0
    assert losses[0] == pytest.approx(losses[1], rel=5e-3)
    assert relative(states[0].weights, states[1].weights) < 0.05
    assert abs(states[0].grid_steps - states[1].grid_steps).mean() < 0.01


@pytest.mark.gpu
def test_two_deterministic_runs_have_the_same_bits(kinds):
    config, image = Config(batch=70_000), picture(275, 400)
    rates = Trainer(image, config, CpuBackend).learning_rates(1, 200)
    states = []
    for cuts in ([200], [1, 199]):
        state, first = initial_state(config), 0
        for count in cuts:
            backend = kinds[0](image, config, state, deterministic=True)
            backend.run(1 + first, rates[first : first + count])
            state, first = backend.state(), first + count
        states.append(state)
    for one, other in zip(*states, strict=True):
        np.testing.assert_array_equal(one, other)
