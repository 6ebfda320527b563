"""A layer of sines, forward and back.

    inputs (B, fan_in)   ->  outputs, slopes (B, fan_out)     forward
    deltas (B, fan_out)  ->  deltas_below (B, fan_in)         back

The idea: a unit of a sine layer is sin(omega * (sum of weights times inputs + bias)). Its
derivative with respect to that sum is omega * cos of the same angle. The angle is at hand on the
way forward, so the derivative is computed there and kept: the way back then needs one
multiplication, and neither the sum nor a cosine. As in `kernels/backward.py`, `delta` is the
gradient with respect to a layer's sums, and

    delta_below = (delta @ weights^T) * slope of the layer below

There is no shared memory. A thread computes one unit for eight samples, with eight totals in its
registers: each weight that it reads is used eight times.

Source: Sitzmann and others, "Implicit Neural Representations with Periodic Activation Functions"
(SIREN), NeurIPS 2020.
"""

import numpy as np
from numba import cuda, float32

from kernels.config import COLOURS, THREADS
from kernels.field_math import cosine, sigmoid, sine
from kernels.launch import blocks_for, on_gpu

SAMPLES_PER_THREAD = 8
UNITS_PER_BLOCK = 32  # a warp: its threads read neighbouring weights, and the same inputs
GROUPS_PER_BLOCK = 4  # of SAMPLES_PER_THREAD samples


@cuda.jit
def sine_layer(inputs, weights, biases, omega, outputs, slopes):
    """Evaluate a layer; one thread per unit and SAMPLES_PER_THREAD samples.

    inputs (B, fan_in), weights (fan_in, fan_out), biases (fan_out,): float32. omega: float32.
    Writes outputs (B, fan_out), and slopes (B, fan_out), the derivative of each output with respect
    to its sum.
    """
    unit, group = cuda.grid(2)
    samples, fan_out = outputs.shape
    first = group * SAMPLES_PER_THREAD
    if unit >= fan_out:
        return

    totals = cuda.local.array(SAMPLES_PER_THREAD, float32)
    for j in range(SAMPLES_PER_THREAD):
        totals[j] = biases[unit]
    for i in range(inputs.shape[1]):
        weight = weights[i, unit]
        for j in range(SAMPLES_PER_THREAD):
            # Past the end of the batch the last sample is read again, and nothing is stored.
            totals[j] += weight * inputs[min(first + j, samples - 1), i]

    for j in range(SAMPLES_PER_THREAD):
        if first + j < samples:
            angle = omega * totals[j]
            outputs[first + j, unit] = sine(angle)
            slopes[first + j, unit] = omega * cosine(angle)


@cuda.jit
def sine_backward(deltas, weights, slopes, deltas_below):
    """Take the deltas of a layer to the layer below; one thread per unit there and 8 samples.

    deltas (B, fan_out), weights (fan_in, fan_out): float32, of the layer. slopes (B, fan_in):
    float32, of the layer below, whose units are this one's inputs. Writes deltas_below (B, fan_in).
    """
    i, group = cuda.grid(2)
    samples, fan_in = deltas_below.shape
    first = group * SAMPLES_PER_THREAD
    if i >= fan_in:
        return

    totals = cuda.local.array(SAMPLES_PER_THREAD, float32)
    for j in range(SAMPLES_PER_THREAD):
        totals[j] = float32(0)
    for unit in range(deltas.shape[1]):
        # Neighbours read a row apart, unlike in `sine_layer`. Each fetches eight units' weights at
        # once, and finds the next seven in the L1 cache, where a matrix of 64 x 64 fits.
        weight = weights[i, unit]
        for j in range(SAMPLES_PER_THREAD):
            totals[j] += weight * deltas[min(first + j, samples - 1), unit]

    for j in range(SAMPLES_PER_THREAD):
        if first + j < samples:
            deltas_below[first + j, i] = totals[j] * slopes[first + j, i]


@cuda.jit
def colour_layer(inputs, weights, biases, colours):
    """The last layer, with a sigmoid; one thread per sample.

    inputs (B, fan_in), weights (fan_in, 3), biases (3,): float32. Writes colours (B, 3) in (0, 1).
    """
    sample = cuda.grid(1)
    if sample >= colours.shape[0]:
        return

    red, green, blue = biases[0], biases[1], biases[2]
    # Neighbours read a row apart; seven of eight reads find their number in the L1 cache.
    for i in range(weights.shape[0]):
        red += inputs[sample, i] * weights[i, 0]
        green += inputs[sample, i] * weights[i, 1]
        blue += inputs[sample, i] * weights[i, 2]
    colours[sample, 0] = sigmoid(red)
    colours[sample, 1] = sigmoid(green)
    colours[sample, 2] = sigmoid(blue)


@cuda.jit
def colour_deltas(colours, target, deltas, squared_errors):
    """The deltas of the last layer: where the way back begins; one thread per sample.

    colours, target: (B, 3) float32. Writes deltas (B, 3), of the mean squared error over the batch
    and the colours, and squared_errors (B,), each sample's sum over its colours.
    """
    sample = cuda.grid(1)
    samples = colours.shape[0]
    if sample >= samples:
        return

    scale = float32(2) / (float32(samples) * float32(COLOURS))
    squared_error = float32(0)
    for channel in range(COLOURS):
        colour = colours[sample, channel]
        error = colour - target[sample, channel]
        squared_error += error * error
        deltas[sample, channel] = scale * error * colour * (float32(1) - colour)
    squared_errors[sample] = squared_error


def launch_sine_layer(inputs, weights, biases, omega, outputs, slopes, launch=on_gpu):
    blocks, threads = shape_of_launch(outputs.shape)
    # A float of Python is a double, and would make doubles of all that it meets.
    omega = np.float32(omega)
    launch(sine_layer, blocks, threads, inputs, weights, biases, omega, outputs, slopes)


def launch_sine_backward(deltas, weights, slopes, deltas_below, launch=on_gpu):
    blocks, threads = shape_of_launch(deltas_below.shape)
    launch(sine_backward, blocks, threads, deltas, weights, slopes, deltas_below)


def shape_of_launch(results):
    """(blocks, threads) for results of this shape: (samples, units)."""
    samples, units = results
    groups = blocks_for(samples, SAMPLES_PER_THREAD)
    blocks = blocks_for(units, UNITS_PER_BLOCK), blocks_for(groups, GROUPS_PER_BLOCK)
    return blocks, (UNITS_PER_BLOCK, GROUPS_PER_BLOCK)


def launch_colour_layer(inputs, weights, biases, colours, launch=on_gpu):
    blocks = blocks_for(colours.shape[0])
    launch(colour_layer, blocks, THREADS, inputs, weights, biases, colours)


def launch_colour_deltas(colours, target, deltas, squared_errors, launch=on_gpu):
    blocks = blocks_for(colours.shape[0])
    launch(colour_deltas, blocks, THREADS, colours, target, deltas, squared_errors)
