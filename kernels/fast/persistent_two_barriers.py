"""The whole training in one kernel, with two barriers of the whole GPU per step.

New against `graph`: launching a kernel costs the host more time than this GPU needs for a whole
step. So the loop over the steps moves into the kernel. All blocks are on the GPU at the same time
(a *cooperative* launch sees to that) and wait for each other twice per step: when all gradients
have been added, and when all parameters have been moved.

A barrier of the whole grid is a number in memory. Each block adds 1 when it arrives, and waits
until all have. In between there is time for work that no other block needs: each thread draws its
sample of the next step, and computes those of its features that depend on no parameter.

The host starts this kernel for some thousand steps at a time, and in between looks after progress
bar, pictures and checkpoints.

`make_train` is the loop for `persistent_large_batch` and `persistent_wide`, too: only the first
part of their steps is different.
"""

from functools import cache

from numba import cuda, float32, uint32

from kernels.config import GRID_CHANNELS
from kernels.fast.adam import make_cell_state, make_update
from kernels.fast.graph import FusedStep, make_fused_step
from kernels.fast.ptx import arrive, arrived
from kernels.fast.sizes import FEATURE_WORDS, fast_math

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


@cache
def make_train_two_barriers(
    hidden, layers, deterministic=False, vector_atomics=True, channels=GRID_CHANNELS,
    keep_state=True,
):  # fmt: skip
    """(kernel, threads per block) for one size of network; arguments as in `make_fused_step`.

    keep_state: for networks of at most `WIDEST_WITH_STATE` units; see `make_train`.
    """
    fused = make_fused_step(hidden, layers, deterministic, vector_atomics, channels)
    # Allow all 255 registers per thread: by default the assembler allows fewer, and spills.
    registers = 255 if hidden > WIDEST_WITH_STATE else None
    return make_train(fused, registers, keep_state), fused.threads


def with_gradients(gradients, threads, deterministic, channels):
    """`FusedStep` with another first part, which draws its samples itself.

    gradients: a device function of (arrays, step, settings), for blocks of `threads` threads.
    """

    @cuda.jit(device=True)
    def draw(arrays, first, step, settings, features):
        return step

    @cuda.jit(device=True)
    def draw_and_add(arrays, step, settings, drawn, features):
        return gradients(arrays, step, settings)

    update = make_update(threads, deterministic, channels)
    return FusedStep(threads, draw, draw_and_add, update, make_cell_state(channels))


def make_train(fused, registers, keep_state=False):
    """The kernel. fused: `FusedStep`. registers: per thread, at most.

    keep_state: what Adam keeps about a thread's first cells stays in its registers from step to
    step. Without, more blocks fit onto the GPU at once, which large batches make use of.
    """
    state_shape, samples = fused.state.shape, fused.threads

    @fast_math(registers)
    def train(arrays, learning_rates, first_step, settings, counter):
        """Take one step per row of learning_rates (n, 2) float32: the network's, the grid's.

        arrays: `FusedArrays`. first_step: int64 from 1. settings: `StepSettings`. counter: (1,)
        uint32, zero.
        """
        state = cuda.local.array(state_shape, float32)
        cell, stride = cuda.grid(1), cuda.gridsize(1)
        if keep_state:
            fused.state.read(arrays, cell, stride, state)
        first = cuda.blockIdx.x * samples
        squared_error = float32(0)
        features = cuda.local.array(FEATURE_WORDS, uint32)
        drawn = fused.draw(arrays, first, first_step, settings, features)
        for i in range(learning_rates.shape[0]):
            squared_error += fused.gradients(arrays, first_step + i, settings, drawn, features)
            # Adam needs the sums over all samples, of all blocks ...
            arrive_at_barrier(counter)
            wait_at_barrier(counter, 2 * i + 1)
            if not keep_state:
                # Nothing of it is needed before: until here registers are for the samples.
                fused.state.clear(state)
                fused.state.read(arrays, cell, stride, state)
            fused.update(
                arrays, first_step + i, learning_rates[i, 0], learning_rates[i, 1], settings.rates,
                state,
            )  # fmt: skip
            if not keep_state:
                fused.state.write_averages(arrays, cell, stride, state)
            # ... and the next step needs all parameters moved.
            arrive_at_barrier(counter)
            drawn = fused.draw(arrays, first, first_step + i + 1, settings, features)
            wait_at_barrier(counter, 2 * i + 2)
        if keep_state:
            fused.state.write_averages(arrays, cell, stride, state)
        arrays.squared_errors[cuda.grid(1)] += squared_error

    return train
