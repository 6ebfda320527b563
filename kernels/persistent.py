"""The whole training in one kernel: the GPU stays in it, and only meets itself.

The idea: launching a kernel costs the host more time than this GPU needs for a whole step. So the
loop over the steps moves into the kernel. All blocks fit onto the GPU at the same time (a
*cooperative* launch sees to that) and wait for each other at a barrier of the whole grid, twice a
step: when all gradients have been added, and when all parameters have been moved.

The host starts it for some hundred or thousand steps at a time, and then looks after progress
bar, pictures and checkpoints.
"""

from functools import lru_cache

from numba import cuda, float32

from kernels.fused_step import make_fused_step


@lru_cache(maxsize=None)
def make_train(hidden, layers, deterministic=False, vector_atomics=True):
    """(kernel, threads a block) for one size of network; arguments as in `make_fused_step`."""
    fused = make_fused_step(hidden, layers, deterministic, vector_atomics)
    gradients, update = fused.gradients, fused.update

    @cuda.jit
    def train(arrays, learning_rates, first_step, settings):
        """Take a step for each row of learning_rates (n, 2) float32: the network's, the grid's.

        arrays: `FusedArrays`. first_step: int64 from 1. settings: `StepSettings`.
        """
        grid = cuda.cg.this_grid()
        squared_error = float32(0)
        for i in range(learning_rates.shape[0]):
            squared_error += gradients(arrays, first_step + i, settings)
            # Adam needs the sums over all samples, of all blocks ...
            grid.sync()
            update(
                arrays, first_step + i, learning_rates[i, 0], learning_rates[i, 1], settings.rates
            )
            # ... and the next step needs all parameters moved.
            grid.sync()
        arrays.squared_errors[cuda.grid(1)] += squared_error

    return train, fused.threads
