"""The stages of a step as a set of functions, so that one can be exchanged for another."""

from collections.abc import Callable
from typing import NamedTuple

from kernels import adam, backward, encode, mlp_forward, sampler
from kernels import training_step as order


class Stages(NamedTuple):
    """One launch function a stage, and the functions that put them in order."""

    sample_batch: Callable = sampler.launch_sample_batch
    pixel_centres: Callable = sampler.launch_pixel_centres
    encode: Callable = encode.launch_encode
    mlp_forward: Callable = mlp_forward.launch_mlp_forward
    backward: Callable = backward.launch_backward
    adam_weights: Callable = adam.launch_adam_weights
    adam_grid: Callable = adam.launch_adam_grid
    evaluate: Callable = order.evaluate
    training_step: Callable = order.training_step
    training_steps: Callable = order.training_steps
