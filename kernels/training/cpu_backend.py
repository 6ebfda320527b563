"""The CPU backend: `cpu.step` on every core."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numba
import numpy as np

from kernels import adam
from kernels.config import COLOURS, Config
from kernels.cpu import few_bits, general
from kernels.cpu import images as cpu_images
from kernels.cpu import step as cpu
from kernels.files.psnr import mean_squared_error
from kernels.state import State
from kernels.training.devices import cpu_name, threads_label
from kernels.training.few_bits import FewBits, Rounding
from kernels.training.second_compiler import loops_compiled_elsewhere

# With --deterministic. Each partition has a gradient of the whole grid, and Adam sums them all, so
# more cost time: on two cores a step takes a fifth longer with eight than with two. More than eight
# threads gain little.
FIXED_PARTITIONS = 8
COMPILED = Rounding(
    lambda *arrays, launch: few_bits.quantise(*arrays),
    lambda *arrays, launch: few_bits.follow(*arrays),
)


class CpuBackend:
    """`cpu.step` on every core. The same bits every run for the same number of partitions.

    partitions: how many parts the batch is divided into. By default one for each thread, which is
    fastest; deterministic: always `FIXED_PARTITIONS`, for the same bits with any number of threads.
    A resumed run keeps the number it began with, even on another machine.
    """

    name = "cpu"
    samples_per_chunk = 1 << 21
    bodies = cpu.gradient_of_partition, cpu_images.render_pixels

    def __init__(
        self,
        image: np.ndarray,
        config: Config,
        state: State,
        partitions: int | None = None,
        deterministic: bool = False,
    ) -> None:
        self.config = config
        self.image = image
        self.deterministic = deterministic
        self.parameters = State(*(array.copy() for array in state))
        usual: int = FIXED_PARTITIONS if deterministic else numba.get_num_threads()
        self.partitions = partitions or usual
        self.workspace = self.make_workspace()
        self.corrections = adam.bias_corrections(config.beta1, config.beta2)
        self.losses: list[float] = []

    def make_workspace(self) -> Any:
        return cpu.make_workspace(self.config, self.partitions)

    @property
    def device(self) -> str:
        threads = min(self.partitions, numba.get_num_threads())
        return f"{cpu_name()}, {threads_label(threads)}"

    def while_compiling(self) -> AbstractContextManager[None]:
        return loops_compiled_elsewhere()

    def gradient(self) -> Any:
        """The compiled body of the loop in `cpu.train_steps`; it is compiled only once."""
        seed = np.uint64(self.config.seed)
        body, _ = self.bodies
        return cpu.gradient_body(
            self.image, seed, self.config.batch, self.parameters, self.workspace, body=body
        )

    def paint(self) -> Any:
        """The compiled body of the loop in `cpu.images.render`; it is compiled only once."""
        parameters, (_, body) = self.parameters, self.bodies
        return cpu_images.paint_body(
            parameters.feature_grid, parameters.weights, self.workspace, self.image, body=body
        )

    def run(self, first_step: int, learning_rates: np.ndarray) -> None:
        if len(learning_rates) == 0:
            with self.while_compiling():
                self.gradient()
                self.paint()
        losses = cpu.train_steps(
            self.gradient(),
            self.image,
            np.uint64(self.config.seed),
            first_step,
            self.config.batch,
            self.parameters,
            self.workspace,
            self.corrections,
            np.asarray(learning_rates, np.float32).reshape(-1, 2),
            self.config.adam_rates,
        )
        self.losses.extend(losses.tolist())

    def take_losses(self) -> list[float]:
        losses, self.losses = self.losses, []
        return losses

    def state(self) -> State:
        return State(*(array.copy() for array in self.parameters))

    def feature_grid(self) -> np.ndarray:
        return self.parameters.feature_grid.copy()

    def render(self, width: int, height: int) -> np.ndarray:
        image = np.empty((height, width, COLOURS), np.float32)
        cpu_images.render(
            self.paint(),
            self.parameters.feature_grid,
            self.parameters.weights,
            self.workspace,
            image,
        )
        return image

    def mean_squared_error(self) -> float:
        height, width, _ = self.image.shape
        return mean_squared_error(self.render(width, height), self.image)

    @staticmethod
    def bilinear_baseline(image: np.ndarray, width: int, height: int) -> np.ndarray:
        small = np.empty((height, width, COLOURS), np.float32)
        large = np.empty_like(image)
        cpu_images.downsample(image, small)
        cpu_images.upsample(small, large)
        return large


class GeneralCpuBackend(CpuBackend):
    """The same for networks that `cpu.step` is not made for: `cpu.general` on every core."""

    bodies = general.gradient_of_partition, general.render_pixels

    def while_compiling(self) -> AbstractContextManager[None]:
        return nullcontext()  # the second process knows the usual network's loops

    def make_workspace(self) -> Any:
        return general.make_general_workspace(self.config, self.partitions)


class CpuFewBits(FewBits, CpuBackend):
    """The same with a rounded grid, by the CPU's own loops unless kernels are given."""

    rounding, launch = COMPILED, None
    to_device = to_host = staticmethod(np.array)


def cpu_backend(
    image: np.ndarray,
    config: Config,
    state: State,
    partitions: int | None = None,
    deterministic: bool = False,
) -> CpuBackend:
    """A `BackendFactory`."""
    if config.bits:
        return CpuFewBits(image, config, state, partitions, deterministic)
    kind = CpuBackend if config.is_usual_network else GeneralCpuBackend
    return kind(image, config, state, partitions, deterministic)
