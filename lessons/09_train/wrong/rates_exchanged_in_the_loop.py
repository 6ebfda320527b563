"""The two columns of rates are exchanged."""
# caught by: several_steps
# diagnosis: rates exchanged


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    for step, (learning_rate_grid, learning_rate_mlp) in enumerate(learning_rates, first_step):
        training_step(stages, arrays, config, step, learning_rate_mlp, learning_rate_grid, launch)
