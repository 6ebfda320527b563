"""Checks of lesson 14. Gradients are compared with float64.

Most pictures have cells that are not full: 16 x 16 threads, of which some have no pixel.
"""

import itertools
from typing import NamedTuple

import numpy as np

from lessons.grading.judge.case import check
from lessons.reference import inline as reference

CELL, CHANNELS, UNITS, LAYERS = 16, 14, 16, 3
WEIGHTS_SHAPE = LAYERS, UNITS + 1, UNITS
PER_CELL = 4 * CHANNELS  # sums
PER_LAYER = (UNITS + 1) * UNITS  # weights and biases
# (height, width) of pictures:
FULL = 16, 16
RAGGED = 19, 37  # two rows and three columns of cells, the last of each nearly empty
TINY = 1, 3
ONE_PART = 5, 18
SIX_CELLS, FOUR_CELLS = (32, 48), (32, 32)
LARGE = 150, 201
ALREADY = 2.0**-10  # what gradients and loss hold before: small, so that no digits are lost
# Allowed per cell, which is a block:
ADDITIONS = 4 * PER_CELL  # four groups of threads with a part of the pixels each
SHARED_ATOMICS = 8  # per sum: one per warp is no queue
SHARED_REQUESTS = 8000  # a thread alone needs 28,672
LOSS_ADDITIONS = 16


@check("corners")
def test_corners(case):
    # More than one cell: in a single one, exchanged axes of the grid look like exchanged shares.
    for height, width in ((20, 20), RAGGED):
        # Three features at a time are looked at: all that is blended, and both places.
        for shown in ((3, 14, 15), (0, 1, 2), (13, 7, 10)):
            grid = case.random(reference.grid_shape(height, width), 0.1, 1)
            paint(case, grid, showing(case, shown), height, width)


@check("layers")
def test_layers(case):
    for height, width in (FULL, RAGGED, TINY):
        net = network(case, height, width)
        paint(case, net.grid, net.weights, height, width)


@check("scatter")
def test_scatter(case):
    for launch in ("launch_scatter_direct", "launch_scatter_block"):
        for height, width in (FULL, RAGGED, TINY):
            scatter(case, launch, height, width)


@check("few_additions")
def test_few_additions(case):
    grad_grid, counted = scatter(case, "launch_scatter_block", *SIX_CELLS)
    case.budget(
        "additions to grad_grid per cell of 256 pixels",
        yours=counted.of(grad_grid).atomics / 6,
        ours=PER_CELL,
        allowed=ADDITIONS,
        diagnosis="added pixel by pixel",
        sentence="the pixels of a block all belong to one cell: sum up over them in the block "
        "first, and then add each of the 56 sums to global memory, once.",
        line=counted.busiest_line("atomics", grad_grid),
    )
    no_queue(case, counted, 6, "cell", PER_CELL)
    case.budget(
        "requests for shared memory per cell",
        yours=counted.shared().shared_requests / 6,
        ours=18 * 8 + 2 * 2 * CELL * CELL,
        allowed=SHARED_REQUESTS,
        diagnosis="one thread adds up",
        sentence="a few threads add up all 56 sums, and the others wait: let 56 threads own one "
        "each.",
    )


@check("weights")
def test_weights(case):
    for height, width in (FULL, RAGGED):
        net = network(case, height, width)
        expect_gradients(case, net, learn(case, net), ("loss_sum", "grad_weights"))


@check("grid")
def test_grid(case):
    for height, width in (FULL, RAGGED):
        net = network(case, height, width)
        expect_gradients(case, net, learn(case, net), ("grad_grid",))


@check("few_atomics")
def test_few_atomics(case):
    net = network(case, *FOUR_CELLS)
    blocks = 4
    arrays = arrays_for(case, net)
    counted = case.measure("launch_learn", *net, *arrays.values())
    expect_gradients(case, net, arrays)
    of_weights = 2 * PER_LAYER + (UNITS + 1) * 3  # the last layer has three units
    for name, ours, allowed in (
        ("grad_weights", of_weights, 4 * LAYERS * PER_LAYER),
        ("grad_grid", PER_CELL, ADDITIONS),
        ("loss_sum", 1, LOSS_ADDITIONS),
    ):
        case.budget(
            f"additions to {name} per block of 256 pixels",
            yours=counted.of(arrays[name]).atomics / blocks,
            ours=ours,
            allowed=allowed,
            diagnosis="added pixel by pixel",
            sentence=f"the pixels of a block add to {name} one by one. Sum up over them first, in "
            "shared memory; then one addition per value and block is enough.",
            line=counted.busiest_line("atomics", arrays[name]),
        )
    no_queue(case, counted, blocks, "block", PER_CELL + LAYERS * PER_LAYER)


