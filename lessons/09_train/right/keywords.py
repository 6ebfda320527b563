"""Keywords."""


def evaluate(stages, arrays, launch):
    parameters = arrays.parameters
    stages.encode(arrays.uv, parameters.feature_grid, arrays.features, launch=launch)
    stages.mlp_forward(
        features=arrays.features,
        weights=parameters.weights,
        hidden=arrays.hidden,
        outputs=arrays.outputs,
        launch=launch,
    )
