"""The network runs before its features are made."""
# caught by: evaluate
# diagnosis: network first


def evaluate(stages, arrays, launch):
    parameters = arrays.parameters
    stages.mlp_forward(
        arrays.features, parameters.weights, arrays.hidden, arrays.outputs, launch=launch
    )
    stages.encode(arrays.uv, parameters.feature_grid, arrays.features, launch=launch)
