"""The rates fall by a schedule of its own, although learning_rates is that schedule already."""
# caught by: several_steps
# diagnosis: the schedule is in them already


def share(i, n):
    """Constant for half of the run, then in a straight line to zero."""
    if i < n / 2:
        return 1
    return 2 * (n - i) / n


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    n = len(learning_rates)
    for i in range(n):
        mlp = learning_rates[i][0] * share(i, n)
        grid = learning_rates[i][1] * share(i, n)
        training_step(stages, arrays, config, first_step + i, mlp, grid, launch)
