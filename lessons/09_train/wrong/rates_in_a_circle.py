"""The row of rates is the number of the step, in a circle."""
# caught by: several_steps
# diagnosis: rates in a circle


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    for step in range(first_step, first_step + len(learning_rates)):
        row = learning_rates[(step - 1) % len(learning_rates)]
        training_step(stages, arrays, config, step, row[0], row[1], launch)


def training_step(stages, arrays, config, step, learning_rate_mlp, learning_rate_grid, launch):
    p = arrays.parameters
    stages.sample_batch(arrays.image, config.seed, step, arrays.uv, arrays.target, launch=launch)
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


def evaluate(stages, arrays, launch):
    p = arrays.parameters
    stages.encode(arrays.uv, p.feature_grid, arrays.features, launch=launch)
    stages.mlp_forward(arrays.features, p.weights, arrays.hidden, arrays.outputs, launch=launch)
