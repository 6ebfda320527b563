"""A network of convolutions that reads digits: which arrays there are, and a step of learning.

    images (B, S, S, 1)  ->  8 channels, pooled  ->  16 channels, pooled  ->  10 numbers, softmax

The idea: the last layer is a convolution, too. Its filters are as large as what is left of the
picture, so they have one place, and no margin: each of ten filters makes one number. All layers are
one loop forward, and one back. ReLU is in the pooling, where the race begins at 0.

Source: LeCun, Bottou, Bengio, Haffner, "Gradient-based learning applied to document recognition",
1998.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kernels.classifier.sgd import launch_sgd
from kernels.classifier.softmax import launch_softmax_cross_entropy
from kernels.neighbours.gradients import (
    chunks_of,
    launch_add_parts,
    launch_filter_gradients,
    launch_image_gradients,
)
from kernels.neighbours.pool import WINDOW, launch_max_pool, launch_unpool
from kernels.neighbours.product import launch_convolve_as_product

WIDTHS = 8, 16  # channels after the first and the second layer
SIDE = 3  # places of their filters each way, with a padding of 1


class Stages(NamedTuple):
    """One launch function per stage; a lesson puts a student's in the place of these."""

    convolve: Callable[..., None] = launch_convolve_as_product
    max_pool: Callable[..., None] = launch_max_pool
    unpool: Callable[..., None] = launch_unpool
    image_gradients: Callable[..., None] = launch_image_gradients
    filter_gradients: Callable[..., None] = launch_filter_gradients


class Layer(NamedTuple):
    """One convolution of a mini-batch; float32 unless said otherwise."""

    padding: int
    filters: Any  # (K, K, C, F), and
    bias: Any  # (F,): views of the network's parameters
    gradients: Any  # flat, of both: a view of the network's gradients
    parts: Any  # (chunks, K * K * C + 1, F)
    images_back: Any  # (B, H, W, C), the gradient of what came in
    out: Any  # (B, rows, columns, F)
    deltas: Any  # as out: its gradient
    pooled: Any  # (B, rows // 2, columns // 2, F); none in the last layer
    winners: Any  # int32, as pooled


class Network(NamedTuple):
    parameters: Any  # (n,): filters, bias, filters, bias, ...
    gradients: Any  # (n,), of the loss summed over the mini-batch
    layers: tuple[Layer, ...]
    no_bias: Any  # (classes,) zeros: the last convolution has added its own
    probabilities: Any  # (B, classes)


def shapes_of(pixels, classes):
    """The shapes of the filters, for images of pixels x pixels and one channel."""
    left = pixels // WINDOW // WINDOW
    first, second = WIDTHS
    return (SIDE, SIDE, 1, first), (SIDE, SIDE, first, second), (left, left, second, classes)


def initial_parameters(shapes, seed):
    """Random parameters (n,) float32, a pure function of the seed; after He and others, 2015."""
    random = np.random.Generator(np.random.Philox(seed))
    numbers = []
    for shape in shapes:
        bound = np.sqrt((3 if shape is shapes[-1] else 6) / np.prod(shape[:3]))
        numbers += [random.uniform(-bound, bound, shape).ravel(), np.zeros(shape[3])]
    return np.concatenate(numbers).astype(np.float32)


def new_network(parameters, shapes, pixels, batch, to_device=np.array):
    """A `Network` for mini-batches of up to `batch` images of pixels x pixels."""
    parameters, gradients = to_device(parameters), to_device(np.full_like(parameters, np.nan))

    def room(*shape, dtype=np.float32):
        # Not zeros: a kernel that forgets to write must not look right by luck.
        return to_device(np.full(shape, np.nan if dtype == np.float32 else -9, dtype))

    layers, first = [], 0
    for shape in shapes:
        side, _, channels, number = shape
        last = shape is shapes[-1]
        size, after = int(np.prod(shape)), first + int(np.prod(shape)) + number
        places = 1 if last else pixels
        wide = batch, places, places, number
        pooled = wide if last else (batch, pixels // WINDOW, pixels // WINDOW, number)
        layers.append(
            Layer(
                0 if last else SIDE // 2,
                parameters[first : first + size].reshape(*shape),
                parameters[first + size : after],
                gradients[first:after],
                room(chunks_of(*wide[:3]), side * side * channels + 1, number),
                room(batch, pixels, pixels, channels),
                room(*wide),
                room(*wide),
                room(*pooled),
                room(*pooled, dtype=np.int32),
            )
        )
        first, pixels = after, pixels // WINDOW
    classes = shapes[-1][3]
    no_bias = to_device(np.zeros(classes, np.float32))
    return Network(parameters, gradients, tuple(layers), no_bias, room(batch, classes))


def first_images(network, count):
    """The same `Network` for `count` images: views of the first rows of its arrays."""
    layers = []
    for layer in network.layers:
        chunks = chunks_of(count, *layer.out.shape[1:3])
        per_image = [array[:count] for array in layer[5:]]
        layers.append(Layer(*layer[:4], layer.parts[:chunks], *per_image))
    return network._replace(layers=tuple(layers), probabilities=network.probabilities[:count])


def classify(stages, images, labels, losses, network, launch):
    """What the network says of each image, and how wrong it is.

    images (B, S, S, 1) float32, labels (B,) int32. Fills losses (B,), the network's probabilities,
    and what lies in between; of the last layer the deltas, too.
    """
    for layer in network.layers:
        stages.convolve(
            images, layer.filters, layer.bias, 1, layer.padding, layer.out, launch=launch
        )
        if layer is not network.layers[-1]:
            stages.max_pool(layer.out, 0.0, layer.pooled, layer.winners, launch=launch)
            images = layer.pooled
    last, count, classes = network.layers[-1], *network.probabilities.shape
    launch_softmax_cross_entropy(
        last.out.reshape(count, classes), network.no_bias, labels, network.probabilities,
        last.deltas.reshape(count, classes), losses, launch=launch,
    )  # fmt: skip


def training_step(stages, images, labels, losses, network, learning_rate, launch):
    """As `classify`; then fills the network's gradients, and changes its parameters."""
    classify(stages, images, labels, losses, network, launch)
    deltas = network.layers[-1].deltas
    for number in range(len(network.layers) - 1, -1, -1):
        layer = network.layers[number]
        before = network.layers[number - 1].pooled if number else images
        if layer is not network.layers[-1]:
            stages.unpool(deltas, layer.winners, layer.deltas, launch=launch)
        stages.filter_gradients(
            before, layer.deltas, layer.filters.shape[0], 1, layer.padding, layer.parts,
            launch=launch,
        )  # fmt: skip
        launch_add_parts(layer.parts, layer.gradients, launch)
        if number:
            stages.image_gradients(
                layer.deltas, layer.filters, 1, layer.padding, layer.images_back, launch=launch
            )
            deltas = layer.images_back
    launch_sgd(network.parameters, network.gradients, learning_rate, launch=launch)


def train_epoch(stages, images, labels, losses, network, batch, learning_rate, launch):
    """One training step for each mini-batch: every image once, in order."""
    for start in range(0, images.shape[0], batch):
        these = [array[start : start + batch] for array in (images, labels, losses)]
        of_these = first_images(network, these[0].shape[0])
        training_step(stages, *these, of_these, learning_rate, launch)
