"""Many steps in one launch: kernels recorded once as a CUDA graph, and replayed.

The idea: see `kernels/plumbing/recording.py`, which also says what `clock` and `learning_rates`
are. The graphs here have many steps: a step's first kernel copies the position, its last one
advances it.
"""

from functools import cache

from numba import cuda, float32, uint64

from kernels import adam, sampler
from kernels.config import FEATURES, GRID_CHANNELS
from kernels.fast.adam import CELLS_AT_ONCE
from kernels.fast.fast_math import fast_math
from kernels.fast.paint import make_paint
from kernels.fast.sample import draw_sample
from kernels.fast.sizes import network_size
from kernels.fast.step import make_fused_step
from kernels.plumbing import front_end
from kernels.plumbing.recording import FIRST_STEP, POSITION, SECOND_HALF, record

STEPS_PER_GRAPH = 64

# The staged kernels' own bodies, to be called from the kernels below.
sample_batch = cuda.jit(device=True)(sampler.sample_batch.py_func)
adam_grid = cuda.jit(device=True)(adam.adam_grid.py_func)


@cuda.jit
def sample_batch_by_clock(clock, image, seed, uv, target):
    """Like `sampler.sample_batch`; reads the step number from `clock`, (3,) int64."""
    if cuda.grid(1) == 0:
        clock[SECOND_HALF] = clock[POSITION]
    sample_batch(image, seed, uint64(clock[FIRST_STEP] + clock[POSITION]), uv, target)


@cuda.jit
def adam_grid_by_clock(
    clock, learning_rates, feature_grid, grad_feature_grid, m, v, steps, corrections, rates
):
    """Like `adam.adam_grid`; reads the position from `clock`, and advances it to the next step."""
    position = clock[SECOND_HALF]
    if cuda.grid(1) == 0:
        clock[POSITION] = position + 1
    adam_grid(
        feature_grid, grad_feature_grid, m, v, steps, corrections, learning_rates[position, 1],
        rates,
    )  # fmt: skip


@cache
def make_fused_kernels(
    hidden, layers, deterministic=False, vector_atomics=True, channels=GRID_CHANNELS
):
    """(gradient kernel, update kernel, paint kernel, threads per block): see `make_fused_step`."""
    fused = make_fused_step(hidden, layers, deterministic, vector_atomics, channels)
    samples, gradients, update = fused.threads, fused.gradients, fused.update
    prepare_features = fused.prepare_features
    numbers, read_state, write_averages = fused.cell_state

    @fast_math()
    def gradients_by_clock(clock, arrays, settings):
        """First half of a step. clock (3,) int64; `FusedArrays`; `StepSettings`."""
        position = clock[POSITION]
        if cuda.grid(1) == 0:
            clock[SECOND_HALF] = position
        step = clock[FIRST_STEP] + position
        features = cuda.local.array(FEATURES, float32)
        sample = draw_sample(arrays, cuda.blockIdx.x * samples, step, settings)
        corner = prepare_features(sample, settings, features)
        arrays.squared_errors[cuda.grid(1)] += gradients(
            arrays, step, settings, sample, corner, features
        )

    @fast_math()
    def update_by_clock(clock, learning_rates, arrays, settings):
        """Second half; advances the clock. learning_rates (n, 2) float32, one row per step."""
        position = clock[SECOND_HALF]
        if cuda.grid(1) == 0:
            clock[POSITION] = position + 1
        state = cuda.local.array((CELLS_AT_ONCE, numbers), float32)
        cell, stride = cuda.grid(1), cuda.gridsize(1)
        read_state(arrays, cell, stride, state)
        update(
            arrays, clock[FIRST_STEP] + position, learning_rates[position, 0],
            learning_rates[position, 1], settings.rates, state,
        )  # fmt: skip
        write_averages(arrays, cell, stride, state)

    paint = make_paint(network_size(hidden, layers, channels))
    return gradients_by_clock, update_by_clock, paint, fused.threads


# ---------------------------------------------------------------- recording


class Recorder:
    """Records what `launch_step(stream)` launches, as a graph of many steps and one of one step."""

    def __init__(self, launch_step):
        from cuda.core import Device

        device = Device()
        device.set_current()
        self.stream = device.create_stream()
        self.launch_step = launch_step
        self.graphs = {}

    def record(self):
        """Make both graphs. Everything must be compiled by then: compiling cannot be recorded."""
        for steps in (STEPS_PER_GRAPH, 1):
            self.graphs[steps] = record(self.launch_step, steps)

    def replay(self, steps):
        """Run `steps` steps and wait for their end."""
        # What was copied before on the default stream must have arrived.
        front_end.cuda.synchronize()
        for _ in range(steps // STEPS_PER_GRAPH):
            self.graphs[STEPS_PER_GRAPH].launch(self.stream)
        for _ in range(steps % STEPS_PER_GRAPH):
            self.graphs[1].launch(self.stream)
        self.stream.sync()
