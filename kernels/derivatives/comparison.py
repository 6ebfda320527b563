"""Written kernels against those written by hand, and derivatives against finite differences.

    device, sizes  ->  rows of a table

The idea: lesson 7 and `kernels/siren` have backward passes that people wrote. What the machine
writes from a tape has to give the same numbers, but for the rounding of float32: sums are added up
in another order.
"""

import itertools
from typing import NamedTuple

import numpy as np

from kernels.backward import launch_backward
from kernels.config import COLOURS, FEATURES, OUTPUTS
from kernels.derivatives import models
from kernels.derivatives.finite_differences import finite_difference
from kernels.derivatives.learner import WrittenSiren, views_of
from kernels.derivatives.tape import backward_steps
from kernels.derivatives.writer import write
from kernels.derivatives.written import (
    arrays_for,
    derivative_by_names,
    function_called,
    module_of,
    run_backward,
    run_forward,
)
from kernels.encode import launch_encode
from kernels.mlp_forward import launch_mlp_forward
from kernels.siren import network

POINTWISE = "sine", "gelu", "relu", "sigmoid", "square", "product", "difference", "luminance"
POINTS = 10


class Row(NamedTuple):
    """largest: of the gradients written by hand. difference: the largest one to the machine's."""

    network: str
    parameter: str
    numbers: int
    largest: float
    difference: float

    @property
    def relative(self):
        return self.difference / self.largest


def row_of(name, parameter, by_hand, written):
    """The `Row` of two arrays of gradients, of any shape and as many numbers."""
    by_hand, written = np.ravel(by_hand), np.ravel(written)
    difference = float(np.abs(by_hand - written).max())
    return Row(name, parameter, by_hand.size, float(np.abs(by_hand).max()), difference)


def random_arrays(seed, low=-1.0, high=1.0):
    """A function that draws float32 arrays of a shape."""
    generator = np.random.default_rng(seed)
    return lambda *shape: generator.uniform(low, high, shape).astype(np.float32)


# ---------------------------------------------------------------- the lake's network


def compare_lake(device, seed=1, batch=500, hidden=16, layers=2, steps_back=backward_steps):
    """(rows, `Written`): lesson 7's backward pass, and the machine's, on the same batch."""
    random, launch = random_arrays(seed), device.launch
    uv, target = (np.abs(random(batch, columns)) for columns in (2, COLOURS))
    widths = [FEATURES, *[hidden] * layers, OUTPUTS]
    matrices = [
        random(*shape) * np.float32(np.sqrt(3 / shape[0])) for shape in itertools.pairwise(widths)
    ]
    host = {"uv": uv, "target": target, "grid": random(9, 13, 3)}
    by_hand = lake_by_hand(device, host, matrices)

    model = models.lake(layers)
    plan = steps_back(list(model.tape), "loss", model.parameters)
    written = write("The lake's network", model.tape, "loss", model.parameters, plan=plan)
    module = module_of(written, "lake written by a machine")
    given = {name: device.to_device(array) for name, array in host.items()}
    # Of the sixteen outputs of the last layer three are colours.
    matrices[-1] = np.ascontiguousarray(matrices[-1][:, :COLOURS])
    for layer, matrix in enumerate(matrices, 1):
        given[f"weights_{layer}"] = device.to_device(matrix)
    for name in model.parameters:
        given[f"grad_{name}"] = device.to_device(np.zeros(given[name].shape, np.float32))
    arrays = arrays_for(model.tape, written, given, device.empty)
    run_forward(module, written, arrays, launch)
    run_backward(module, written, arrays, 1 / (batch * COLOURS), launch)
    rows = [
        row_of("lake", name, by_hand[name], device.to_host(arrays[f"grad_{name}"]))
        for name in model.parameters
    ]
    return rows, written


