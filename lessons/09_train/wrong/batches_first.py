"""The batches of all steps are drawn first, one over the other."""
# caught by: several_steps
# diagnosis: next step too early

from kernels.training_step import evaluate


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    p = arrays.parameters
    for i in range(len(learning_rates)):
        stages.sample_batch(
            arrays.image, config.seed, first_step + i, arrays.uv, arrays.target, launch=launch
        )
    for i in range(len(learning_rates)):
        evaluate(stages, arrays, launch)
        stages.backward(
            arrays.uv, arrays.features, arrays.hidden, arrays.outputs, arrays.target, p.weights,
            arrays.grad_weights, arrays.grad_feature_grid, arrays.loss_sum, launch=launch,
        )  # fmt: skip
        stages.adam_weights(
            p.weights, arrays.grad_weights, p.weights_m, p.weights_v, first_step + i,
            arrays.corrections, learning_rates[i, 0], config.adam_rates, launch=launch,
        )  # fmt: skip
        stages.adam_grid(
            p.feature_grid, arrays.grad_feature_grid, p.grid_m, p.grid_v, p.grid_steps,
            arrays.corrections, learning_rates[i, 1], config.adam_rates, launch=launch,
        )  # fmt: skip
