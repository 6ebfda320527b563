"""Many launches as one request: recorded once as a CUDA graph, and replayed.

    work(launch)  ->  a graph of all that it launches

The idea: what a launch costs is the host's work of preparing it. A *graph* is a list of launches
that has been prepared once; starting the whole list costs about as much as starting one kernel.
But everything in it is fixed, also the numbers that each kernel was given. So what changes from
step to step, the step number and the learning rates, must lie in the GPU's memory, where kernels
read it.

`clock` (3,) int64 holds: the position in the run's list of learning rates, a copy of it for the
second half of a step, and the number of the first step. Two copies, because the kernel that sets
the next position must not change what its own threads still read. `learning_rates` (n, 2) float32
has one row per step: the network's, the grid's.

There are two ways to keep them. A graph of many steps counts by itself: its last kernel advances
the position. For a graph of one step a small kernel in front of it,
`begin_step`, writes down which step it is; then the list has a single row.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import cuda, int32, uint64

from kernels import adam, sampler
from kernels.config import PUBLISHED_RATES, THREADS
from kernels.launch import blocks_for, on_gpu, on_stream
from kernels.plumbing import front_end

POSITION, SECOND_HALF, FIRST_STEP = 0, 1, 2
STEPS_PER_GRAPH = 64

# The staged kernels' own bodies, to be called from the kernels below.
sample_batch = cuda.jit(device=True)(sampler.sample_batch.py_func)
adam_weights = cuda.jit(device=True)(adam.adam_weights.py_func)
adam_grid = cuda.jit(device=True)(adam.adam_grid.py_func)


@cuda.jit
def begin_step(step, learning_rate, clock, learning_rates):
    """Write down the step that comes next, step: int64, and its rate, float32; one thread."""
    clock[FIRST_STEP] = step
    learning_rates[0, 0] = learning_rate


@cuda.jit
def sample_batch_by_clock(clock, image, seed, uv, target):
    """Like `sampler.sample_batch`; reads the step number from `clock`, (3,) int64."""
    if cuda.grid(1) == 0:
        clock[SECOND_HALF] = clock[POSITION]
    sample_batch(image, seed, uint64(clock[FIRST_STEP] + clock[POSITION]), uv, target)


@cuda.jit
def adam_weights_by_clock(clock, learning_rates, weights, grad_weights, m, v, corrections, rates):
    """Like `adam.adam_weights`; reads the step number from `clock`, (3,) int64.

    learning_rates: (n, 2) float32, one row per step: the network's, the grid's.
    """
    position = clock[SECOND_HALF]
    adam_weights(
        weights, grad_weights, m, v, int32(clock[FIRST_STEP] + position), corrections,
        learning_rates[position, 0], rates,
    )  # fmt: skip


def launch_adam_weights_by_clock(
    clock, learning_rates, weights, grad_weights, m, v, corrections, rates, launch=on_gpu
):
    launch(
        adam_weights_by_clock, blocks_for(weights.shape[0]), THREADS,
        clock, learning_rates, weights, grad_weights, m, v, corrections, rates,
    )  # fmt: skip


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


class StepNumbers(NamedTuple):
    """What tells recorded kernels of a single step which one it is, where they run."""

    clock: Any  # (3,) int64; the positions stay 0
    learning_rates: Any  # (1, 2) float32

    def set(self, step, learning_rate, launch=on_gpu):
        """Before the step's other launches. step: int, from 1. learning_rate: float."""
        launch(begin_step, 1, 1, np.int64(step), np.float32(learning_rate), *self)


def step_numbers(to_device):
    """New `StepNumbers`. to_device: copies an array to where the kernels run."""
    return StepNumbers(to_device(np.zeros(3, np.int64)), to_device(np.zeros((1, 2), np.float32)))


class Learner:
    """What Adam trains in steps that can be recorded: parameters, and all that moves them.

    begin: (n,) float32, the parameters to begin with. device: has `launch`, `to_device`, `empty`,
    `to_host` and `repeated`, as `lessons.capstones.device`. A subclass has `draw(launch)`, which
    makes a step's batch, and `find_gradients(launch)`, both passes for it.
    """

    rates = PUBLISHED_RATES

    def __init__(self, seed, begin, device):
        self.device = device
        self.seed = seed
        self.step = 0  # the latest
        self.parameters = device.to_device(begin)
        self.gradients, self.m, self.v = (device.to_device(np.zeros_like(begin)) for _ in range(3))
        self.corrections = device.to_device(
            adam.bias_corrections(self.rates.beta1, self.rates.beta2)
        )
        self.numbers = step_numbers(device.to_device)
        self.step_work = self.new_step_work()

    def new_step_work(self):
        return self.device.repeated(self.launch_step, (self.parameters, self.m, self.v))

    def train(self, step, learning_rate):
        """One step, the first is 1: draw a batch, forward, back, move every parameter."""
        self.step = step
        self.numbers.set(step, learning_rate, self.device.launch)
        self.step_work()

    def launch_step(self, launch):
        """All launches of a step. They are the same in every step, and so can be recorded: what
        differs lies in `numbers`.
        """
        self.draw(launch)
        self.find_gradients(launch)
        launch_adam_weights_by_clock(
            *self.numbers, self.parameters, self.gradients, self.m, self.v, self.corrections,
            self.rates, launch,
        )  # fmt: skip


