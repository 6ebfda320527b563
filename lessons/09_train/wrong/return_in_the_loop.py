"""It returns after the first step."""
# caught by: several_steps
# diagnosis: steps missing


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    for step, (learning_rate_mlp, learning_rate_grid) in enumerate(learning_rates, first_step):
        training_step(stages, arrays, config, step, learning_rate_mlp, learning_rate_grid, launch)
        return
