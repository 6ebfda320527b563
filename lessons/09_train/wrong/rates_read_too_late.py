"""Functions made in the loop keep their step, and read the rates of the last round."""
# caught by: several_steps
# diagnosis: makes a function in a loop

from kernels.training_step import training_step


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    tasks = []
    for step, rates in enumerate(learning_rates, first_step):

        def task(step=step):
            training_step(stages, arrays, config, step, rates[0], rates[1], launch)

        tasks.append(task)
    for task in tasks:
        task()
