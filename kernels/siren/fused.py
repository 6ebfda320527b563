"""The network of sines in three launches per step: draw, forward and back, move.

    parameters, positions (B, 2), target (B, 3)  ->  sums (blocks, n), squared_errors (B,)

The idea: `layers.py` and `sums.py` launch 42 kernels per step, and each writes all that it has made
into global memory, for the next to read. Here a block takes eight samples from their positions to
their errors and back, without leaving the chip (`kernels/fused/few_samples.py`). What the way back
needs is kept in shared memory, and that is little: of each layer the angles, from which sine and
cosine are computed again. The gradients of the weights, summed over the block's samples, are all
that goes out.

The GPU counts the steps by itself: the host names a step only if it is not the next one.
"""

import numpy as np
from numba import cuda, float32

from kernels.config import COLOURS, WARP
from kernels.field_math import cosine, sigmoid, sine
from kernels.fused.few_samples import (
    DEPTH,
    FOURS,
    SAMPLES,
    SHARE,
    THREADS,
    WARPS,
    WIDTH,
    add_bias_gradients,
    add_gradients,
    add_to,
    blocks_of_sums,
    finished,
    launch_move_by_adam,
    load_weights,
    multiply,
    turned_places,
)
from kernels.launch import on_gpu
from kernels.plumbing.recording import FIRST_STEP
from kernels.siren import network
from kernels.siren.network import FIRST_OMEGA

MOST_LAYERS = 9  # of sines: the angles of so many fit into 48 KB


