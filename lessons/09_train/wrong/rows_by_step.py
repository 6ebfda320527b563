"""Rows are taken to be numbered by the step: the loop ends at the number of rows."""
# caught by: several_steps
# diagnosis: up to the number of rows

from kernels.training_step import training_step


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    last_step = learning_rates.shape[0]
    for step in range(first_step, last_step + 1):
        mlp, grid = learning_rates[step - 1]
        training_step(stages, arrays, config, step, mlp, grid, launch)
