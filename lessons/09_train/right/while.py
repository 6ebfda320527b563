"""A while loop."""


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    i = 0
    while i < learning_rates.shape[0]:
        training_step(
            stages,
            arrays,
            config,
            i + first_step,
            learning_rates[i, 0],
            learning_rates[i, 1],
            launch,
        )
        i += 1