@cuda.jit(device=True)
def first_waves(parameters, width, x, y, angles, values):
    """The first layer, of this warp's sample at (x, y): two inputs need no product of warps."""
    lane, sample = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    for unit in range(lane, WIDTH, WARP):
        total = float32(0)
        if unit < width:
            total = parameters[2 * width + unit]
            total += x * parameters[unit] + y * parameters[width + unit]
        angle = float32(FIRST_OMEGA) * total
        angles[0, sample, unit] = angle
        values[sample, unit // 4, unit % 4] = sine(angle)


@cuda.jit(device=True)
def next_waves(parts, parameters, biases, width, omega, angles, layer, values):
    """A further layer, from the parts of its sums: its angles are kept, its sines the next input.

    biases: where they begin in parameters.
    """
    lane, sample = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    for unit in range(lane, WIDTH, WARP):
        angle = float32(0)
        if unit < width:
            angle = omega * (parameters[biases + unit] + finished(parts, sample, unit))
        angles[layer, sample, unit] = angle
        values[sample, unit // 4, unit % 4] = sine(angle)


@cuda.jit(device=True)
def colour_deltas(parts, parameters, biases, target, sample, inside, deltas):
    """Colours of this warp's sample, and their deltas, as `layers.colour_deltas`.

    sample: its number in the batch, of which it is `inside`, or an idle warp's. Returns the squared
    error, in lane 0; the other lanes clear the rest of the row.
    """
    lane, row = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    for unit in range(lane, WIDTH, WARP):
        if unit >= COLOURS:
            deltas[row, unit // 4, unit % 4] = float32(0)
    squared_error = float32(0)
    if lane == 0:
        scale = float32(2) / (float32(target.shape[0]) * float32(COLOURS))
        for channel in range(COLOURS):
            colour = sigmoid(parameters[biases + channel] + finished(parts, row, channel))
            error = colour - target[sample, channel] if inside else float32(0)
            squared_error += error * error
            deltas[row, channel // 4, channel % 4] = scale * error * colour * (float32(1) - colour)
    return squared_error


@cuda.jit(device=True)
def deltas_below(parts, omega, angles, layer, deltas, values):
    """The deltas of a layer of sines; and again what went into it, if waves did."""
    lane, sample = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    for unit in range(lane, WIDTH, WARP):
        slope = omega * cosine(angles[layer, sample, unit])
        deltas[sample, unit // 4, unit % 4] = slope * finished(parts, sample, unit)
        if layer > 0:
            values[sample, unit // 4, unit % 4] = sine(angles[layer - 1, sample, unit])


@cuda.jit(device=True)
def add_first_gradients(positions, first, deltas, width, sums, is_first):
    """The gradients of the first layer: a warp for the weights of x, of y, and for the biases."""
    lane, row = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    for unit in range(lane, width, WARP):
        if row < 3:
            total = float32(0)
            for sample in range(min(SAMPLES, positions.shape[0] - first)):
                value = positions[first + sample, row] if row < 2 else float32(1)
                total += value * deltas[sample, unit // 4, unit % 4]
            add_to(sums, row * width + unit, total, is_first)


@cuda.jit
def siren_gradients(
    clock, parameters, turned, width, layers, omega, positions, target, sums, squared_errors
):
    """Forward and back for a batch; blocks of THREADS threads, each for SAMPLES samples at a time.

    clock (3,) int64: one step is added, of which no thread here needs to know. parameters, turned
    (n,): `layers` layers of `width` sines, and the colours. omega: of the layers after the first.
    positions (B, 2), target (B, 3). Writes sums (blocks, n), whose total over the blocks is the
    gradient of the mean squared error, and squared_errors (B,), each sample's sum. All float32.
    """
    angles = cuda.shared.array((MOST_LAYERS, SAMPLES, WIDTH), float32)
    parts = cuda.shared.array((WARPS, SAMPLES, WIDTH), float32)
    values = cuda.shared.array((SAMPLES, FOURS, 4), float32, alignment=16)
    deltas = cuda.shared.array((SAMPLES, FOURS, 4), float32, alignment=16)
    own = cuda.local.array((DEPTH, SHARE), float32)
    batch, matrix = positions.shape[0], width * (width + 1)
    last = 3 * width + (layers - 1) * matrix  # where the colours' matrix begins
    begins = cuda.blockIdx.x * SAMPLES

    if cuda.blockIdx.x == 0 and cuda.threadIdx.x == 0:
        clock[FIRST_STEP] += 1
    for first in range(begins, batch, cuda.gridDim.x * SAMPLES):
        is_first = first == begins
        # Idle warps, beyond the batch, compute its last sample again, without an error.
        number = first + cuda.threadIdx.x // WARP
        inside = number < batch
        number = min(number, batch - 1)
        first_waves(parameters, width, positions[number, 0], positions[number, 1], angles, values)
        load_weights(parameters, 3 * width, width, width if layers > 1 else COLOURS, own)
        for layer in range(1, layers + 1):
            # Each warp multiplies what all warps have written; and they must have read the parts
            # of the last sums, which the new ones replace.
            cuda.syncthreads()
            multiply(values, 0, own, parts)
            begin = 3 * width + (layer - 1) * matrix
            # Asked for now, the next weights are there when they are needed.
            if layer < layers:
                columns = width if layer + 1 < layers else COLOURS
                load_weights(parameters, begin + matrix, width, columns, own)
            else:
                load_weights(turned, last, COLOURS, width, own)
            # A sum needs the parts of all warps; and nobody reads the values any more.
            cuda.syncthreads()
            if layer < layers:
                biases = begin + width * width
                next_waves(parts, parameters, biases, width, omega, angles, layer, values)
        squared_error = colour_deltas(
            parts, parameters, last + COLOURS * width, target, number, inside, deltas
        )
        if inside and cuda.threadIdx.x % WARP == 0:
            squared_errors[number] = squared_error

        for layer in range(layers, 0, -1):
            begin = 3 * width + (layer - 1) * matrix
            # As on the way forward: deltas and values are complete, the parts have been read.
            cuda.syncthreads()
            multiply(deltas, 0, own, parts)
            if layer > 1:
                load_weights(turned, begin - matrix, width, width, own)
            columns = width if layer < layers else COLOURS
            add_gradients(values, 0, deltas, sums, begin, width, columns, is_first)
            add_bias_gradients(deltas, sums, begin + width * columns, columns, is_first)
            # The parts are complete; nobody reads deltas and values any more.
            cuda.syncthreads()
            own_omega = omega if layer > 1 else float32(FIRST_OMEGA)
            deltas_below(parts, own_omega, angles, layer - 1, deltas, values)
        # Warps add up what other warps have written.
        cuda.syncthreads()
        add_first_gradients(positions, first, deltas, width, sums, is_first)


def launch_siren_gradients(
    clock, parameters, turned, shapes, omega, positions, target, sums, squared_errors, launch=on_gpu
):
    width, layers = np.int64(shapes[0][1]), np.int64(len(shapes) - 1)
    launch(
        siren_gradients, sums.shape[0], THREADS, clock, parameters, turned, width, layers,
        np.float32(omega), positions, target, sums, squared_errors,
    )  # fmt: skip


def fits(shapes):
    """Whether a network of these layers, as `network.layer_shapes` makes them, can be fused."""
    return shapes[0][1] <= WIDTH and len(shapes) - 1 <= MOST_LAYERS


class MovedBySums:
    """Beside a `recording.Learner`: its `find_sums(launch)` writes sums (blocks, n) of the
    gradients, and counts the clock. matrices: (rows, columns) of what the parameters hold.
    """

    def prepare(self, matrices, blocks, device):
        """Before the learner itself is begun. blocks: rows of the sums."""
        places = turned_places(matrices)
        self.host_places = places
        self.places = device.to_device(places)
        self.sums = device.empty((blocks, places.size))

    def new_step_work(self):
        turned = np.empty(self.host_places.size, np.float32)
        turned[self.host_places] = self.device.to_host(self.parameters)
        self.turned = self.device.to_device(turned)
        self.expected = None  # the step and its rate that the clock shows
        proof = self.parameters, self.m, self.v, self.turned, self.numbers.clock
        return self.device.repeated(self.launch_step, proof)

    def train(self, step, learning_rate=network.LEARNING_RATE):
        if self.expected != (step, learning_rate):
            self.numbers.set(step, learning_rate, self.device.launch)
        self.step = step
        self.step_work()
        self.expected = step + 1, learning_rate

    def launch_step(self, launch):
        clock, rates = self.numbers
        self.draw(launch)
        self.find_sums(launch)
        launch_move_by_adam(
            clock, rates, self.sums, self.parameters, self.turned, self.places, self.m, self.v,
            self.corrections, self.rates, launch=launch,
        )  # fmt: skip


class FusedSiren(MovedBySums, network.Siren):
    """`network.Siren`, whose steps are three launches; it paints as that does."""

    def __init__(self, image, seed, batch, device, omega=network.OMEGA):
        self.omega = omega
        matrices = [m for i, o in network.layer_shapes() for m in ((i, o), (1, o))]
        self.prepare(matrices, blocks_of_sums(batch), device)
        super().__init__(image, seed, batch, device, omega)

    def find_sums(self, launch):
        launch_siren_gradients(
            self.numbers.clock, self.parameters, self.turned, self.shapes, self.omega,
            *self.drawn_batch(), self.sums, self.batch.squared_errors, launch,
        )  # fmt: skip
