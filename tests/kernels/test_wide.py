"""The kernel for networks of 128 units, of which every warp owns 16.

Without a GPU it runs in the checked simulator, on small sizes, against float64; and the lab notices
whatever barrier is taken out of it. On a GPU it trains beside the CPU.
"""

import numpy as np
import pytest

from kernels.config import Config
from kernels.fast.persistent_wide import (
    make_paint_wide,
    make_train_wide,
    make_wide_gradients,
    wide_fits,
)
from kernels.plumbing.errors import InputError
from kernels.state import initial_state
from kernels.training import choose_backend, devices
from kernels.training.cpu_backend import CpuBackend, cpu_backend
from kernels.training.kernel_arrays import flat_with_four_channels
from kernels.training.trainer import Trainer
from tests.kernels.changed_module import changed_module
from tests.kernels.test_backends_agree import picture
from tests.kernels.test_fused import checked, relative, run_steps
from tests.kernels.test_large_batch import arrays_for, assert_gradients, checked_run

HIDDEN = 128


@pytest.mark.slow
@pytest.mark.parametrize(
    "layers, batch, blocks, deterministic, channels",
    [
        (2, 130, 2, False, 3),  # blocks with several rounds, a ragged last group
        (1, 90, 4, False, 4),  # a block without samples
        pytest.param(2, 40, 1, True, 4, marks=pytest.mark.thorough),
    ],
)
def test_gradients_of_a_step(layers, batch, blocks, deterministic, channels):
    gradients, threads = make_wide_gradients(HIDDEN, layers, deterministic, channels)
    network = {"hidden": HIDDEN, "layers": layers, "channels": channels}
    assert_gradients(gradients, threads, network, batch, blocks, deterministic)


@pytest.mark.slow
@pytest.mark.parametrize("layers, channels", [(2, 3), (1, 4)])
def test_painting(layers, channels):
    config = Config(
        steps=40, grid_width=9, grid_height=7, hidden=HIDDEN, layers=layers, channels=channels
    )
    state = initial_state(config)
    paint, threads = make_paint_wide(HIDDEN, layers, channels)
    colours = np.zeros(17 * 13 * 3, np.float32)
    grid = flat_with_four_channels(state.feature_grid)
    checked(
        paint, 2, threads, grid, state.weights, np.int32(9), np.int32(7), colours, np.int32(17),
        np.int32(13),
    )  # fmt: skip
    expected = cpu_backend(picture(2, 2), config, state).render(17, 13)
    assert abs(colours.reshape(13, 17, 3) - expected).max() < 5e-3


def two_steps(make_train, layers=2):
    """(arrays afterwards, the lab's report). Three rounds of two blocks in each step."""
    config = Config(steps=40, batch=170, grid_width=9, grid_height=7, hidden=HIDDEN, layers=layers)
    image, rates = picture(31, 44), np.full((2, 2), 0.01, np.float32)
    train, threads = make_train(HIDDEN, layers)
    arrays = arrays_for(config, image, 2, threads=threads)
    report = run_steps(train, threads, config, image, arrays, rates, engine=checked_run)
    return arrays, report


@pytest.mark.thorough
@pytest.mark.parametrize("layers", [1, 2])
def test_nothing_is_found_in_the_kernel_as_it_is(layers):
    arrays, report = two_steps(make_train_wide, layers)
    assert report.ok and np.isfinite(arrays.weights).all()


