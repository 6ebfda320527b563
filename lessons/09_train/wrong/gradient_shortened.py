"""The network's gradient is made as short as 10, if it is longer."""
# caught by: one_step
# diagnosis: Adam takes the gradients as backward has left them

import numpy as np


def training_step(stages, arrays, config, step, learning_rate_mlp, learning_rate_grid, launch):
    parameters, rates = arrays.parameters, config.adam_rates
    stages.sample_batch(arrays.image, config.seed, step, arrays.uv, arrays.target, launch=launch)
    evaluate(stages, arrays, launch)
    stages.backward(
        arrays.uv, arrays.features, arrays.hidden, arrays.outputs, arrays.target,
        parameters.weights, arrays.grad_weights, arrays.grad_feature_grid, arrays.loss_sum,
        launch=launch,
    )  # fmt: skip
    length = np.sqrt((arrays.grad_weights.astype(np.float64) ** 2).sum())
    if length > 10:
        arrays.grad_weights[:] = arrays.grad_weights * (10 / length)
    stages.adam_weights(
        parameters.weights, arrays.grad_weights, parameters.weights_m, parameters.weights_v,
        step, arrays.corrections, learning_rate_mlp, rates, launch=launch,
    )  # fmt: skip
    stages.adam_grid(
        parameters.feature_grid, arrays.grad_feature_grid, parameters.grid_m, parameters.grid_v,
        parameters.grid_steps, arrays.corrections, learning_rate_grid, rates, launch=launch,
    )  # fmt: skip
