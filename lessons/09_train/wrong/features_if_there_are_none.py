"""evaluate encodes only where the features are all zero, as if those that are there would do."""
# caught by: evaluate
# diagnosis: but only under the `if` of line


def evaluate(stages, arrays, launch):
    points = arrays.uv
    if not (arrays.features != 0).any():
        stages.encode(points, arrays.parameters.feature_grid, arrays.features, launch=launch)
    stages.mlp_forward(
        arrays.features, arrays.parameters.weights, arrays.hidden, arrays.outputs, launch=launch
    )