KERNEL = "persistent_wide"
WITHOUT = {
    "the barrier before the first layer": (
        KERNEL, "matrices at the ends.\n        cuda.syncthreads()\n", "matrices at the ends.\n",
    ),
    "the barrier after the first layer": (
        KERNEL, "all units of this one.\n            cuda.syncthreads()\n",
        "all units of this one.\n",
    ),
    "the barrier after the second layer": (
        KERNEL, "So do the outputs.\n                cuda.syncthreads()\n", "So do the outputs.\n",
    ),
    "the barrier after the outputs": (
        KERNEL, "read the last buffer are done.\n            cuda.syncthreads()\n",
        "read the last buffer are done.\n",
    ),
    "the barrier after the second layer's deltas": (
        KERNEL, "            if layers == 2:\n                # A delta of the first layer needs "
        "all deltas of the second.\n                cuda.syncthreads()\n", "",
    ),
    "the barrier after the first layer's deltas": (
        KERNEL, "nobody reads any more.\n            cuda.syncthreads()\n",
        "nobody reads any more.\n",
    ),
    "the warp's wait for its gradients": (
        KERNEL, "what a lane reads.\n        cuda.syncwarp()\n", "what a lane reads.\n",
    ),
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("what", WITHOUT)
def test_the_lab_notices_what_is_missing(what, monkeypatch, tmp_path):
    """A race is found."""
    changed = changed_module(monkeypatch, tmp_path, KERNEL, *WITHOUT[what])
    _, report = two_steps(changed.make_train_wide)
    assert "race" in {finding.kind for finding in report.findings if not finding.advice}


def test_which_networks_fit():
    sizes = [(HIDDEN, 1), (HIDDEN, 2), (HIDDEN, 3), (64, 2)]
    assert [wide_fits(*size) for size in sizes] == [True, True, False, False]


@pytest.mark.parametrize(
    "capability, layers, name",
    [
        ((9, 0), 1, "persistent"),
        ((9, 0), 2, "persistent"),
        ((9, 0), 3, "cuda"),
        ((8, 0), 1, "cuda"),
        ((8, 0), 2, "cuda"),
    ],
)
def test_which_backend_takes_them(capability, layers, name, monkeypatch):
    class Device:
        compute_capability = capability

    monkeypatch.setattr(choose_backend, "why_no_gpu", lambda: None)
    monkeypatch.setattr(choose_backend, "gpu_name", lambda: "a GPU")
    monkeypatch.setattr(choose_backend, "backend_factory", lambda name, deterministic=False: name)
    monkeypatch.setattr(choose_backend, "why_it_does_not_learn", lambda kind, config: None)
    monkeypatch.setattr(devices.cuda, "get_current_device", Device, raising=False)
    config = Config(hidden=HIDDEN, layers=layers)
    for asked in ("auto", "persistent"):
        assert choose_backend.choose_backend(asked, config).factory == name
    chosen = choose_backend.choose_backend("tensor", config)
    assert chosen.factory == "cuda" and "128 units are for persistent" in chosen.explanation
    with pytest.raises(InputError, match="--hidden 128 needs persistent"):
        choose_backend.choose_backend("graph", config)


# ---------------------------------------------------------------- on a GPU


@pytest.mark.gpu
@pytest.mark.parametrize("layers, batch, channels", [(2, 16_384, 3), (1, 3000, 4), (2, 100, 4)])
@pytest.mark.parametrize("deterministic", [False, True])
def test_it_learns_as_on_the_cpu(real_gpu, layers, batch, channels, deterministic):
    from kernels.training.persistent_backends import WideBackend, persistent_backend

    config = Config(hidden=HIDDEN, layers=layers, batch=batch, channels=channels)
    image = picture(275, 400)
    # Few steps: halves and float32 part by rounding alone, the sooner the smaller the batch.
    rates = Trainer(image, config, CpuBackend).learning_rates(1, 20)
    states, losses, pictures = [], [], []
    for kind in (persistent_backend, cpu_backend):
        backend = kind(image, config, initial_state(config), deterministic=deterministic)
        backend.run(1, rates)
        states.append(backend.state())
        losses.append(sum(backend.take_losses()))
        pictures.append(backend.render(40, 30))
        if kind is persistent_backend:
            assert type(backend) is WideBackend
            for compiled in backend.train.overloads.values():
                assert compiled.local_mem_per_thread == 0
    assert losses[0] == pytest.approx(losses[1], rel=5e-3)
    assert relative(states[0].weights, states[1].weights) < 0.1
    assert abs(states[0].grid_steps - states[1].grid_steps).mean() < 0.01
    assert abs(pictures[0] - pictures[1]).mean() < 0.02
