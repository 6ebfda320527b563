"""A thread has a unit and sixteen samples, both found from its number; blocks of one direction."""

import math

import numpy as np
from numba import cuda, float32

from kernels.config import THREADS
from kernels.launch import blocks_for, on_gpu

MINE = 16


@cuda.jit
def sine_layer(inputs, weights, biases, omega, outputs, slopes):
    flat = cuda.grid(1)
    units = outputs.shape[1]
    samples = outputs.shape[0]
    unit = flat % units
    first = flat // units * MINE
    if first < samples:
        last = samples - 1
        sums = cuda.local.array(MINE, float32)
        for j in range(MINE):
            sums[j] = float32(0)
        for i in range(weights.shape[0]):
            w = weights[i, unit]
            for j in range(MINE):
                sums[j] += w * inputs[min(first + j, last), i]
        for j in range(MINE):
            sample = first + j
            if sample < samples:
                angle = (sums[j] + biases[unit]) * omega
                outputs[sample, unit] = math.sin(angle)
                slopes[sample, unit] = math.cos(angle) * omega


@cuda.jit
def sine_backward(deltas, weights, slopes, deltas_below):
    flat = cuda.grid(1)
    samples, below = deltas_below.shape
    i = flat % below
    first = flat // below * MINE
    if first >= samples:
        return
    sums = cuda.local.array(MINE, float32)
    for j in range(MINE):
        sums[j] = 0
    for unit in range(deltas.shape[1]):
        w = weights[i, unit]
        for j in range(MINE):
            sums[j] += w * deltas[min(first + j, samples - 1), unit]
    j = 0
    while j < MINE and first + j < samples:
        deltas_below[first + j, i] = sums[j] * slopes[first + j, i]
        j += 1


def flat_shape(results):
    samples, units = results
    return blocks_for(blocks_for(samples, MINE) * units, THREADS), THREADS


def launch_sine_layer(inputs, weights, biases, omega, outputs, slopes, launch=on_gpu):
    blocks, threads = flat_shape(outputs.shape)
    launch(sine_layer, blocks, threads, inputs, weights, biases, np.float32(omega), outputs, slopes)


def launch_sine_backward(deltas, weights, slopes, deltas_below, launch=on_gpu):
    blocks, threads = flat_shape(deltas_below.shape)
    launch(sine_backward, blocks, threads, deltas, weights, slopes, deltas_below)
