"""The learning rate comes before the table."""
# caught by: one_step
# diagnosis: where arrays.corrections belongs

from kernels.training_step import evaluate


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
        learning_rate_mlp,
        arrays.corrections,
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
