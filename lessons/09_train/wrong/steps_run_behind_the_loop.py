"""The steps are collected as lambdas, which read the loop's names when it is over."""
# caught by: several_steps
# diagnosis: makes a function in a loop

from kernels.training_step import training_step


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    queue = []
    for k in range(len(learning_rates)):
        step = first_step + k
        rate_mlp, rate_grid = learning_rates[k]
        queue.append(
            lambda: training_step(stages, arrays, config, step, rate_mlp, rate_grid, launch)
        )
    for task in queue:
        task()
