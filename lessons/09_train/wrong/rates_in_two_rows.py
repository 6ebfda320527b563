"""learning_rates is unpacked as two rows, and it has two columns."""
# caught by: several_steps
# diagnosis: a row has two

from kernels.training_step import training_step


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    mlp, grid = learning_rates
    for i in range(len(mlp)):
        training_step(stages, arrays, config, first_step + i, mlp[i], grid[i], launch)
