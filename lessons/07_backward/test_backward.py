"""Checks of lesson 7: gradients, against float64.

Most batches need several blocks, and leave whole threads of the last one without a sample: an
addition that is not atomic, or a thread that leaves, shows in every check.
"""

import itertools
from typing import NamedTuple

import numpy as np

from lessons import reference
from lessons.grading.judge.case import check
from lessons.reference import warm_ups as reference_warm_ups

GRID_SHAPE = 5, 7, 3
BLOCK_SAMPLES = 64
THREADS = "grid", 2, (16, 16)  # of `relu_backward`: one per element
# Samples, units. The first has more blocks down than across: whoever takes x for the sample does
# not reach all.
FOR_RELU_BACKWARD = (40, 17), (64, 16), (33, 40), (1, 1), (19, 5)
# Samples. With 69, to leave out the last block would be the same as to take the first one only.
FOR_WEIGHT_GRADIENTS = 64, 133, 1, 200
# Samples, units of a hidden layer, hidden layers. In the second block of 69 samples, rows 5 to 15
# have no sample at all.
FOR_LOSS = (64, 16, 3), (133, 16, 3)  # what is added once per layer is four times the loss
LAST_LAYER = (64, 16, 2), (69, 16, 2)
ALL_LAYERS = (64, 16, 2), (69, 32, 2), (33, 16, 4), (20, 64, 1)
# Two layers first: with one, totals that go on leave what a scatter in each layer leaves.
FOR_GRID = (64, 16, 2), (69, 16, 1), (20, 32, 1)
# One sample less than two blocks have: with both full, some mistakes leave the same.
COUNTED, COUNTED_BLOCKS = (2 * BLOCK_SAMPLES - 1, 32, 1), 2
MANY_BLOCKS, LARGE, SMALL = (150, 16, 2), (2003, 32, 2), (90, 32, 2)
ALREADY = np.float32(2.0**-12)  # in each gradient before; small, so that no digits are lost

ALLOWED_FETCHES = 2.2  # of each activation and delta from global memory, where one is enough
ALLOWED_ATOMICS = 4.5  # to each weight per 64 samples: blocks of 16 samples would do, too
ALLOWED_LOSS_ATOMICS = 16  # per 64 samples, where one is enough


@check("relu_backward")
def test_relu_backward(case):
    for shape in FOR_RELU_BACKWARD:
        counts, activations = relu_backward(case, shape)
        case.require_many_threads(counts, activations)


