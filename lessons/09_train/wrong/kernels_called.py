"""Kernels.* are called in place of stages.*."""
# caught by: evaluate
# diagnosis: not from stages

from kernels.encode import launch_encode
from kernels.mlp_forward import launch_mlp_forward


def evaluate(stages, arrays, launch):
    parameters = arrays.parameters
    launch_encode(arrays.uv, parameters.feature_grid, arrays.features, launch=launch)
    launch_mlp_forward(
        arrays.features, parameters.weights, arrays.hidden, arrays.outputs, launch=launch
    )
