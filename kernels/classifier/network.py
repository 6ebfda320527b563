"""The network's arrays: parameters in one buffer, and room for what a mini-batch leaves behind.

    parameters (n,)  =  weights_1, bias_1, weights_2, bias_2, one after the other

The idea: all parameters lie in one array, and all gradients in another, in the same order. A layer
is a slice of it: a view, at no cost, of the same memory. So gradient descent is one launch, however
many layers there are. The arrays that a mini-batch fills are cut likewise, if a batch is short.
"""

from typing import Any, NamedTuple

import numpy as np


class Layers(NamedTuple):
    """Views of `Network.parameters`, or of `Network.gradients`; float32, on any device."""

    weights_1: Any  # (inputs, hidden)
    bias_1: Any  # (hidden,)
    weights_2: Any  # (hidden, classes)
    bias_2: Any  # (classes,)


class Network(NamedTuple):
    """All arrays of a network, float32, on whatever device its kernels run; B: the batch size."""

    parameters: Any  # (n,), see `layers_of`
    gradients: Any  # (n,), of the loss summed over the mini-batch; every step writes them anew
    sums: Any  # (B, hidden), images @ weights_1, without the bias
    hidden: Any  # (B, hidden), gelu(sums + bias_1)
    logits: Any  # (B, classes), hidden @ weights_2, without the bias
    probabilities: Any  # (B, classes), softmax(logits + bias_2)
    delta_hidden: Any  # (B, hidden), the loss's slope along sums
    delta: Any  # (B, classes), the loss's slope along logits


def parameter_count(inputs, hidden, classes):
    return (inputs + 1) * hidden + (hidden + 1) * classes


def layers_of(flat, network):
    """The `Layers` that a flat array (n,) holds: `network.parameters`, or its gradients."""
    hidden, classes = network.hidden.shape[1], network.logits.shape[1]
    inputs = (flat.shape[0] - classes * (hidden + 1)) // hidden - 1
    sizes = inputs * hidden, hidden, hidden * classes, classes
    shapes = (inputs, hidden), (hidden,), (hidden, classes), (classes,)
    parts, first = [], 0
    for size, shape in zip(sizes, shapes, strict=True):
        parts.append(flat[first : first + size].reshape(*shape))
        first += size
    return Layers(*parts)


def first_rows(network, rows):
    """The same `Network` with room for `rows` samples: views of the first rows of its arrays."""
    per_sample = [array[:rows] for array in network[2:]]
    return Network(network.parameters, network.gradients, *per_sample)


def initial_parameters(inputs, hidden, classes, seed):
    """Random parameters (n,) float32, a pure function of the seed.

    Weights are uniform in +-sqrt(2 / fan_in) / 2, biases are 0: sums of many inputs then begin
    neither too large nor too small. (After He and others, "Delving deep into rectifiers", 2015.)
    """
    random = np.random.Generator(np.random.Philox(seed))
    parts = []
    for fan_in, units in ((inputs, hidden), (hidden, classes)):
        bound = np.sqrt(2 / fan_in) / 2
        parts += [random.uniform(-bound, bound, fan_in * units), np.zeros(units)]
    return np.concatenate(parts).astype(np.float32)


def new_network(parameters, hidden, classes, batch, to_device=np.array):
    """A `Network` that begins with these parameters (n,), with room for `batch` samples.

    to_device: copies an array to where the kernels run.
    """
    # Not zeros: a kernel that forgets to write must not look right by luck.
    wide, narrow = (np.full((batch, units), np.nan, np.float32) for units in (hidden, classes))
    return Network(
        *(to_device(array) for array in (parameters, np.full_like(parameters, np.nan))),
        *(to_device(array) for array in (wide, wide, narrow, narrow, wide, narrow)),
    )
