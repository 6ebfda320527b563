"""The loop does not count: every step has the number of the first."""
# caught by: several_steps
# diagnosis: first step again


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    step = first_step
    for learning_rate_mlp, learning_rate_grid in learning_rates:
        training_step(stages, arrays, config, step, learning_rate_mlp, learning_rate_grid, launch)
