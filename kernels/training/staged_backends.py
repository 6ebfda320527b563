"""The staged kernels, one launch after another: the readable way to train on a GPU."""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from kernels import adam, backward, encode, image_ops, mlp_forward, sampler
from kernels.config import COLOURS, OUTPUTS, Config
from kernels.files.psnr import mean_squared_error
from kernels.launch import on_gpu
from kernels.plumbing.front_end import cuda
from kernels.state import State, initial_state
from kernels.training.devices import gpu_name
from kernels.training_step import Arrays, Order, Stages

# An array where the kernels run: NumPy's on the CPU, Numba's on a GPU (which has no types).
DeviceArray = Any

OUR_STAGES, OUR_ORDER = Stages(), Order()
STAGED_KERNELS = (
    sampler.sample_batch,
    sampler.pixel_centres,
    encode.encode,
    mlp_forward.mlp_forward,
    backward.backward,
    adam.adam_weights,
    adam.adam_grid,
    image_ops.grayscale,
    image_ops.downsample,
    image_ops.upsample,
)


class StagedBackend(ABC):
    """The staged kernels, on whatever `launch` starts them on.

    A subclass says where arrays live and what starts a kernel. stages: the kernels, or others in
    their place. order: what calls them, likewise.
    """

    name: str
    deterministic = False
    samples_per_chunk = 1 << 21

    def __init__(
        self,
        image: np.ndarray,
        config: Config,
        state: State,
        partitions: int | None = None,
        stages: Stages = OUR_STAGES,
        order: Order = OUR_ORDER,
    ) -> None:
        self.config = config
        self.image = image
        self.partitions = 1
        self.stages, self.order = stages, order
        batch = config.batch
        hidden = config.layers, batch, config.hidden
        if not config.is_usual_network:
            # Not above: a handout is for the usual network, and has no others.
            from kernels.general.stages import general_stages, workspace_shape

            self.stages, hidden = general_stages(config), workspace_shape(config, batch)
        self.parameters = State(*(self.to_device(array) for array in state))
        self.arrays = Arrays(
            image=self.to_device(image),
            parameters=self.parameters,
            corrections=self.to_device(adam.bias_corrections(config.beta1, config.beta2)),
            grad_weights=self.to_device(np.zeros_like(state.weights)),
            grad_feature_grid=self.to_device(np.zeros_like(state.feature_grid)),
            loss_sum=self.to_device(np.zeros(1, np.float32)),
            uv=self.empty((batch, 2)),
            target=self.empty((batch, COLOURS)),
            features=self.empty((batch, config.features)),
            hidden=self.empty(hidden),
            outputs=self.empty((batch, OUTPUTS)),
        )

    @property
    @abstractmethod
    def device(self) -> str:
        """What the kernels run on, in words."""

    @staticmethod
    @abstractmethod
    def launch(kernel: Any, blocks: Any, threads: Any, *arguments: Any) -> None:
        """Start a kernel, as `launch.on_gpu` does."""

    @staticmethod
    @abstractmethod
    def to_device(array: np.ndarray) -> DeviceArray:
        """A copy of an array, where the kernels run."""

    @staticmethod
    @abstractmethod
    def empty(shape: tuple[int, ...]) -> DeviceArray:
        """A float32 array there; what it holds is anything."""

    @staticmethod
    @abstractmethod
    def to_host(array: DeviceArray) -> np.ndarray:
        """A copy of an array, back on the host."""

    def run(self, first_step: int, learning_rates: np.ndarray) -> None:
        if len(learning_rates) == 0:
            self.rehearse()
            return
        self.order.training_steps(
            self.stages, self.arrays, self.config, first_step, learning_rates, self.launch
        )

    def rehearse(self) -> None:
        """Train a step on a single sample, on arrays of its own: then every kernel is compiled."""
        small = replace(self.config, batch=1)
        state = initial_state(small)
        duplicate = type(self)(self.image, small, state, stages=self.stages, order=self.order)
        duplicate.run(1, np.zeros((1, 2), np.float32))

    def take_losses(self) -> list[float]:
        loss = float(self.to_host(self.arrays.loss_sum)[0])
        self.arrays = self.arrays._replace(loss_sum=self.to_device(np.zeros(1, np.float32)))
        return [loss]

    def state(self) -> State:
        return State(*(self.to_host(array) for array in self.arrays.parameters))

    def feature_grid(self) -> np.ndarray:
        return self.to_host(self.arrays.parameters.feature_grid)

    def render(self, width: int, height: int) -> np.ndarray:
        pixels = width * height
        colours = np.empty((pixels, COLOURS), np.float32)
        uv, outputs = self.arrays.uv, self.arrays.outputs
        for first in range(0, pixels, self.config.batch):
            self.stages.pixel_centres(first, width, height, uv, launch=self.launch)
            self.order.evaluate(self.stages, self.arrays, self.launch)
            count = min(self.config.batch, pixels - first)
            colours[first : first + count] = self.to_host(outputs)[:count, :COLOURS]
        return colours.reshape(height, width, COLOURS)

    def mean_squared_error(self) -> float:
        height, width, _ = self.image.shape
        return mean_squared_error(self.render(width, height), self.image)

    @classmethod
    def bilinear_baseline(cls, image: np.ndarray, width: int, height: int) -> np.ndarray:
        small, large = cls.empty((height, width, COLOURS)), cls.empty(image.shape)
        launch = cls.launch
        image_ops.launch_over_pixels(image_ops.downsample, cls.to_device(image), small, launch)
        image_ops.launch_over_pixels(image_ops.upsample, small, large, launch)
        return cls.to_host(large)


class CudaBackend(StagedBackend):
    """The staged kernels on a GPU. Nothing travels to the host but what a method returns.

    Gains: everything is a plain kernel, readable on its own. Gives up: six launches per step, which
    together cost the host more time than the GPU needs for the work.
    """

    name = "cuda"
    launch = staticmethod(on_gpu)

    @property
    def device(self) -> str:
        return gpu_name()

    @staticmethod
    def to_device(array: np.ndarray) -> DeviceArray:
        return cuda.to_device(array)

    @staticmethod
    def empty(shape: tuple[int, ...]) -> DeviceArray:
        return cuda.device_array(shape, np.float32)

    @staticmethod
    def to_host(array: DeviceArray) -> np.ndarray:
        return array.copy_to_host()
