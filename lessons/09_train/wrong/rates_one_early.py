"""Each step has the rates of the next one."""
# caught by: several_steps
# diagnosis: rates one early


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    for i in range(len(learning_rates)):
        step = first_step + i
        learning_rate_mlp, learning_rate_grid = learning_rates[min(i + 1, len(learning_rates) - 1)]
        training_step(stages, arrays, config, step, learning_rate_mlp, learning_rate_grid, launch)
