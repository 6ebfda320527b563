"""The features are never made: the network reads what was left there."""
# caught by: evaluate
# diagnosis: never written


def evaluate(stages, arrays, launch):
    parameters = arrays.parameters
    stages.mlp_forward(
        arrays.features, parameters.weights, arrays.hidden, arrays.outputs, launch=launch
    )
