"""learning_rates is asked for row number step, and not for the first one."""
# caught by: several_steps
# diagnosis: row 0

from kernels.training_step import training_step


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    for step in range(first_step, first_step + len(learning_rates)):
        training_step(
            stages, arrays, config, step, learning_rates[step, 0], learning_rates[step, 1], launch
        )
