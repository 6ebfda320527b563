"""Launch by position."""


def evaluate(stages, arrays, launch):
    parameters = arrays.parameters
    stages.encode(arrays.uv, parameters.feature_grid, arrays.features, launch=launch)
    stages.mlp_forward(arrays.features, parameters.weights, arrays.hidden, arrays.outputs, launch)
