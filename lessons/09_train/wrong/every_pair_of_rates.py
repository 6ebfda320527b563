"""Two loops, one inside the other, make a step for every pair of rates: each row is one step."""
# caught by: several_steps
# diagnosis: too many steps


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    mlp_rates = learning_rates[:, 0]
    grid_rates = learning_rates[:, 1]
    step = first_step
    for mlp in mlp_rates:
        for grid in grid_rates:
            training_step(stages, arrays, config, step, mlp, grid, launch)
            step += 1
