"""Lesson 13: waves all the way. A network of sines, which learns a picture without a grid.

Write the function and the four kernels marked "write me"; the story is in README.md beside it.

    random numbers (fan_in + 1, fan_out)  ->  what a layer begins with, as many
    inputs (B, fan_in)  ->  outputs, slopes (B, fan_out)              forward
    deltas (B, fan_out)  ->  deltas_below (B, fan_in)                 back
    inputs, deltas  ->  partial (chunks, fan_in + 1, fan_out)  ->  gradients (fan_in + 1, fan_out)

Check your work with `python -m lessons check 13`.
"""

import math

import numpy as np
from numba import cuda, float32

from kernels.config import THREADS
from kernels.field_math import cosine, sine
from kernels.launch import blocks_for, on_gpu
from kernels.siren.layers import GROUPS_PER_BLOCK, SAMPLES_PER_THREAD, UNITS_PER_BLOCK
from kernels.siren.sums import CHUNK_SAMPLES, INPUTS_PER_THREAD


def initial_layer(numbers, omega, is_first):
    """What a layer begins with, (fan_in + 1, fan_out) float32; the biases are the last row.

    numbers: (fan_in + 1, fan_out) float64, random ones in [0, 1). omega: a float, that of the
    layer. Uniform between -reach and reach: 1 / fan_in in the first layer, and
    sqrt(6 / fan_in) / omega in the others.
    """
    raise NotImplementedError("write me")


@cuda.jit
def sine_layer(inputs, weights, biases, omega, outputs, slopes):
    """Evaluate a layer; one thread per unit and SAMPLES_PER_THREAD samples.

    inputs (B, fan_in), weights (fan_in, fan_out), biases (fan_out,): float32. omega: float32.
    Writes outputs (B, fan_out), and slopes (B, fan_out), the derivative of each output with respect
    to its sum.
    """
    raise NotImplementedError("write me")


@cuda.jit
def sine_backward(deltas, weights, slopes, deltas_below):
    """Take the deltas of a layer to the layer below; one thread per unit there and 8 samples.

    deltas (B, fan_out), weights (fan_in, fan_out): float32, of the layer. slopes (B, fan_in):
    float32, of the layer below, whose units are this one's inputs. Writes deltas_below (B, fan_in).
    """
    raise NotImplementedError("write me")


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


@cuda.jit
def chunk_sums(inputs, deltas, partial):
    """Stage 1; one thread per unit, INPUTS_PER_THREAD inputs, and chunk of CHUNK_SAMPLES samples.

    inputs (B, fan_in), deltas (B, fan_out): float32. Writes partial (chunks, fan_in + 1, fan_out);
    the last row of each chunk is that of the biases.
    """
    raise NotImplementedError("write me")


@cuda.jit
def sum_chunks(partial, gradients):
    """Stage 2; one thread per weight or bias.

    partial (chunks, fan_in + 1, fan_out): float32. Writes gradients (fan_in + 1, fan_out).
    """
    raise NotImplementedError("write me")


def launch_chunk_sums(inputs, deltas, partial, launch=on_gpu):
    chunks, rows, fan_out = partial.shape
    groups = blocks_for(rows - 1, INPUTS_PER_THREAD)
    blocks = blocks_for(fan_out, UNITS_PER_BLOCK), groups, chunks
    launch(chunk_sums, blocks, (UNITS_PER_BLOCK, 1, 1), inputs, deltas, partial)


def launch_sum_chunks(partial, gradients, launch=on_gpu):
    rows, fan_out = gradients.shape
    rows_per_block = THREADS // UNITS_PER_BLOCK
    blocks = blocks_for(fan_out, UNITS_PER_BLOCK), blocks_for(rows, rows_per_block)
    launch(sum_chunks, blocks, (UNITS_PER_BLOCK, rows_per_block), partial, gradients)