def no_queue(case, counted, blocks, block, sums):
    case.budget(
        f"atomic additions in shared memory per {block}",
        yours=counted.shared().atomics / blocks,
        ours=0,
        allowed=SHARED_ATOMICS * sums,
        diagnosis="a queue in shared memory",
        sentence="the pixels of a block add to shared memory atomically, and wait for each other "
        "there. Let a thread own a sum: it reads the products of all pixels, and adds them up.",
    )


@check("float32")
def test_float32(case):
    net = network(case, *ONE_PART)
    paint(case, net.grid, net.weights, *ONE_PART)
    for launch in ("launch_scatter_direct", "launch_scatter_block"):
        scatter(case, launch, *ONE_PART)
    expect_gradients(case, net, learn(case, net))


@check("large")
def test_large(case):
    height, width = case.size(large=LARGE, small=(33, 18))
    net = network(case, height, width)
    paint(case, net.grid, net.weights, height, width, engine="large")
    expect_gradients(case, net, learn(case, net, engine="large"))


# ---------------------------------------------------------------- running


def paint(case, grid, weights, height, width, engine=None):
    picture = case.output((height, width, 3))
    case.run("launch_paint", grid, weights, picture, engine=engine)
    case.expect(picture, reference.paint(grid, weights, height, width), "picture")


def scatter(case, launch, height, width):
    """Returns (grad_grid, how often the kernel has touched it)."""
    gradient = case.random((height, width, CHANNELS), -1, 1)
    shape = reference.grid_shape(height, width)
    before = case.random(shape, 1, 2)
    grad_grid = case.output(shape, initial=before)
    counted = case.measure(launch, gradient, grad_grid)
    case.expect(grad_grid, before + reference.scatter(gradient, shape), "grad_grid")
    return grad_grid, counted


def learn(case, net, engine=None):
    arrays = arrays_for(case, net)
    case.run("launch_learn", *net, *arrays.values(), engine=engine)
    return arrays


def arrays_for(case, net):
    """name -> Output: gradients and loss, and what is there before."""
    shapes = {"grad_grid": net.grid.shape, "grad_weights": WEIGHTS_SHAPE, "loss_sum": (1,)}
    return {
        name: case.output(shape, initial=np.full(shape, ALREADY)) for name, shape in shapes.items()
    }


def expect_gradients(case, net, arrays, names=("loss_sum", "grad_weights", "grad_grid")):
    """Compare what was added to `arrays`."""
    right = reference.backward(*net)
    loss, weights, grid = np.array([right.loss]), right.grad_weights, right.grad_grid
    for name, expected in (("loss_sum", loss), ("grad_weights", weights), ("grad_grid", grid)):
        if name not in names:
            continue
        tolerance = case.check.tolerance * np.abs(expected).max() + 1e-9
        case.expect(arrays[name].array - ALREADY, expected, name, tolerance=tolerance)


# ---------------------------------------------------------------- inputs


class Network(NamedTuple):
    image: np.ndarray
    grid: np.ndarray
    weights: np.ndarray


def network(case, height, width):
    """A random picture and network, in which about half of the units are active."""
    matrices = np.eye(UNITS) + case.random((LAYERS, UNITS, UNITS), -0.3, 0.3)
    biases = case.random((LAYERS, 1, UNITS), -0.3, 0.4)
    # All three colours have to be active somewhere, also in a picture of one pixel.
    biases[-1] += 0.5
    weights = np.concatenate([matrices, biases], axis=1).astype(np.float32)
    grid = case.random(reference.grid_shape(height, width), -1, 1)
    if height * width >= CELL * CELL:
        let_some_be_negative(weights, grid, height, width)
    return Network(case.photo((height, width, 3)), grid, weights)


def let_some_be_negative(weights, grid, height, width):
    """Change the last biases so that about a third of each colour is below zero before its ReLU.

    Zero lies in the widest gap there, so that rounding decides of no pixel.
    """
    hidden = reference.forward(grid, weights, height, width)[-2]
    sums = hidden @ weights[-1, :UNITS].astype(np.float64) + weights[-1, UNITS]
    ranked = np.sort(sums.reshape(-1, UNITS), axis=0)
    about_a_third = ranked[len(ranked) // 4 : len(ranked) * 2 // 5]
    gaps = np.diff(about_a_third, axis=0).argmax(axis=0), np.arange(UNITS)
    middle = about_a_third[gaps] + np.diff(about_a_third, axis=0)[gaps] / 2
    weights[-1, UNITS] -= middle.astype(np.float32)


def showing(case, shown):
    """Weights with which these three features become the colours, as they are.

    They take a way that nothing else takes, so that a wrong layer shows other numbers.
    """
    weights = case.random(WEIGHTS_SHAPE, 0.1, 1)
    weights[:, UNITS] = 0
    for colour, feature in enumerate(shown):
        way = feature, colour, 5 + colour, colour
        for layer, (k, unit) in enumerate(itertools.pairwise(way)):
            weights[layer, :, unit] = 0
            weights[layer, k, unit] = 1
    return weights
