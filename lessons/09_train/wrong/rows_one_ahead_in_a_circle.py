"""The row is (step + 1) % rows, which is right for three rows from step 2 on."""
# caught by: several_steps
# diagnosis: the first of this run (first_step), whatever its number is

from kernels.training_step import training_step


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    rows = len(learning_rates)
    for step in range(first_step, first_step + rows):
        mlp, grid = learning_rates[(step + 1) % rows]
        training_step(stages, arrays, config, step, mlp, grid, launch)
