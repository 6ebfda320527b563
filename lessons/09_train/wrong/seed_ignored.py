"""The seed is a constant: every run draws the same points."""
# caught by: one_step
# diagnosis: another seed


def training_step(stages, arrays, config, step, learning_rate_mlp, learning_rate_grid, launch):
    parameters, rates = arrays.parameters, config.adam_rates
    stages.sample_batch(arrays.image, 0, step, arrays.uv, arrays.target, launch=launch)
    evaluate(stages, arrays, launch)
    stages.backward(
        arrays.uv,
        arrays.features,
        arrays.hidden,
        arrays.outputs,
        arrays.target,
        parameters.weights,
        arrays.grad_weights,
        arrays.grad_feature_grid,
        arrays.loss_sum,
        launch=launch,
    )
    stages.adam_weights(
        parameters.weights,
        arrays.grad_weights,
        parameters.weights_m,
        parameters.weights_v,
        step,
        arrays.corrections,
        learning_rate_mlp,
        rates,
        launch=launch,
    )
    stages.adam_grid(
        parameters.feature_grid,
        arrays.grad_feature_grid,
        parameters.grid_m,
        parameters.grid_v,
        parameters.grid_steps,
        arrays.corrections,
        learning_rate_grid,
        rates,
        launch=launch,
    )
