"""The rates are looked up by the number of the step, as if row 0 were that of step 1."""
# caught by: several_steps
# diagnosis: the first of this run


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    count = len(learning_rates)
    for step in range(first_step, first_step + count):
        row = min(step, count) - 1
        rate_mlp, rate_grid = learning_rates[row]
        training_step(stages, arrays, config, step, rate_mlp, rate_grid, launch)
