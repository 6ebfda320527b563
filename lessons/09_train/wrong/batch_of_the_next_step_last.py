"""Each step works with the batch that is there, and draws that of the next one at its end."""
# caught by: one_step
# diagnosis: none of its own


def training_step(stages, arrays, config, step, learning_rate_mlp, learning_rate_grid, launch):
    p = arrays.parameters
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

    stages.sample_batch(
        arrays.image, config.seed, step + 1, arrays.uv, arrays.target, launch=launch
    )
