"""Each step has the rates of the step before."""
# caught by: several_steps
# diagnosis: rates one late


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    for i in range(len(learning_rates)):
        step = first_step + i
        learning_rate_mlp, learning_rate_grid = learning_rates[max(i - 1, 0)]
        training_step(stages, arrays, config, step, learning_rate_mlp, learning_rate_grid, launch)
