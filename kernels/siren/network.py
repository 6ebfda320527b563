"""The whole network: its layers, what it begins with, and a step of its training.

    positions (B, 2)  ->  nine layers of 64 sines  ->  colours (B, 3)

The idea: a picture without a grid. The first layer multiplies its angles by 30, so that there are
waves of many lengths across the picture; each further layer makes waves of these waves. All 33,667
parameters take part in every pixel.

Each launch is one layer; arrays in between lie in global memory. `parameters` holds layer after
layer, of each the weights, (fan_in, fan_out), row by row, and then the biases.
Source: Sitzmann and others, NeurIPS 2020, with omega 30 in the first layer only.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kernels.config import COLOURS
from kernels.launch import blocks_for, on_gpu
from kernels.plumbing.recording import Learner
from kernels.siren import layers, positions, sums

WIDTH, SINE_LAYERS = 64, 9
FIRST_OMEGA, OMEGA = 30.0, 1.0
LEARNING_RATE = 1e-3
PAINTED_AT_ONCE = 4096  # pixels


def initial_layer(numbers, omega, is_first):
    """What a layer begins with, (fan_in + 1, fan_out) float32; the biases are the last row.

    numbers: (fan_in + 1, fan_out) float64, random ones in [0, 1). omega: a float, that of the
    layer. Uniform between -reach and reach: 1 / fan_in in the first layer, and
    sqrt(6 / fan_in) / omega in the others.
    """
    fan_in = numbers.shape[0] - 1
    reach = 1 / fan_in if is_first else math.sqrt(6 / fan_in) / omega
    return (2 * reach * numbers - reach).astype(np.float32)


class Stages(NamedTuple):
    """The functions that a lesson's exercise may stand in for."""

    sine_layer: Callable[..., None] = layers.launch_sine_layer
    sine_backward: Callable[..., None] = layers.launch_sine_backward
    chunk_sums: Callable[..., None] = sums.launch_chunk_sums
    sum_chunks: Callable[..., None] = sums.launch_sum_chunks
    initial_layer: Callable[..., np.ndarray] = initial_layer


class Layer(NamedTuple):
    """Views of one layer's part of `parameters`, and of its gradients."""

    weights: Any  # (fan_in, fan_out)
    biases: Any  # (fan_out,)
    gradients: Any  # (fan_in + 1, fan_out), the biases' in the last row
    omega: np.float32


class Batch(NamedTuple):
    """What a step leaves in memory. Lists have an entry per layer."""

    positions: Any  # (B, 2)
    target: Any  # (B, 3)
    outputs: list  # (B, width) of each sine layer
    slopes: list  # the same
    colours: Any  # (B, 3)
    squared_errors: Any  # (B,)
    deltas: list  # (B, fan_out) of each layer
    partial: list  # (chunks, fan_in + 1, fan_out) of each layer


def layer_shapes(width=WIDTH, sine_layers=SINE_LAYERS):
    """(fan_in, fan_out) of each layer, first layer first."""
    return list(itertools.pairwise([2, *[width] * sine_layers, COLOURS]))


def initial_parameters(seed, shapes=None, omega=OMEGA, begin=None):
    """(n,) float32: a pure function of the seed.

    omega: of the layers after the first. Their sums spread about as widely as those of the layer
    before, see `initial_layer`, for which begin may stand in. The last biases begin at zero.
    """
    random = np.random.Generator(np.random.Philox(seed))
    parts = []
    for number, (fan_in, fan_out) in enumerate(shapes or layer_shapes()):
        numbers = random.random((fan_in + 1, fan_out))
        # Looked up here: in a handout a student's own takes its place after this file is loaded.
        layer = begin or initial_layer
        parts.append(layer(numbers, omega if number else FIRST_OMEGA, number == 0))
    parts[-1][-1] = 0
    return np.concatenate([part.ravel() for part in parts]).astype(np.float32)


def layers_of(parameters, gradients, shapes=None, omega=OMEGA):
    """The `Layer`s of (n,) parameters and as many gradients, on the host or on a GPU."""
    found, begin = [], 0
    for number, (fan_in, fan_out) in enumerate(shapes or layer_shapes()):
        middle, end = begin + fan_in * fan_out, begin + (fan_in + 1) * fan_out
        found.append(
            Layer(
                parameters[begin:middle].reshape((fan_in, fan_out)),
                parameters[middle:end],
                gradients[begin:end].reshape((fan_in + 1, fan_out)),
                np.float32(omega if number else FIRST_OMEGA),
            )
        )
        begin = end
    return found


def new_batch(samples, shapes, empty):
    """Arrays for a step of so many samples. empty: makes one of a shape, where kernels run."""
    chunks = blocks_for(samples, sums.CHUNK_SAMPLES)
    widths = [fan_out for _, fan_out in shapes]
    return Batch(
        positions=empty((samples, 2)),
        target=empty((samples, COLOURS)),
        outputs=[empty((samples, width)) for width in widths[:-1]],
        slopes=[empty((samples, width)) for width in widths[:-1]],
        colours=empty((samples, COLOURS)),
        squared_errors=empty((samples,)),
        deltas=[empty((samples, width)) for width in widths],
        partial=[empty((chunks, fan_in + 1, fan_out)) for fan_in, fan_out in shapes],
    )