# ---------------------------------------------------------------- recording


def current_device():
    from cuda.core import Device

    device = Device()
    device.set_current()
    return device


def record(start, times=1):
    """A graph of `times` times what start(stream) launches: cuda.core's, which has launch(stream).

    Everything must be compiled by then: compiling cannot be recorded.
    """
    builder = current_device().create_graph_builder()
    builder.begin_building()
    stream = front_end.recording_stream(builder)
    try:
        # Freeing memory while recording would end up in the graph, or break it.
        with front_end.cuda.defer_cleanup():
            for _ in range(times):
                start(stream)
    except BaseException:
        builder.close()  # else its stream would go on recording
        raise
    return builder.end_building().complete()


def default_stream():
    """The stream of plain launches and copies: a graph in it waits for them, and they for it."""
    from cuda.core import Stream

    return Stream.from_handle(0)


class Recorder:
    """Records what `launch_step(stream)` launches, as a graph of many steps and one of one step."""

    def __init__(self, launch_step):
        self.stream = current_device().create_stream()
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


class OneByOne:
    """Work that is done again and again: each time launch by launch.

    work(launch): launches whatever it launches, by `launch`.
    """

    how = "one by one"

    def __init__(self, work, launch):
        self.work = work
        self.launch = launch

    def __call__(self):
        self.work(self.launch)


class Recorded:
    """Work that is done again and again on the GPU: from the second time on as a graph.

    work(launch): launches the same kernels with the same arguments each time, and does nothing
    else. The first time it is launched kernel by kernel, which compiles what is not compiled.
    proof: arrays on the GPU in which the work goes on from what it left. If there are any, the
    second time the work is done from the same beginning in both ways; a graph that does not leave
    the same bits is not used. Kernels that add floats atomically leave other bits each time: they
    can have no proof.
    Where nothing can be recorded, such as in Numba's simulator, each launch stays one of its own.
    """

    def __init__(self, work, proof=()):
        self.work = work
        self.proof = proof
        self.times = 0
        self.graph = None
        self.stream = None
        self.obstacle = ""
        self.arguments = []  # of the recorded launches: a graph keeps no array alive

    @property
    def how(self):
        """How it is done, in words."""
        if self.graph is not None:
            return "as a graph"
        return f"one by one: {self.obstacle}" if self.obstacle else OneByOne.how

    def __call__(self):
        self.times += 1
        if self.times == 2:
            self.record()
        elif self.graph is None:
            self.work(on_gpu)
        else:
            self.replay()

    def record(self):
        """Record the work, and do it once."""
        try:
            self.stream = default_stream()
            self.graph = record(self.work_on)
        except Exception as error:  # whatever it is that cannot be recorded, launches still work
            self.obstacle = f"{type(error).__name__}: {error}".splitlines()[0]
            self.work(on_gpu)
            return
        if self.proof:
            self.prove()
        else:
            self.replay()

    def work_on(self, stream):
        """Do the work on a stream, and keep what it hands to kernels."""
        start = on_stream(stream)

        def launch(kernel, blocks, threads, *arguments):
            if any(isinstance(argument, np.ndarray) for argument in arguments):
                raise TypeError("an array of the host's cannot be recorded")
            self.arguments.append(arguments)
            start(kernel, blocks, threads, *arguments)

        self.work(launch)

    def prove(self):
        """Do the work once, and see whether the graph does the same."""
        before = self.copies()
        # The graph comes first: else it would find what it lacks done by the launches. And twice:
        # what the host does beside launches, it has just done once, while they were recorded.
        for _ in range(2):
            self.put(before)
            self.replay()
        found = self.copies()
        self.put(before)
        self.work(on_gpu)
        if not all(map(same_bits, found, self.copies())):
            self.graph = None
            self.obstacle = "as a graph it leaves other numbers"

    def replay(self):
        self.graph.launch(self.stream)

    def copies(self):
        return [array.copy_to_host() for array in self.proof]

    def put(self, values):
        for array, value in zip(self.proof, values, strict=True):
            array.copy_to_device(value)


def same_bits(one, other):
    """Whether two arrays hold the same, and NaN where the other has it."""
    return one.tobytes() == other.tobytes()
