"""The target is encoded in place of the points."""
# caught by: evaluate
# diagnosis: wrong array


def evaluate(stages, arrays, launch):
    parameters = arrays.parameters
    stages.encode(arrays.target, parameters.feature_grid, arrays.features, launch=launch)
    stages.mlp_forward(
        arrays.features, parameters.weights, arrays.hidden, arrays.outputs, launch=launch
    )