def painting_batch(samples, shapes, empty):
    """The same for painting alone: what only the way back needs is not there, or overwritten."""
    width = shapes[0][1]
    slopes, *two = (empty((samples, width)) for _ in range(3))
    sine_layers = len(shapes) - 1
    return Batch(
        positions=empty((samples, 2)),
        target=None,
        outputs=[two[number % 2] for number in range(sine_layers)],
        slopes=[slopes] * sine_layers,
        colours=empty((samples, COLOURS)),
        squared_errors=None,
        deltas=[],
        partial=[],
    )


def launch_forward(network, batch, stages=None, launch=on_gpu):
    """From batch.positions to batch.colours, through all `Layer`s of the network."""
    stages = stages or Stages()
    inputs = batch.positions
    for layer, outputs, slopes in zip(network[:-1], batch.outputs, batch.slopes, strict=True):
        stages.sine_layer(
            inputs, layer.weights, layer.biases, layer.omega, outputs, slopes, launch=launch
        )
        inputs = outputs
    last = network[-1]
    layers.launch_colour_layer(inputs, last.weights, last.biases, batch.colours, launch)


def launch_backward(network, batch, stages=None, launch=on_gpu):
    """From batch.colours and batch.target to the gradients of every `Layer`."""
    stages = stages or Stages()
    last = len(network) - 1
    layers.launch_colour_deltas(
        batch.colours, batch.target, batch.deltas[last], batch.squared_errors, launch
    )
    for number in range(last, -1, -1):
        deltas, partial = batch.deltas[number], batch.partial[number]
        inputs = batch.outputs[number - 1] if number else batch.positions
        stages.chunk_sums(inputs, deltas, partial, launch=launch)
        stages.sum_chunks(partial, network[number].gradients, launch=launch)
        if number:
            slopes, below = batch.slopes[number - 1], batch.deltas[number - 1]
            stages.sine_backward(deltas, network[number].weights, slopes, below, launch=launch)


class PictureLearner(Learner):
    """What every network needs that learns a picture: a `Learner`'s steps, and painting.

    image: (H, W, 3) float32 in [0, 1]. A subclass has `drawn_batch()`, arrays (B, 2) and (B, 3) for
    positions and target of a step; `find_gradients(launch)`, both passes for these; and
    `paint_pixels(first, width, height)`, the colours of `painted_at_once` pixels from `first` on,
    row by row, on the host.
    """

    def __init__(self, image, seed, begin, device):
        super().__init__(seed, begin, device)
        self.image = device.to_device(image)

    def train(self, step, learning_rate=LEARNING_RATE):
        super().train(step, learning_rate)

    def draw(self, launch):
        positions.launch_random_pixels(
            self.image, self.seed, self.numbers.clock, *self.drawn_batch(), launch
        )

    def paint(self, width, height):
        """The whole picture, (height, width, 3) float32 in (0, 1), at any size."""
        colours = np.empty((width * height, COLOURS), np.float32)
        for first in range(0, width * height, self.painted_at_once):
            count = min(self.painted_at_once, width * height - first)
            colours[first : first + count] = self.paint_pixels(first, width, height)[:count]
        return colours.reshape(height, width, COLOURS)


class Siren(PictureLearner):
    """A network in training on a picture, as `PictureLearner`.

    omega: of all layers after the first. stages: in the place of ours.
    """

    painted_at_once = PAINTED_AT_ONCE

    def __init__(self, image, seed, batch, device, omega=OMEGA, stages=None):
        self.stages = stages or Stages()
        self.shapes = layer_shapes()
        begin = initial_parameters(seed, self.shapes, omega, self.stages.initial_layer)
        super().__init__(image, seed, begin, device)
        self.network = layers_of(self.parameters, self.gradients, self.shapes, omega)
        self.batch = new_batch(batch, self.shapes, device.empty)
        self.painting = painting_batch(PAINTED_AT_ONCE, self.shapes, device.empty)

    def drawn_batch(self):
        return self.batch.positions, self.batch.target

    def find_gradients(self, launch):
        launch_forward(self.network, self.batch, self.stages, launch)
        launch_backward(self.network, self.batch, self.stages, launch)

    def loss(self):
        """The mean squared error of the latest batch."""
        squared_errors = self.device.to_host(self.batch.squared_errors)
        return float(squared_errors.mean(dtype=np.float64)) / COLOURS

    def paint_pixels(self, first, width, height):
        batch, launch = self.painting, self.device.launch
        positions.launch_pixel_positions(first, width, height, batch.positions, launch)
        launch_forward(self.network, batch, self.stages, launch)
        return self.device.to_host(batch.colours)
