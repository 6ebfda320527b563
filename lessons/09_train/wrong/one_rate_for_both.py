"""Both optimizers get the network's learning rate."""
# caught by: one_step
# diagnosis: the other's rate


def training_step(stages, arrays, config, step, learning_rate_mlp, learning_rate_grid, launch):
    uv, target = arrays.uv, arrays.target
    box = arrays.parameters
    stages.sample_batch(arrays.image, config.seed, step, uv, target, launch=launch)
    evaluate(stages, arrays, launch)
    stages.backward(
        uv,
        arrays.features,
        arrays.hidden,
        arrays.outputs,
        target,
        box.weights,
        arrays.grad_weights,
        arrays.grad_feature_grid,
        arrays.loss_sum,
        launch=launch,
    )
    stages.adam_weights(
        box.weights,
        arrays.grad_weights,
        box.weights_m,
        box.weights_v,
        step,
        arrays.corrections,
        learning_rate_mlp,
        config.adam_rates,
        launch=launch,
    )
    stages.adam_grid(
        box.feature_grid,
        arrays.grad_feature_grid,
        box.grid_m,
        box.grid_v,
        box.grid_steps,
        arrays.corrections,
        learning_rate_mlp,
        config.adam_rates,
        launch=launch,
    )
