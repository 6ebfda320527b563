"""Loss_sum is set to zero in each step."""
# caught by: several_steps
# diagnosis: sets arrays.loss_sum to zero


def training_step(stages, arrays, config, step, learning_rate_mlp, learning_rate_grid, launch):
    parameters, rates = arrays.parameters, config.adam_rates
    stages.sample_batch(arrays.image, config.seed, step, arrays.uv, arrays.target, launch=launch)
    evaluate(stages, arrays, launch)
    arrays.loss_sum[0] = 0
    stages.backward(
        arrays.uv, arrays.features, arrays.hidden, arrays.outputs, arrays.target,
        parameters.weights, arrays.grad_weights, arrays.grad_feature_grid, arrays.loss_sum,
        launch=launch,
    )  # fmt: skip
    stages.adam_weights(
        parameters.weights, arrays.grad_weights, parameters.weights_m, parameters.weights_v,
        step, arrays.corrections, learning_rate_mlp, rates, launch=launch,
    )  # fmt: skip
    stages.adam_grid(
        parameters.feature_grid, arrays.grad_feature_grid, parameters.grid_m, parameters.grid_v,
        parameters.grid_steps, arrays.corrections, learning_rate_grid, rates, launch=launch,
    )  # fmt: skip
