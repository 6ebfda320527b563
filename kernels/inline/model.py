"""The inline model: its parameters, where they begin, and one step of learning.

    height, width, seed  ->  parameters (n,): the grid, and behind it the weights
    image, parameters    ->  parameters, moved against the gradient of the whole picture

The idea: grid and weights lie in one array, so that Adam is one launch; so do their gradients.
Source: see `kernels/inline/paint.py`; Adam as in `kernels/adam.py`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kernels.adam import bias_corrections, launch_adam_weights
from kernels.config import BETA1, BETA2, PUBLISHED_RATES
from kernels.inline.learn import launch_learn
from kernels.inline.paint import launch_paint
from kernels.inline.sizes import LAYERS, UNITS, WEIGHTS_SHAPE, grid_shape
from kernels.plumbing.recording import OneByOne, launch_adam_weights_by_clock, step_numbers

WEIGHT_SPREAD = 0.05  # standard deviation of the weights around those that change nothing
LEARNING_RATE = 0.03

# What is drawn with seed 1. With most beginnings a colour of a dark picture dies: steps make it
# negative in every pixel, and there the last ReLU passes no gradient. With this one all three live.
FIRST_DRAW = 159


def initial_parameters(height, width, seed):
    """(grid, weights) to begin with, float32: see `grid_shape` and `WEIGHTS_SHAPE`.

    The grid is N(0, 1). Each matrix is the identity, which hands its inputs through, plus
    0.05 N(0, 1); biases are 0.
    """
    random = np.random.Generator(np.random.Philox(FIRST_DRAW - 1 + seed))
    weights = np.zeros(WEIGHTS_SHAPE)
    matrices = np.eye(UNITS) + WEIGHT_SPREAD * random.standard_normal((LAYERS, UNITS, UNITS))
    weights[:, :UNITS] = matrices
    grid = random.standard_normal(grid_shape(height, width))
    return grid.astype(np.float32), weights.astype(np.float32)


class Arrays(NamedTuple):
    """All that a step reads and writes, where the kernels run; float32.

    The flat ones hold the grid and behind it the weights, so that Adam is one launch; `grid`,
    `weights`, `grad_grid` and `grad_weights` are parts of them, in their shapes.
    """

    image: Any  # (H, W, 3)
    parameters: Any  # (n,)
    gradients: Any
    m: Any
    v: Any
    corrections: Any  # see `bias_corrections`
    loss_sum: Any  # (1,)
    grid: Any
    weights: Any
    grad_grid: Any
    grad_weights: Any


def make_arrays(image, seed, to_device):
    """The `Arrays` before the first step. image: (H, W, 3) float32, NumPy's.

    to_device(array): a copy where the kernels run, one that can be sliced and reshaped.
    """
    height, width, _ = image.shape
    grid, weights = initial_parameters(height, width, seed)
    flat = np.concatenate([grid.ravel(), weights.ravel()])
    parameters, gradients, m, v = (
        to_device(array) for array in (flat, *np.zeros((3, flat.size), np.float32))
    )
    return Arrays(
        to_device(image), parameters, gradients, m, v,
        to_device(bias_corrections(BETA1, BETA2)), to_device(np.zeros(1, np.float32)),
        *parts(parameters, grid.shape), *parts(gradients, grid.shape),
    )  # fmt: skip


def with_parameters(arrays, parameters):
    """The same `Arrays` with other parameters, (n,), which lie where the kernels run."""
    grid, weights = parts(parameters, arrays.grid.shape)
    return arrays._replace(parameters=parameters, grid=grid, weights=weights)


def parts(flat, shape):
    """(grid, weights) as parts of a flat array of both. shape: of the grid."""
    size = shape[0] * shape[1] * shape[2]
    return flat[:size].reshape(shape), flat[size:].reshape(WEIGHTS_SHAPE)


class Stages(NamedTuple):
    """One launch function per stage; a lesson puts a student's in the place of these."""

    learn: Callable[..., None] = launch_learn
    paint: Callable[..., None] = launch_paint
    adam: Callable[..., None] = launch_adam_weights


def learning_step(stages, arrays, step, launch, learning_rate=LEARNING_RATE):
    """Move every parameter against its gradient over the whole picture.

    stages: `Stages`. arrays: `Arrays`. step: int from 1. launch: what starts a kernel. Adds the
    picture's mean squared error, before the step, to `loss_sum`.
    """
    stages.learn(
        arrays.image, arrays.grid, arrays.weights,
        arrays.grad_grid, arrays.grad_weights, arrays.loss_sum, launch=launch,
    )  # fmt: skip
    stages.adam(
        arrays.parameters, arrays.gradients, arrays.m, arrays.v,
        step, arrays.corrections, learning_rate, PUBLISHED_RATES, launch=launch,
    )  # fmt: skip


class LearningSteps:
    """`learning_step` again and again, recorded if it is our Adam that moves the parameters.

    A student's Adam is handed the step's number and its learning rate, and a graph would keep those
    of the step that was recorded. So there every kernel is launched anew in each step.

    stages: `Stages`. arrays: `Arrays`. device: has `launch`, `to_device` and `repeated`, as
    `lessons.capstones.device`.
    """

    def __init__(self, stages, arrays, device):
        self.stages = stages
        self.arrays = arrays
        self.device = device
        self.numbers = step_numbers(device.to_device)
        self.step_work = device.repeated(self.launch_step)
        self.adam_is_ours = stages.adam is launch_adam_weights

    @property
    def how(self):
        """How the kernels are launched, in words."""
        return self.step_work.how if self.adam_is_ours else OneByOne.how

    def train(self, step, learning_rate=LEARNING_RATE):
        """One step, the first is 1."""
        if not self.adam_is_ours:
            learning_step(self.stages, self.arrays, step, self.device.launch, learning_rate)
            return
        self.numbers.set(step, learning_rate, self.device.launch)
        self.step_work()

    def launch_step(self, launch):
        """All launches of a step, the same in every step: what differs lies in `numbers`."""
        stages = self.stages._replace(adam=self.launch_adam)
        learning_step(stages, self.arrays, 1, launch)

    def launch_adam(
        self, parameters, gradients, m, v, step, corrections, learning_rate, rates, launch
    ):
        """As `launch_adam_weights`, but for the step and the rate that lie in `numbers`."""
        launch_adam_weights_by_clock(
            *self.numbers, parameters, gradients, m, v, corrections, rates, launch
        )
