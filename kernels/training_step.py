"""A training step: every stage once, in the order in which the data flows.

    image -> sample_batch -> encode -> mlp_forward -> backward -> adam_weights, adam_grid

The idea: no stage calls another. Each reads arrays that the one before it has filled, and this file
is the only place that knows their order. All arrays stay where they are from step to step, so
nothing is allocated, and nothing travels between the GPU and the host, while training runs.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from kernels.adam import launch_adam_grid, launch_adam_weights
from kernels.backward import launch_backward
from kernels.encode import launch_encode
from kernels.mlp_forward import launch_mlp_forward
from kernels.sampler import launch_pixel_centres, launch_sample_batch
from kernels.state import State


class Stages(NamedTuple):
    """One launch function per stage. Any of them can be exchanged for another."""

    sample_batch: Callable = launch_sample_batch
    pixel_centres: Callable = launch_pixel_centres
    encode: Callable = launch_encode
    mlp_forward: Callable = launch_mlp_forward
    backward: Callable = launch_backward
    adam_weights: Callable = launch_adam_weights
    adam_grid: Callable = launch_adam_grid


class Arrays(NamedTuple):
    """All arrays of a run, on whatever device the stages run. B is the batch size."""

    image: Any  # (H, W, 3) float32, the picture to learn
    parameters: State  # what training changes
    corrections: Any  # (rows, 2) float32, see `adam.bias_corrections`
    grad_weights: Any  # (n,) float32, zero between steps
    grad_feature_grid: Any  # (gh, gw, 3) float32, zero between steps
    loss_sum: Any  # (1,) float32: losses of the steps since someone last looked
    uv: Any  # (B, 2) float32
    target: Any  # (B, 3) float32
    features: Any  # (B, 16) float32
    hidden: Any  # (layers, B, width) float32
    outputs: Any  # (B, 16) float32, of which the first three are red, green, blue


def evaluate(stages, arrays, launch):
    """Ask the network for the colours at `arrays.uv`: uv -> features -> outputs.

    stages: `Stages`, the launch functions. launch: what starts a kernel, see `launch`.
    """
    parameters = arrays.parameters
    stages.encode(arrays.uv, parameters.feature_grid, arrays.features, launch=launch)
    # `hidden` is kept because the backward pass needs the activations again.
    stages.mlp_forward(
        arrays.features, parameters.weights, arrays.hidden, arrays.outputs, launch=launch
    )


def training_step(stages, arrays, config, step, learning_rate_mlp, learning_rate_grid, launch):
    """Draw a batch, evaluate it, and move every parameter against its gradient.

    step: int from 1; with `config.seed` it decides which batch is drawn. Adds the batch's mean
    squared error to `arrays.loss_sum`. Leaves both gradients zero for the next step.
    """
    parameters, rates = arrays.parameters, config.adam_rates
    stages.sample_batch(arrays.image, config.seed, step, arrays.uv, arrays.target, launch=launch)
    evaluate(stages, arrays, launch)
    stages.backward(
        arrays.uv, arrays.features, arrays.hidden, arrays.outputs, arrays.target,
        parameters.weights, arrays.grad_weights, arrays.grad_feature_grid, arrays.loss_sum,
        launch=launch,
    )  # fmt: skip
    stages.adam_weights(
        parameters.weights, arrays.grad_weights, parameters.weights_m, parameters.weights_v,
        step, arrays.corrections, learning_rate_mlp, rates, launch=launch,
    )  # fmt: skip
    # The grid counts its steps itself, cell by cell.
    stages.adam_grid(
        parameters.feature_grid, arrays.grad_feature_grid, parameters.grid_m, parameters.grid_v,
        parameters.grid_steps, arrays.corrections, learning_rate_grid, rates, launch=launch,
    )  # fmt: skip


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    """Take one training step for each row of `learning_rates`: (n, 2), the MLP's and the grid's.

    first_step: int from 1, the number of the first of them.
    """
    for step, (learning_rate_mlp, learning_rate_grid) in enumerate(learning_rates, first_step):
        training_step(stages, arrays, config, step, learning_rate_mlp, learning_rate_grid, launch)


class Order(NamedTuple):
    """What a trainer calls of this file: `evaluate` to paint, `training_steps` to learn."""

    evaluate: Callable = evaluate
    training_steps: Callable = training_steps
