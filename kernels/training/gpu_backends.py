"""The fused backends: two kernels per step on tensor cores, or the whole training in one."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from kernels import adam
from kernels.config import COLOURS, THREADS, Config
from kernels.fast.adam import rows_to_sum
from kernels.fast.graph import add_squared_errors, make_fused_kernels
from kernels.fast.persistent_two_barriers import WIDEST_WITH_STATE, make_train_two_barriers
from kernels.fast.sizes import StepSettings
from kernels.launch import blocks_for, on_gpu
from kernels.plumbing.front_end import compiled_for_gpu, cuda, typeof
from kernels.state import State
from kernels.training.devices import adds_four_at_once, gpu_name
from kernels.training.graph_backend import Recorded, in_parts
from kernels.training.kept_kernels import keep
from kernels.training.kernel_arrays import fused_arrays, moves_of_cells, settings_of
from kernels.training.second_gpu_compiler import painting_compiled_elsewhere
from kernels.training.staged_backends import CudaBackend

# The persistent kernel's barrier counts 2 arrivals of each block per step, in 32 bits.
MAX_STEPS_PER_LAUNCH = 1 << 16
# Threads that add up the errors of a whole picture; the host adds their sums.
ERROR_SUMS = 1 << 14


def processors() -> int:
    """How many streaming multiprocessors the GPU has."""
    return cuda.get_current_device().MULTIPROCESSOR_COUNT


class FusedBackend(ABC):
    """What the tensor-core backends share: arrays of four channels, painting, losses.

    deterministic: add the grid's gradients as whole numbers, for the same bits in every run.
    """

    name: str
    samples_per_chunk = 1 << 24

    # Set by `prepare_kernels`: the kernels that train and the one that paints, and how many threads
    # blocks have that train and that paint.
    kernels: tuple[Any, ...]
    paint: Any
    threads: int
    paint_threads: int

    arrays: Any
    blocks: int

    @property
    def samples(self) -> int:
        """That a block takes at once: one per thread."""
        return self.threads

    def __init__(
        self,
        image: np.ndarray,
        config: Config,
        state: State,
        partitions: int | None = None,
        deterministic: bool = False,
    ) -> None:
        self.image = image
        self.config = config
        self.partitions = 1
        self.deterministic = deterministic
        self.vector_atomics = adds_four_at_once()
        self.prepare_kernels()
        keep(*self.kernels, self.paint, add_squared_errors)
        self.settings: StepSettings = settings_of(config, image)
        with painting_compiled_elsewhere(self.paint, config):
            self.allocate(state, adam.bias_corrections(config.beta1, config.beta2))

    def allocate(self, state: State, corrections: np.ndarray) -> None:
        """Find out how many `blocks` to launch, and make their `arrays`."""
        # Arrays for one block first: how many blocks fit is known when the kernel is compiled, and
        # it is compiled for arrays of these types.
        self.arrays = self.on_device(fused_arrays(
            self.image, state, corrections, 1, 1, self.threads, self.deterministic
        ))  # fmt: skip
        # One block per processor at least: those without samples still move parameters.
        with_samples = blocks_for(self.config.batch, self.samples)
        self.blocks = min(max(with_samples, processors()), self.most_blocks())
        rows = rows_to_sum(min(with_samples, self.blocks), self.threads)
        self.arrays = self.on_device(fused_arrays(
            self.image, state, corrections, self.blocks, rows, self.threads, self.deterministic
        ))  # fmt: skip

    @abstractmethod
    def prepare_kernels(self) -> None:
        """Make the kernels of this `variant`, and say how many threads their blocks have."""

    @abstractmethod
    def most_blocks(self) -> int:
        """As many blocks as the GPU can hold at once; more would only wait."""

    @abstractmethod
    def run(self, first_step: int, learning_rates: np.ndarray) -> None:
        """As in `backend.Backend`."""

    @staticmethod
    def on_device(arrays: Any) -> Any:
        """Copies of all arrays of a named tuple, in one of the same kind."""
        return type(arrays)(*map(cuda.to_device, arrays))

    @property
    def device(self) -> str:
        return gpu_name()

    @property
    def variant(self) -> tuple[int, int, bool, bool, int]:
        """(hidden, layers, deterministic, vector atomics, channels): what kernels are made for."""
        config = self.config
        ways = self.deterministic, self.vector_atomics
        return config.hidden, config.layers, *ways, config.channels

    def take_losses(self) -> list[float]:
        errors = self.arrays.squared_errors.copy_to_host().astype(np.float64)
        self.arrays.squared_errors.copy_to_device(np.zeros(len(errors), np.float32))
        return [float(errors.sum()) / (self.config.batch * COLOURS)]

    def state(self) -> State:
        shape = self.config.grid_height, self.config.grid_width

        def grid(array: Any) -> np.ndarray:
            used = array.copy_to_host()[:, : self.config.channels]
            return np.ascontiguousarray(used).reshape(*shape, self.config.channels)

        arrays = self.arrays
        return State(
            feature_grid=grid(arrays.feature_grid),
            grid_m=grid(arrays.grid_m),
            grid_v=grid(arrays.grid_v),
            grid_steps=moves_of_cells(arrays).astype(np.int32).reshape(shape),
            weights=arrays.weights.copy_to_host(),
            weights_m=arrays.weights_m.copy_to_host(),
            weights_v=arrays.weights_v.copy_to_host(),
        )

    def feature_grid(self) -> np.ndarray:
        return self.state().feature_grid

    def render(self, width: int, height: int) -> np.ndarray:
        colours = cuda.device_array(width * height * COLOURS, np.float32)
        self.paint_into(colours, width, height)
        return colours.copy_to_host().reshape(height, width, COLOURS)

    def paint_into(self, colours: Any, width: int, height: int) -> None:
        """Paint to an array on the GPU: colours (width * height * 3,) float32."""
        blocks = min(blocks_for(width * height, self.paint_threads), 1 << 12)
        sizes = self.settings.grid_width, self.settings.grid_height
        self.paint[blocks, self.paint_threads](
            self.arrays.feature_grid, self.arrays.weights, *sizes, colours,
            np.int32(width), np.int32(height),
        )  # fmt: skip

    def mean_squared_error(self) -> float:
        # All on the GPU: to copy the picture takes longer than a hundred steps of training.
        height, width, _ = self.image.shape
        colours = cuda.device_array(width * height * COLOURS, np.float32)
        sums = cuda.device_array(ERROR_SUMS, np.float32)
        self.paint_into(colours, width, height)
        blocks = blocks_for(ERROR_SUMS)
        on_gpu(add_squared_errors, blocks, THREADS, colours, self.arrays.image, sums)
        return float(sums.copy_to_host().sum(dtype=np.float64)) / self.image.size

    bilinear_baseline = staticmethod(CudaBackend.bilinear_baseline)


class TensorBackend(Recorded, FusedBackend):
    """Two fused kernels per step, on tensor cores, recorded as a CUDA graph.

    Gains: nothing but parameters and gradients passes through memory, and products are a tensor
    core's work. Gives up: operands of 16 bits, and kernels that must be written warp by warp.
    """

    name = "tensor"

    def prepare_kernels(self) -> None:
        *kernels, self.threads = make_fused_kernels(*self.variant)
        self.first, self.second, self.paint = map(compiled_for_gpu, kernels)
        self.kernels = self.first, self.second
        self.paint_threads = self.threads
        self.prepare_recording()

    def most_blocks(self) -> int:
        arguments = self.clock.clock, self.arrays, self.settings
        kernel = self.first.compile(tuple(map(typeof, arguments)))
        return kernel.max_cooperative_grid_blocks(self.threads)

    def duplicate(self) -> "TensorBackend":
        return TensorBackend(
            self.image, self.config, self.state(), deterministic=self.deterministic
        )

    def launch_step(self, stream: Any) -> None:
        shape = self.blocks, self.threads, stream
        clock = self.clock.clock
        self.first[shape](clock, self.arrays, self.settings)
        self.second[shape](clock, self.clock.learning_rates, self.arrays, self.settings)


class PersistentBackend(FusedBackend):
    """All steps in one kernel, whose blocks wait for each other twice per step.

    Gains: no launches at all; what stays from step to step stays on the chip. Gives up: the GPU
    is held for a whole chunk of steps, and all blocks must fit onto it at once.
    """

    name = "persistent"

    def prepare_kernels(self) -> None:
        _, _, paint, self.threads = make_fused_kernels(*self.variant)
        self.paint = compiled_for_gpu(paint)
        self.paint_threads = self.threads
        few = blocks_for(self.config.batch, self.threads) <= 2 * processors()
        # A wide network has no register left over.
        keep_state = few and self.config.hidden <= WIDEST_WITH_STATE
        train, _ = make_train_two_barriers(*self.variant, keep_state=keep_state)
        self.train = compiled_for_gpu(train)
        self.kernels = (self.train,)

    def most_blocks(self) -> int:
        rates = cuda.to_device(np.zeros((0, 2), np.float32))
        self.counter = cuda.to_device(np.zeros(1, np.uint32))
        arguments = self.arrays, rates, np.int64(1), self.settings, self.counter
        kernel = self.train.compile(tuple(map(typeof, arguments)))
        return kernel.max_cooperative_grid_blocks(self.threads)

    def run(self, first_step: int, learning_rates: np.ndarray) -> None:
        rows = np.ascontiguousarray(learning_rates, np.float32).reshape(-1, 2)
        for first, part in in_parts(first_step, rows, MAX_STEPS_PER_LAUNCH):
            self.counter.copy_to_device(np.zeros(1, np.uint32))
            self.train[self.blocks, self.threads](
                self.arrays, cuda.to_device(part), np.int64(first), self.settings, self.counter
            )
        cuda.synchronize()
