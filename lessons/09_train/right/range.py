"""Range and index."""


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    for i in range(len(learning_rates)):
        step = first_step + i
        learning_rate_mlp, learning_rate_grid = learning_rates[i]
        training_step(stages, arrays, config, step, learning_rate_mlp, learning_rate_grid, launch)
