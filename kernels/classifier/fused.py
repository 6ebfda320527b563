"""A mini-batch in two launches: forward and back, and gradient descent.

    images (B, inputs), labels (B,), parameters (n,)  ->  sums (blocks, n), losses (B,)
    sums, parameters                                  ->  parameters

The idea: `training.py` launches twelve kernels per step, and between them all activations go
through global memory. Here a block takes eight images from their pixels to the loss and back
(`kernels/fused/few_samples.py`): the pixels are read once, and serve both ways; the slope of GELU
stays in a register of the thread that needs it again. A warp has an image, and each of its lanes
the whole softmax: ten classes are too few to be shared out.
"""

import math

import numpy as np
from numba import cuda, float32

from kernels.classifier.gelu import gelu_slope
from kernels.config import WARP
from kernels.field_math import gelu
from kernels.fused.few_samples import (
    DEPTH,
    FOURS,
    MOST_BLOCKS,
    ROWS_AT_ONCE,
    SAMPLES,
    SHARE,
    THREADS,
    WARPS,
    WIDTH,
    add_bias_gradients,
    add_gradients,
    add_products,
    blocks_of_sums,
    clear,
    finished,
    load_turned,
    load_weights,
    multiply,
    share,
    total_of_blocks,
)
from kernels.launch import blocks_for, on_gpu

MOST_BATCH = MOST_BLOCKS * SAMPLES
MOST_INPUTS = 13 * WIDTH  # whose eight images fit into 48 KB beside all else: 28 x 28 pixels do
LIMITS = f"up to {MOST_INPUTS} inputs, {WIDTH} hidden units, and {MOST_BATCH:,} images per step"
IMAGE_ROWS = MOST_INPUTS // WIDTH * SAMPLES


