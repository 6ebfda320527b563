"""range ends one too early: the last step is never taken."""
# caught by: several_steps
# diagnosis: step missing


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    for i in range(len(learning_rates) - 1):
        rate_mlp, rate_grid = learning_rates[i]
        step = first_step + i
        training_step(stages, arrays, config, step, rate_mlp, rate_grid, launch)
