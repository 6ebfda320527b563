"""The staged kernels and the CPU's own step learn the same thing from the same seed.

Without a GPU a few steps on a tiny picture, and 64 on the native engine; on a GPU real training.
"""

import numpy as np
import pytest

from kernels.config import Config
from kernels.files.psnr import psnr
from kernels.training.cpu_backend import CpuBackend
from kernels.training.staged_backends import CudaBackend
from kernels.training.trainer import Trainer
from lessons.native_backend import NativeBackend

pytestmark = pytest.mark.gpu

# Both add float32 numbers, in different orders, and Adam turns the rounding of a gradient near zero
# into a step of full size. So the losses drift apart; after 100 steps by less than this at the
# default size. A wider and deeper network, whose steps disturb each other more, gets more room, and
# fewer steps: from the 90th on, two runs of the same kernels can be 6 % apart.
LOSS_TOLERANCE = 2e-3
LOSS_TOLERANCE_DEEP = 5e-2


def picture(height, width):
    """Smooth colours with a sharp ring: something to learn that needs no file."""
    y, x = np.mgrid[:height, :width]
    u, v = (x + 0.5) / width, (y + 0.5) / height
    ring = np.abs(np.hypot(u - 0.5, v - 0.4) - 0.3) < 0.05
    image = np.stack([u, v, 0.5 + 0.4 * np.sin(40 * u * v)], axis=2)
    image[ring] = [0.9, 0.2, 0.1]
    return image.astype(np.float32)


def train_both(image, config, steps, staged=CudaBackend):
    trainers = [Trainer(image, config, kind) for kind in (staged, CpuBackend)]
    for trainer in trainers:
        for step in steps:
            trainer.advance(step)
            trainer.log()
    return trainers


def losses(trainer):
    return [loss for _, loss in trainer.progress.history]


@pytest.mark.slow_on("native")
def test_a_few_steps_agree(engine):
    config = Config(steps=4, batch=40, hidden=16, layers=1, grid_width=5, grid_height=4)
    cuda, cpu = train_both(picture(6, 8), config, range(1, 5), engine.backend)
    np.testing.assert_allclose(losses(cuda), losses(cpu), rtol=1e-5)
    for mine, theirs in zip(cuda.backend.state(), cpu.backend.state(), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-4)
    np.testing.assert_array_equal(cuda.backend.state().grid_steps, cpu.backend.state().grid_steps)
    np.testing.assert_allclose(cuda.render(), cpu.render(), atol=1e-4)
    np.testing.assert_allclose(cuda.baseline(), cpu.baseline(), atol=1e-6)


@pytest.mark.slow
def test_64_steps_of_the_native_engine_agree():
    config = Config(steps=128, batch=4096)
    native, cpu = train_both(picture(55, 80), config, range(8, 65, 8), NativeBackend)
    np.testing.assert_allclose(losses(native), losses(cpu), rtol=LOSS_TOLERANCE)


@pytest.mark.usefixtures("real_gpu")
@pytest.mark.parametrize(
    "hidden, layers, batch, tolerance, steps",
    [
        (32, 2, 16_384, LOSS_TOLERANCE, 100),
        (16, 1, 1, LOSS_TOLERANCE, 100),
        (64, 4, 10_000, LOSS_TOLERANCE_DEEP, 60),
    ],
)
def test_many_steps_agree_at_real_sizes(hidden, layers, batch, tolerance, steps):
    config = Config(steps=40_000, batch=batch, hidden=hidden, layers=layers)
    cuda, cpu = train_both(picture(275, 400), config, range(10, steps + 1, 10))
    np.testing.assert_allclose(losses(cuda), losses(cpu), rtol=tolerance)


@pytest.mark.usefixtures("real_gpu")
def test_two_thousand_steps_learn_as_well_as_on_the_cpu():
    image = picture(550, 800)
    cuda, cpu = train_both(image, Config(steps=2000), [2000])
    reached = psnr(cuda.render(), image)
    assert abs(reached - psnr(cpu.render(), image)) < 0.3
    assert reached > psnr(cuda.baseline(), image) + 3
