"""The calls stand in tables, with their arguments, and are made one after the other."""

from functools import partial
from itertools import count


def forward_calls(stages, arrays):
    parameters = arrays.parameters
    yield stages.encode, (arrays.uv, parameters.feature_grid, arrays.features)
    yield stages.mlp_forward, (arrays.features, parameters.weights, arrays.hidden, arrays.outputs)


def evaluate(stages, arrays, launch):
    for stage, arguments in forward_calls(stages, arrays):
        stage(*arguments, launch=launch)


def training_step(stages, arrays, config, step, learning_rate_mlp, learning_rate_grid, launch):
    a, p = arrays, arrays.parameters
    on = {"launch": launch}
    partial(stages.sample_batch, a.image, config.seed, step)(a.uv, a.target, **on)
    evaluate(stages, arrays, launch)
    backward = partial(stages.backward, a.uv, a.features, a.hidden, a.outputs, a.target, p.weights)
    backward(a.grad_weights, a.grad_feature_grid, a.loss_sum, **on)
    grid = (stages.adam_grid, p.feature_grid, a.grad_feature_grid, p.grid_m, p.grid_v, p.grid_steps)
    mlp = (stages.adam_weights, p.weights, a.grad_weights, p.weights_m, p.weights_v, step)
    for (update, *arguments), rate in ((grid, learning_rate_grid), (mlp, learning_rate_mlp)):
        update(*arguments, a.corrections, rate, config.adam_rates, **on)


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    steps = count(first_step)
    for step, mlp, grid in zip(steps, learning_rates[:, 0], learning_rates[:, 1], strict=False):
        training_step(stages, arrays, config, step, mlp, grid, launch)
