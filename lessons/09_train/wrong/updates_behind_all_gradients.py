"""The gradients of all steps come first, and all updates behind them."""
# caught by: several_steps
# diagnosis: gradients of both were added up


def collect(stages, arrays, config, step, launch):
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


def apply(stages, arrays, config, step, learning_rate_mlp, learning_rate_grid, launch):
    p = arrays.parameters
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


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    steps = range(first_step, first_step + len(learning_rates))
    for step in steps:
        collect(stages, arrays, config, step, launch)
    for step, (mlp, grid) in zip(steps, learning_rates, strict=True):
        apply(stages, arrays, config, step, mlp, grid, launch)