@cuda.jit(device=True)
def load_images(images, first, pixels):
    """Eight images from `first` on, in rows of 64 inputs: row 8 c + s has chunk c of sample s.

    pixels (IMAGE_ROWS, FOURS, 4), in shared memory. Zeros beyond the batch and the inputs.
    """
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    samples, inputs = images.shape
    for chunk in range((inputs + WIDTH - 1) // WIDTH):
        for unit in range(lane, WIDTH, WARP):
            i, value = chunk * WIDTH + unit, float32(0)
            if first + warp < samples and i < inputs:
                value = images[first + warp, i]
            pixels[chunk * SAMPLES + warp, unit // 4, unit % 4] = value


@cuda.jit(device=True)
def multiply_images(pixels, parameters, inputs, hidden, own, parts):
    """The warp's part of the first layer's sums, chunk after chunk of 64 inputs, shared."""
    totals = cuda.local.array((SAMPLES, SHARE), float32)
    ahead = cuda.local.array((DEPTH, SHARE), float32)
    clear(totals)
    for begin in range(0, inputs, WIDTH):
        # Asked for now, the next weights are there when these have been multiplied.
        after = begin + WIDTH
        load_weights(parameters, after * hidden, inputs - after, hidden, ahead)
        add_products(pixels, begin // WIDTH * SAMPLES, own, totals)
        for i in range(DEPTH):
            for j in range(SHARE):
                own[i, j] = ahead[i, j]
    share(totals, parts)


@cuda.jit(device=True)
def gelu_units(parts, biases, begin, hidden, values, slopes):
    """The hidden units of this warp's image, and their slopes (SHARE,), in its lanes' registers."""
    lane, sample = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    for j in range(SHARE):
        unit = lane + j * WARP
        total = biases[begin + unit] if unit < hidden else float32(0)
        total += finished(parts, sample, unit)
        values[sample, unit // 4, unit % 4] = gelu(total)
        slopes[j] = gelu_slope(total)


@cuda.jit(device=True)
def class_deltas(parts, biases, begin, classes, label, deltas):
    """Softmax and cross entropy of this warp's image; as `softmax.softmax_cross_entropy`.

    biases: those of the classes begin at `begin`. label: below zero for an idle warp. Writes
    deltas (SAMPLES, FOURS, 4), zeros beyond the classes; returns the loss.
    """
    lane, sample = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    for unit in range(lane, WIDTH, WARP):
        logit = float32(0)
        if unit < classes:
            logit = biases[begin + unit] + finished(parts, sample, unit)
        deltas[sample, unit // 4, unit % 4] = logit
    # Each lane reads what all lanes of its warp have written.
    cuda.syncwarp()
    largest, own = deltas[sample, 0, 0], float32(0)
    for unit in range(1, classes):
        largest = max(largest, deltas[sample, unit // 4, unit % 4])
    total = float32(0)
    for unit in range(classes):
        logit = deltas[sample, unit // 4, unit % 4]
        total += math.exp(logit - largest)
        if unit == label:
            own = logit
    # And all must have read before the logits give way to their deltas.
    cuda.syncwarp()
    for unit in range(lane, classes, WARP):
        share_of_class = math.exp(deltas[sample, unit // 4, unit % 4] - largest) / total
        delta = share_of_class - float32(1) if unit == label else share_of_class
        deltas[sample, unit // 4, unit % 4] = delta if label >= 0 else float32(0)
    return math.log(total) - (own - largest)


@cuda.jit
def classifier_gradients(images, labels, parameters, hidden, classes, sums, losses):
    """Forward and back for a mini-batch; blocks of THREADS threads, each for SAMPLES images.

    images (B, inputs), parameters (n,): float32; labels (B,): int32. hidden, classes: at most
    WIDTH. Writes sums (blocks, n), whose total over the blocks is the gradient of the loss summed
    over the mini-batch, and losses (B,): float32.
    """
    pixels = cuda.shared.array((IMAGE_ROWS, FOURS, 4), float32, alignment=16)
    values = cuda.shared.array((SAMPLES, FOURS, 4), float32, alignment=16)
    deltas = cuda.shared.array((SAMPLES, FOURS, 4), float32, alignment=16)
    parts = cuda.shared.array((WARPS, SAMPLES, WIDTH), float32)
    own = cuda.local.array((DEPTH, SHARE), float32)
    slopes = cuda.local.array(SHARE, float32)
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    samples, inputs = images.shape
    second = (inputs + 1) * hidden  # where the second matrix begins
    image = cuda.blockIdx.x * SAMPLES + warp
    inside = image < samples

    load_weights(parameters, 0, inputs, hidden, own)
    load_images(images, image - warp, pixels)
    # Each warp multiplies a part of all images.
    cuda.syncthreads()
    multiply_images(pixels, parameters, inputs, hidden, own, parts)
    load_weights(parameters, second, hidden, classes, own)
    # A sum needs the parts of all warps.
    cuda.syncthreads()
    gelu_units(parts, parameters, inputs * hidden, hidden, values, slopes)
    # The values are complete; the parts have been read, and give way to new ones.
    cuda.syncthreads()
    multiply(values, 0, own, parts)
    load_turned(parameters, second, classes, hidden, own)
    # The parts again.
    cuda.syncthreads()
    label = labels[image] if inside else -1
    loss = class_deltas(parts, parameters, second + hidden * classes, classes, label, deltas)
    if inside and lane == 0:
        losses[image] = loss

    # The deltas are complete; the parts have been read.
    cuda.syncthreads()
    multiply(deltas, 0, own, parts)
    add_gradients(values, 0, deltas, sums, second, hidden, classes, True)
    add_bias_gradients(deltas, sums, second + hidden * classes, classes, True)
    # The parts are complete; nobody reads the deltas of the classes any more.
    cuda.syncthreads()
    for j in range(SHARE):
        unit = lane + j * WARP
        deltas[warp, unit // 4, unit % 4] = slopes[j] * finished(parts, warp, unit)
    # The deltas are complete.
    cuda.syncthreads()
    for begin in range(0, inputs, WIDTH):
        top = begin // WIDTH * SAMPLES
        add_gradients(pixels, top, deltas, sums, begin * hidden, inputs - begin, hidden, True)
    add_bias_gradients(deltas, sums, inputs * hidden, hidden, True)


@cuda.jit
def move_by_sums(sums, parameters, learning_rate):
    """Add up the blocks' gradients, and take a step against them, as `sgd.sgd`.

    sums (blocks, n), parameters (n,), learning_rate: float32. Blocks as in `total_of_blocks`.
    """
    i = cuda.blockIdx.x * WARP + cuda.threadIdx.x
    gradient = total_of_blocks(sums, i)
    if cuda.threadIdx.y == 0 and i < parameters.shape[0]:
        parameters[i] -= learning_rate * gradient


def fits(inputs, hidden, classes, batch):
    """Whether steps of a network of this size can be fused."""
    return inputs <= MOST_INPUTS and max(hidden, classes) <= WIDTH and batch <= MOST_BATCH


def make_train_epoch(network, batch, empty):
    """A `training.train_epoch` for this network, of which `fits` is true, of fused kernels.

    batch: samples per mini-batch, at most. empty(shape): a new float32 array where kernels run.
    """
    hidden, classes = (np.int64(array.shape[1]) for array in (network.hidden, network.logits))
    sums = empty((blocks_of_sums(batch), network.parameters.shape[0]))

    def train_epoch(images, labels, losses, network, batch, learning_rate, launch=on_gpu):
        number = images.shape[0]
        for begin in range(0, number, batch):
            part = slice(begin, min(begin + batch, number))
            own_sums = sums[: blocks_of_sums(part.stop - begin)]
            launch(
                classifier_gradients, own_sums.shape[0], THREADS, images[part], labels[part],
                network.parameters, hidden, classes, own_sums, losses[part],
            )  # fmt: skip
            launch(
                move_by_sums, blocks_for(sums.shape[1], WARP), (WARP, ROWS_AT_ONCE), own_sums,
                network.parameters, np.float32(learning_rate),
            )  # fmt: skip

    return train_epoch