@check("add_weight_gradients")
def test_add_weight_gradients(case):
    for batch in FOR_WEIGHT_GRADIENTS:
        counts, activations, deltas, grad_weights = add_weight_gradients(case, batch)
    expect_one_addition(case, counts, grad_weights, blocks=-(-batch // BLOCK_SAMPLES))
    case.require_many_threads(counts, grad_weights)
    for name, array in (("activation", activations), ("delta", deltas)):
        fetched = counts.of(array).reads / array.size
        case.budget(
            f"reads of each {name} from global memory",
            yours=fetched,
            ours=1,
            allowed=ALLOWED_FETCHES,
            diagnosis="read again and again",
            sentence=f"each {name} is read {fetched:.0f} times from global memory, for other "
            "weights of the same block. Fetch those of the block's 64 samples into shared memory "
            "first.",
            line=counts.busiest_line("reads", array),
        )


@check("loss")
def test_loss(case):
    for sizes in FOR_LOSS:
        net = network(case, *sizes)
        _, _, loss_sum = run(case, net)
        expect_near(case, loss_sum, net.right.loss, "loss_sum")


@check("last_layer")
def test_last_layer(case):
    for sizes in LAST_LAYER:
        net = network(case, *sizes)
        grad_weights, _, _ = run_in_blocks(case, net)
        last = slice(-16 * 16, None)
        expect_near(case, grad_weights.array[last], net.right.grad_weights[last], "grad_weights")


@check("all_layers")
def test_all_layers(case):
    for sizes in ALL_LAYERS:
        net = network(case, *sizes)
        grad_weights, _, _ = run_in_blocks(case, net)
        expect_near(case, grad_weights, net.right.grad_weights, "grad_weights")


@check("grid")
def test_grid(case):
    for sizes in FOR_GRID:
        net = network(case, *sizes)
        _, grad_grid, _ = run_in_blocks(case, net)
        expect_near(case, grad_grid, net.right.grad_feature_grid, "grad_feature_grid")


@check("few_atomics")
def test_few_atomics(case):
    counts, _, _, grad_weights = add_weight_gradients(case, BLOCK_SAMPLES)
    expect_one_addition(case, counts, grad_weights, blocks=1)
    net = network(case, *COUNTED)
    counts, (grad_weights, _, loss_sum) = measure(case, net)
    expect_near(case, grad_weights, net.right.grad_weights, "grad_weights")
    expect_near(case, loss_sum, net.right.loss, "loss_sum")
    expect_one_addition(case, counts, grad_weights, COUNTED_BLOCKS)
    per_block = counts.of(loss_sum).atomics / COUNTED_BLOCKS
    case.budget(
        "additions to the loss per 64 samples",
        yours=per_block,
        ours=1,
        allowed=ALLOWED_LOSS_ATOMICS,
        diagnosis="too many atomics",
        sentence=f"the loss gets {per_block:.0f} atomic additions per 64 samples, and they queue "
        "up. Add up in the block first (a tree reduction), and make one.",
        line=counts.busiest_line("atomics", loss_sum),
    )


@check("float32")
def test_float32(case):
    relu_backward(case, (20, 16))
    add_weight_gradients(case, 20)
    net = network(case, 20, 16, 1)
    expect_all_gradients(case, net, run(case, net))


@check("many_blocks")
def test_many_blocks(case):
    for sizes, engine in ((MANY_BLOCKS, None), (case.size(large=LARGE, small=SMALL), "large")):
        net = network(case, *sizes)
        outputs = run(case, net, ALREADY, engine)
        expect_all_gradients(case, net, [output.array - ALREADY for output in outputs])
    run_in_blocks(case, network(case, *LAST_LAYER[0]))


def relu_backward(case, shape):
    """(counts, its output) after that kernel, of random numbers."""
    gradients = case.random(shape, -1, 1)
    # As behind a ReLU: half of them are exactly zero, and some are tiny.
    before = np.maximum(case.random(shape, -1, 1), 0)
    before.flat[::7] *= np.float32(2.0**-60)
    activations = case.output(shape, initial=before)
    counts = case.measure("launch_relu_backward", gradients, activations)
    expected = reference_warm_ups.relu_backward(gradients, before)
    case.expect(activations, expected, "activations", threads=THREADS)
    return counts, activations


def add_weight_gradients(case, batch):
    activations, deltas = case.random((batch, 16), -1, 1), case.random((batch, 16), -1, 1)
    before = case.random((16, 16), 1, 2)
    grad_weights = case.output((16, 16), initial=before)
    counts = case.measure("launch_add_weight_gradients", activations, deltas, grad_weights)
    expected = before + reference_warm_ups.add_weight_gradients(activations, deltas)
    case.expect(grad_weights, expected, "grad_weights")
    return counts, activations, deltas, grad_weights


class Network(NamedTuple):
    inputs: tuple  # of the kernel
    right: reference.Gradients


def network(case, batch, width, layers):
    """A random network and what its forward pass has left, in float32."""
    uv, grid = case.random((batch, 2)), case.random(GRID_SHAPE, -1, 1)
    sizes = itertools.pairwise([16, *[width] * layers, 16])
    weights = [case.random(a * b, -1, 1) * np.sqrt(6 / (a + b)) for a, b in sizes]
    weights = np.concatenate(weights).astype(np.float32)
    matrices = reference.split_weights(weights, width, layers)
    features = reference.encode(uv, grid)
    outputs, activations = reference.mlp_forward(features, matrices)
    target = case.random((batch, 3))
    forward = features, np.stack(activations[1:]), outputs
    forward = (np.ascontiguousarray(array, np.float32) for array in forward)
    return Network((uv, *forward, target, weights), reference.backward(uv, grid, matrices, target))


def run(case, net, already=0.0, engine=None):
    """(grad_weights, grad_feature_grid, loss_sum) after the student's kernel."""
    outputs = outputs_of(case, net, already)
    case.run("launch_backward", *net.inputs, *outputs, engine=engine)
    return outputs


def measure(case, net):
    """(counts, as `run`)."""
    outputs = outputs_of(case, net)
    return case.measure("launch_backward", *net.inputs, *outputs), outputs


def outputs_of(case, net, already=0.0):
    shapes = net.right.grad_weights.shape, GRID_SHAPE, (1,)
    return tuple(case.output(shape, initial=np.full(shape, already)) for shape in shapes)


def run_in_blocks(case, net):
    """As `run`; ends the check if each sample adds to the weights by itself."""
    counts, outputs = measure(case, net)
    batch = len(net.inputs[0])
    samples = min(batch, BLOCK_SAMPLES)
    if samples < BLOCK_SAMPLES / 2:
        return outputs
    times = additions_per_block(counts, outputs[0], -(-batch // BLOCK_SAMPLES))
    case.keep_within(
        "atomic additions to each weight per block",
        yours=times,
        ours=1,
        allowed=samples / 2 - 0.5,
        diagnosis="an atomic per sample",
        sentence=f"each weight gets {times:.0f} atomic additions per block, which has {samples} "
        "samples. In a block a weight has one thread, which adds up the products of all samples, "
        "and makes one addition.",
    )
    case.require_many_threads(counts, outputs[0])
    return outputs


def expect_one_addition(case, counts, grad_weights, blocks):
    per_weight = additions_per_block(counts, grad_weights, blocks)
    case.budget(
        "additions to each weight's gradient per 64 samples",
        yours=per_weight,
        ours=1,
        allowed=ALLOWED_ATOMICS,
        diagnosis="too many atomics",
        sentence=f"each weight's gradient gets {per_weight:.0f} atomic additions per 64 samples, "
        "and they queue up. Add up in the block first: each thread takes one weight, goes over all "
        "samples of the block in shared memory, and adds once.",
        line=counts.busiest_line("atomics", grad_weights),
    )


def additions_per_block(counts, grad_weights, blocks):
    return counts.of(grad_weights).atomics / grad_weights.array.size / blocks


def expect_all_gradients(case, net, got):
    grad_weights, grad_grid, loss_sum = got
    expect_near(case, loss_sum, net.right.loss, "loss_sum")
    expect_near(case, grad_weights, net.right.grad_weights, "grad_weights")
    expect_near(case, grad_grid, net.right.grad_feature_grid, "grad_feature_grid")


def expect_near(case, got, expected, name):
    """As `case.expect`, but gradients are small: the tolerance is that of the largest one."""
    expected = np.atleast_1d(expected)
    case.expect(got, expected, name, tolerance=case.check.tolerance * np.abs(expected).max())
