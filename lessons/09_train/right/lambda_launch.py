"""Own launch around launch."""


def evaluate(stages, arrays, launch):
    parameters = arrays.parameters
    stages.encode(
        arrays.uv,
        parameters.feature_grid,
        arrays.features,
        launch=lambda kernel, blocks, threads, *rest: launch(kernel, blocks, threads, *rest),
    )
    stages.mlp_forward(
        arrays.features, parameters.weights, arrays.hidden, arrays.outputs, launch=launch
    )
