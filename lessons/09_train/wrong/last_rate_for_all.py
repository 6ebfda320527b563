"""The last row's rates for all steps."""
# caught by: several_steps
# diagnosis: last rate for all


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    learning_rate_mlp, learning_rate_grid = learning_rates[-1]
    for step in range(first_step, first_step + len(learning_rates)):
        training_step(stages, arrays, config, step, learning_rate_mlp, learning_rate_grid, launch)
