"""range(first_step, len(learning_rates)) is empty."""
# caught by: several_steps
# diagnosis: no step taken

from kernels.training_step import training_step


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    for step in range(first_step, len(learning_rates)):
        rate = learning_rates[step - first_step]
        training_step(stages, arrays, config, step, rate[0], rate[1], launch)
