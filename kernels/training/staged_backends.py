"""Two ways to run a training step, behind the same five methods.

    run(first_step, learning_rates)   train one step for each row of learning_rates (n, 2)
    take_losses()                     what the steps since the last call lost, as a list of sums
    state()                           a copy of the parameters and Adam's memory, on the host
    feature_grid()                    a copy of the grid alone
    render(width, height)             what the network paints, (height, width, 3) float32

`CudaBackend` launches the staged kernels one after another; `CpuBackend` calls `cpu.py`. Both draw
the same batches from the same seed. Their float32 sums are added in different orders, so their
losses agree to about 1 part in 500 after 100 steps, not to the last bit.
"""

import numba
import numpy as np
from numba import cuda

from kernels import adam, image_ops
from kernels.config import COLOURS, FEATURES, OUTPUTS
from kernels.launch import on_gpu
from kernels.stages import Stages
from kernels.state import State
from kernels.training.devices import gpu_name
from kernels.training_step import Arrays

# Training a small network means small grids; Numba's advice to use larger ones is well meant.
numba.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0


class StagedBackend:
    """The staged kernels, one launch after another, on whatever `launch` starts them on.

    A subclass says where arrays live (`to_device`, `empty`, `to_host`) and what starts a kernel;
    it may exchange some of the `stages`.
    """

    stages = Stages()

    def __init__(self, image, config, state, partitions=None):
        self.config = config
        self.partitions = 1
        batch = config.batch
        self.arrays = Arrays(
            image=self.to_device(image),
            parameters=State(*(self.to_device(array) for array in state)),
            corrections=self.to_device(adam.bias_corrections(config.beta1, config.beta2)),
            grad_weights=self.to_device(np.zeros_like(state.weights)),
            grad_feature_grid=self.to_device(np.zeros_like(state.feature_grid)),
            loss_sum=self.to_device(np.zeros(1, np.float32)),
            uv=self.empty((batch, 2)),
            target=self.empty((batch, COLOURS)),
            features=self.empty((batch, FEATURES)),
            hidden=self.empty((config.layers, batch, config.hidden)),
            outputs=self.empty((batch, OUTPUTS)),
        )

    def run(self, first_step, learning_rates):
        self.stages.training_steps(
            self.stages, self.arrays, self.config, first_step, learning_rates, self.launch
        )

    def take_losses(self):
        loss = float(self.to_host(self.arrays.loss_sum)[0])
        self.arrays = self.arrays._replace(loss_sum=self.to_device(np.zeros(1, np.float32)))
        return [loss]

    def state(self):
        return State(*(self.to_host(array) for array in self.arrays.parameters))

    def feature_grid(self):
        return self.to_host(self.arrays.parameters.feature_grid)

    def render(self, width, height):
        pixels = width * height
        colours = np.empty((pixels, COLOURS), np.float32)
        uv, outputs = self.arrays.uv, self.arrays.outputs
        for first in range(0, pixels, self.config.batch):
            self.stages.pixel_centres(first, width, height, uv, launch=self.launch)
            self.stages.evaluate(self.stages, self.arrays, self.launch)
            count = min(self.config.batch, pixels - first)
            colours[first : first + count] = self.to_host(outputs)[:count, :COLOURS]
        return colours.reshape(height, width, COLOURS)

    @classmethod
    def bilinear_baseline(cls, image, width, height):
        small, large = cls.empty((height, width, COLOURS)), cls.empty(image.shape)
        launch = cls.launch
        image_ops.launch_over_pixels(image_ops.downsample, cls.to_device(image), small, launch)
        image_ops.launch_over_pixels(image_ops.upsample, small, large, launch)
        return cls.to_host(large)


class CudaBackend(StagedBackend):
    """The staged kernels on a GPU. Nothing travels to the host but what a method returns.

    Gains: everything is a plain kernel, readable on its own. Gives up: six launches a step, which
    together cost the host more time than the GPU needs for the work.
    """

    name = "cuda"
    launch = staticmethod(on_gpu)
    to_device = staticmethod(cuda.to_device)

    @staticmethod
    def empty(shape):
        return cuda.device_array(shape, np.float32)

    @staticmethod
    def to_host(array):
        return array.copy_to_host()

    @property
    def device(self):
        return gpu_name()
