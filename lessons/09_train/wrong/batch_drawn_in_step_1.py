"""The batch is drawn in step 1 only, as if it were the data: every step needs a new one."""
# caught by: one_step
# diagnosis: never called in step


def training_step(stages, arrays, config, step, learning_rate_mlp, learning_rate_grid, launch):
    p = arrays.parameters
    if step == 1:
        # the points to learn from
        stages.sample_batch(
            arrays.image, config.seed, step, arrays.uv, arrays.target, launch=launch
        )
    evaluate(stages, arrays, launch)
    stages.backward(
        arrays.uv,
        arrays.features,
        arrays.hidden,
        arrays.outputs,
        arrays.target,
        p.weights,
        arrays.grad_weights,
        arrays.grad_feature_grid,
        arrays.loss_sum,
        launch=launch,
    )
    stages.adam_weights(
        p.weights,
        arrays.grad_weights,
        p.weights_m,
        p.weights_v,
        step,
        arrays.corrections,
        learning_rate_mlp,
        config.adam_rates,
        launch=launch,
    )
    stages.adam_grid(
        p.feature_grid,
        arrays.grad_feature_grid,
        p.grid_m,
        p.grid_v,
        p.grid_steps,
        arrays.corrections,
        learning_rate_grid,
        config.adam_rates,
        launch=launch,
    )
