"""The whole training in one kernel.

One launch runs every step; blocks wait for each other at a barrier in global memory.

The idea: launching a kernel costs the host more time than this GPU needs for a whole step. So the
loop over the steps moves into the kernel. All blocks are on the GPU at the same time (a
*cooperative* launch sees to that) and wait for each other twice per step: when all gradients have
been added, and when all parameters have been moved.

A barrier of the whole grid is a number in memory. Each block adds 1 when it arrives, and waits
until all have. In between there is time for work that no other block needs: each thread draws its
sample of the next step, and computes those of its features that depend on no parameter.

The host starts this kernel for some thousand steps at a time, and in between looks after progress
bar, pictures and checkpoints.
"""

from functools import cache

from numba import cuda, float32, uint32

from kernels.config import FEATURES, GRID_CHANNELS
from kernels.fast.adam import CELLS_AT_ONCE, cell_state, make_update
from kernels.fast.fast_math import fast_math
from kernels.fast.ptx_memory import arrive, arrived
from kernels.fast.sample import draw_sample
from kernels.fast.step import make_fused_step

WIDEST_WITH_STATE = 32  # units: of a wider network the gradients' sums fill all registers


@cuda.jit(device=True)
def arrive_at_barrier(counter):
    """Say that this block has come to the barrier."""
    # One thread speaks for the block, so all of them must have finished before.
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        arrive(counter)


@cuda.jit(device=True)
def wait_at_barrier(counter, barrier):
    """Wait until all blocks have come to barrier number `barrier` of this launch, from 1."""
    if cuda.threadIdx.x == 0:
        all_arrivals = uint32(barrier * cuda.gridDim.x)
        while arrived(counter) < all_arrivals:
            pass
    # The others may go on when the thread that waited has seen all blocks.
    cuda.syncthreads()


def make_move_parameters(update, state_of_cells):
    """The second part of a step, for kernels that keep nothing about cells in between."""
    numbers, read_state, write_averages = state_of_cells

    @cuda.jit(device=True)
    def move_parameters(arrays, step, rate_weights, rate_grid, rates, cell, stride, state):
        # Nothing of it is needed before: until here registers are for the samples.
        for n in range(CELLS_AT_ONCE):
            for number in range(numbers):
                state[n, number] = float32(0)
        read_state(arrays, cell, stride, state)
        update(arrays, step, rate_weights, rate_grid, rates, state)
        write_averages(arrays, cell, stride, state)

    return move_parameters


@cache
def make_train(
    hidden, layers, deterministic=False, vector_atomics=True, channels=GRID_CHANNELS,
    keep_state=True,
):  # fmt: skip
    """(kernel, threads per block) for one size of network; arguments as in `make_fused_step`.

    keep_state: what Adam keeps about a thread's first cells stays in its registers from step to
    step; for networks of at most `WIDEST_WITH_STATE` units. Without, more blocks fit onto the GPU
    at once, which large batches make use of.
    """
    fused = make_fused_step(hidden, layers, deterministic, vector_atomics, channels)
    move_parameters = make_move_parameters(fused.update, fused.cell_state)
    samples, gradients, update = fused.threads, fused.gradients, fused.update
    prepare_features = fused.prepare_features
    numbers, read_state, write_averages = fused.cell_state

    # All that there are: without a word the assembler aims lower, and then lacks some.
    @fast_math(255 if hidden > WIDEST_WITH_STATE else None)
    def train(arrays, learning_rates, first_step, settings, counter):
        """Take one step per row of learning_rates (n, 2) float32: the network's, the grid's.

        arrays: `FusedArrays`. first_step: int64 from 1. settings: `StepSettings`. counter: (1,)
        uint32, zero.
        """
        state = cuda.local.array((CELLS_AT_ONCE, numbers), float32)
        cell, stride = cuda.grid(1), cuda.gridsize(1)
        if keep_state:
            read_state(arrays, cell, stride, state)
        first = cuda.blockIdx.x * samples
        squared_error = float32(0)
        features = cuda.local.array(FEATURES, float32)
        sample = draw_sample(arrays, first, first_step, settings)
        corner = prepare_features(sample, settings, features)
        for i in range(learning_rates.shape[0]):
            squared_error += gradients(arrays, first_step + i, settings, sample, corner, features)
            # Adam needs the sums over all samples, of all blocks ...
            arrive_at_barrier(counter)
            wait_at_barrier(counter, 2 * i + 1)
            if keep_state:
                update(
                    arrays, first_step + i, learning_rates[i, 0], learning_rates[i, 1],
                    settings.rates, state,
                )  # fmt: skip
            else:
                move_parameters(
                    arrays, first_step + i, learning_rates[i, 0], learning_rates[i, 1],
                    settings.rates, cell, stride, state,
                )  # fmt: skip
            # ... and the next step needs all parameters moved.
            arrive_at_barrier(counter)
            sample = draw_sample(arrays, first, first_step + i + 1, settings)
            corner = prepare_features(sample, settings, features)
            wait_at_barrier(counter, 2 * i + 2)
        if keep_state:
            write_averages(arrays, cell, stride, state)
        arrays.squared_errors[cuda.grid(1)] += squared_error

    return train, fused.threads


def make_train_of(gradients, threads, registers, deterministic, channels):
    """The same kernel with another first part, which draws its samples itself.

    gradients: a device function of (arrays, step, settings), for blocks of `threads` threads.
    """
    state_of_cells = cell_state(channels)
    numbers = state_of_cells.numbers
    update = make_update(threads, deterministic, channels)
    move_parameters = make_move_parameters(update, state_of_cells)

    @fast_math(registers)
    def train(arrays, learning_rates, first_step, settings, counter):
        """Arguments: as of `make_train`'s kernel."""
        state = cuda.local.array((CELLS_AT_ONCE, numbers), float32)
        cell, stride = cuda.grid(1), cuda.gridsize(1)
        squared_error = float32(0)
        for i in range(learning_rates.shape[0]):
            squared_error += gradients(arrays, first_step + i, settings)
            # As above: all gradients have been added, ...
            arrive_at_barrier(counter)
            wait_at_barrier(counter, 2 * i + 1)
            move_parameters(
                arrays, first_step + i, learning_rates[i, 0], learning_rates[i, 1],
                settings.rates, cell, stride, state,
            )  # fmt: skip
            # ... and all parameters moved.
            arrive_at_barrier(counter)
            wait_at_barrier(counter, 2 * i + 2)
        arrays.squared_errors[cuda.grid(1)] += squared_error

    return train
