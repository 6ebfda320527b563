"""Every step takes the first row of learning_rates."""
# caught by: several_steps
# diagnosis: first rate again


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    rate_mlp, rate_grid = learning_rates[0]
    for i in range(len(learning_rates)):
        step = first_step + i
        training_step(stages, arrays, config, step, rate_mlp, rate_grid, launch)
