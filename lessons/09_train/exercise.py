"""Lesson 9: train. Put the stages in order, and let them run.

Write `evaluate`, `training_step` and `training_steps`; the story is in README.md beside this file.
There is no kernel in this file: it is the conductor, and the kernels are the orchestra.

    image -> sample_batch -> encode -> mlp_forward -> backward -> adam_weights, adam_grid

Check your work with `python -m lessons check 9`.
"""


def evaluate(stages, arrays, launch):
    """Ask the network for the colours at `arrays.uv`: uv -> features -> outputs.

    stages: `Stages`, the launch functions. launch: what starts a kernel, see `launch`.
    """
    raise NotImplementedError("write me")


def training_step(stages, arrays, config, step, learning_rate_mlp, learning_rate_grid, launch):
    """Draw a batch, evaluate it, and move every parameter against its gradient.

    step: int from 1; with `config.seed` it decides which batch is drawn. Adds the batch's mean
    squared error to `arrays.loss_sum`. Leaves both gradients zero for the next step.
    """
    raise NotImplementedError("write me")


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    """Take one training step for each row of `learning_rates`: (n, 2), the MLP's and the grid's.

    first_step: int from 1, the number of the first of them.
    """
    raise NotImplementedError("write me")
