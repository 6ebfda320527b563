"""evaluate moves the coordinates to -1 to 1 before it encodes them."""
# caught by: evaluate
# diagnosis: This file itself changes arrays.uv


def evaluate(stages, arrays, launch):
    parameters = arrays.parameters
    arrays.uv[:] = 2 * arrays.uv - 1
    stages.encode(arrays.uv, parameters.feature_grid, arrays.features, launch=launch)
    stages.mlp_forward(
        arrays.features, parameters.weights, arrays.hidden, arrays.outputs, launch=launch
    )