def lake_by_hand(device, host, matrices):
    """parameter -> its gradient, by the kernels of lessons 4, 6 and 7."""
    launch, batch = device.launch, len(host["uv"])
    given = {name: device.to_device(array) for name, array in host.items()}
    weights = np.concatenate([matrix.ravel() for matrix in matrices])
    on_device = device.to_device(weights)
    features, outputs = device.empty((batch, FEATURES)), device.empty((batch, OUTPUTS))
    hidden = device.empty((len(matrices) - 1, batch, matrices[0].shape[1]))
    launch_encode(given["uv"], given["grid"], features, launch)
    launch_mlp_forward(features, on_device, hidden, outputs, launch)
    shapes = weights.shape, host["grid"].shape, (1,)
    found = [device.to_device(np.zeros(shape, np.float32)) for shape in shapes]
    launch_backward(
        given["uv"], features, hidden, outputs, given["target"], on_device, *found, launch=launch
    )
    grad_weights, grad_grid = (device.to_host(array) for array in found[:2])
    ends = np.cumsum([matrix.size for matrix in matrices])[:-1]
    gradients = {"grid": grad_grid}
    for layer, part in enumerate(np.split(grad_weights, ends), 1):
        matrix = part.reshape(matrices[layer - 1].shape)
        gradients[f"weights_{layer}"] = matrix[:, :COLOURS] if layer == len(matrices) else matrix
    return gradients


# ---------------------------------------------------------------- a SIREN


def compare_siren(
    device, image, seed=1, batch=500, width=32, layers=3, steps_back=backward_steps,
    kind=WrittenSiren,
):  # fmt: skip
    """(rows, learner): the backward pass of `kernels/siren`, and that of a `kind` of learner."""
    learner = kind(image, seed, batch, device, width, layers, steps_back=steps_back)
    random = random_arrays(seed)
    positions, target = random(batch, 2), np.abs(random(batch, COLOURS))
    learner.arrays["positions"] = device.to_device(positions)
    learner.arrays["target"] = device.to_device(target)
    learner.find_gradients(device.launch)

    shapes = network.layer_shapes(width, layers)
    gradients = device.to_device(np.zeros(learner.parameters.shape, np.float32))
    by_hand = network.layers_of(learner.parameters, gradients, shapes)
    steps = network.new_batch(batch, shapes, device.empty)._replace(
        positions=device.to_device(positions), target=device.to_device(target)
    )
    network.launch_forward(by_hand, steps, launch=device.launch)
    network.launch_backward(by_hand, steps, launch=device.launch)
    ours = views_of(device.to_host(gradients), shapes, "")
    theirs = views_of(device.to_host(learner.gradients), shapes, "")
    return [row_of("siren", name, ours[name], theirs[name]) for name in ours], learner


class Slope(NamedTuple):
    """A parameter of the network, its gradient, and the slope of the loss there."""

    number: int
    gradient: float
    slope: float


def slopes_of_the_loss(learner, count=POINTS, step=2e-3):
    """Finite differences of the whole network's loss along some parameters, the steepest of many.

    learner: a `WrittenSiren` whose gradients were just found. Its parameters are as before.
    """
    device = learner.device
    gradients = device.to_host(learner.gradients)
    parameters = device.to_host(learner.parameters)
    chosen = np.random.default_rng(learner.seed).choice(parameters.size, 8 * count, replace=False)
    steepest = sorted(chosen[np.argsort(-np.abs(gradients[chosen]))][:count].tolist())
    found = []
    for number in steepest:
        losses = []
        for moved in (step, -step):
            changed = parameters.copy()
            changed[number] += np.float32(moved)
            learner.set_parameters(changed)
            run_forward(learner.module, learner.written, learner.arrays, device.launch)
            losses.append(learner.loss())
        slope = (losses[0] - losses[1]) / (2 * step)
        found.append(Slope(number, float(gradients[number]), slope))
    learner.set_parameters(parameters)
    return found


# ---------------------------------------------------------------- single functions


def candidates(seed=1):
    """(name, function, derivative, points) of each function of `POINTWISE`, as registered."""
    generator = np.random.default_rng(seed)
    found = []
    for name in POINTWISE:
        function, parameters = function_called(name)
        points = generator.uniform(0.1, 3, (POINTS, len(parameters)))
        points *= generator.choice([-1, 1], points.shape)  # not at the corner of ReLU
        inputs = [tuple(map(np.float32, point)) for point in points]
        found.append((name, function, derivative_by_names(name), inputs))
    return found


def largest_error(function, derivative, points):
    """How far a derivative is from finite differences, at the worst of some points."""
    errors = []
    for inputs in points:
        found = np.ravel(derivative(*inputs, np.float32(1)))
        slopes = [finite_difference(function, inputs, i) for i in range(len(inputs))]
        errors.append(np.abs(found - slopes).max())
    return float(max(errors))
