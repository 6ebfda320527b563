"""Launch bound with partial."""


def evaluate(stages, arrays, launch):
    parameters = arrays.parameters
    from functools import partial

    encode = partial(stages.encode, launch=launch)
    encode(arrays.uv, parameters.feature_grid, arrays.features)
    stages.mlp_forward(
        arrays.features, parameters.weights, arrays.hidden, arrays.outputs, launch=launch
    )
