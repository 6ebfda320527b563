"""The loop counts from 1, whatever the first step is."""
# caught by: several_steps
# diagnosis: not from first_step


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    for step, (learning_rate_mlp, learning_rate_grid) in enumerate(learning_rates, 1):
        training_step(stages, arrays, config, step, learning_rate_mlp, learning_rate_grid, launch)
