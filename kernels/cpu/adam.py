"""Adam on the CPU: sum the partitions' gradients in a fixed order, and update.

Whose gradients they were, clears them: a core that wrote zeros into the others' caches would make
them fetch all of it again.
"""

from numba import float32

from kernels.cpu.compile import compiled
from kernels.field_math import adam_step


@compiled
def adam_grid_rows(begin, end, state, grads, scratch, corrections, learning_rate, rates):
    """Update the touched cells in rows begin ... end, from the sum of grads (P, gh, gw, C).

    scratch: (3, gw C) float32, of this thread's own. Three passes over each row: the first and the
    last run over all its numbers alike and become vector instructions, the one between does what
    differs from cell to cell.
    """
    _, width, channels = state.feature_grid.shape
    numbers = width * channels
    gradient, correction_m, correction_v = scratch[0], scratch[1], scratch[2]
    for row in range(begin, end):
        first_part = grads[0, row].reshape(numbers)
        for i in range(numbers):
            gradient[i] = first_part[i]
        for partition in range(1, grads.shape[0]):
            partial = grads[partition, row].reshape(numbers)
            for i in range(numbers):
                gradient[i] += partial[i]

        for column in range(width):
            first = column * channels
            touched = False
            for i in range(first, first + channels):
                touched |= gradient[i] != float32(0)
            state.grid_steps[row, column] += touched
            entry = min(state.grid_steps[row, column], corrections.shape[0] - 1)
            for i in range(first, first + channels):
                # A correction is never below one, so zero can mark the cells to leave alone.
                correction_m[i] = corrections[entry, 0] if touched else float32(0)
                correction_v[i] = corrections[entry, 1]

        parameter = state.feature_grid[row].reshape(numbers)
        m = state.grid_m[row].reshape(numbers)
        v = state.grid_v[row].reshape(numbers)
        for i in range(numbers):
            new_parameter, new_m, new_v = adam_step(
                parameter[i], gradient[i], m[i], v[i], correction_m[i], correction_v[i],
                learning_rate, rates,
            )  # fmt: skip
            touched = correction_m[i] != float32(0)
            parameter[i] = new_parameter if touched else parameter[i]
            m[i] = new_m if touched else m[i]
            v[i] = new_v if touched else v[i]


@compiled
def adam_weights(begin, end, step, state, grads, corrections, learning_rate, rates):
    """Update weights begin ... end, from the sum of grads (P, n)."""
    entry = min(step, corrections.shape[0] - 1)
    for i in range(begin, end):
        gradient = float32(0)
        for partition in range(grads.shape[0]):
            gradient += grads[partition, i]
        state.weights[i], state.weights_m[i], state.weights_v[i] = adam_step(
            state.weights[i], gradient, state.weights_m[i], state.weights_v[i],
            corrections[entry, 0], corrections[entry, 1], learning_rate, rates,
        )  # fmt: skip
