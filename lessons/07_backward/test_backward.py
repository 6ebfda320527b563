"""Checks of lesson 7. Gradients are compared with float64, and with what forgotten terms give.

Most batches need several blocks, and leave whole threads of the last one without a sample: an
addition that is not atomic, or a thread that leaves, shows in every check.
"""

import itertools
from typing import NamedTuple

import numpy as np

from lessons import reference
from lessons.grading.case import check
from lessons.grading.mistakes import Left, Mistake, expect_all

GRID_SHAPE = 5, 7, 3
BLOCK_SAMPLES = 64
RAGGED = 69  # two blocks; in the second, rows 5 to 15 have no sample at all


@check("loss")
def test_loss(case):
    for batch in (64, 133):
        net = network(case, batch=batch, hidden=16, layers=1)
        _, _, loss_sum = run(case, net)
        expect_loss(case, net, loss_sum)


@check("last_layer")
def test_last_layer(case):
    for batch in (64, RAGGED):
        net = network(case, batch, hidden=16, layers=2)
        grad_weights, _, _ = run_in_blocks(case, net)
        compare_weights(case, net, grad_weights.array, np.s_[-16 * 16 :])


@check("all_layers")
def test_all_layers(case):
    for batch, hidden, layers in ((64, 16, 2), (RAGGED, 32, 1), (33, 16, 4), (20, 64, 1)):
        net = network(case, batch, hidden, layers)
        grad_weights, _, _ = run_in_blocks(case, net)
        compare_weights(case, net, grad_weights.array, np.s_[:])


@check("grid")
def test_grid(case):
    for batch in (64, RAGGED):
        net = network(case, batch, hidden=16, layers=1)
        _, grad_grid, _ = run_in_blocks(case, net)
        compare_grid(case, net, grad_grid.array)


@check("few_atomics")
def test_few_atomics(case):
    net = network(case, 2 * BLOCK_SAMPLES, hidden=32, layers=1)
    counts, arrays = measure(case, net)
    grad_weights, _, loss_sum = arrays
    compare_weights(case, net, grad_weights.array, np.s_[:])
    expect_loss(case, net, loss_sum)
    blocks = 2
    per_weight = additions(counts, grad_weights) / grad_weights.array.size / blocks
    case.budget(
        "additions to each weight's gradient per 64 samples",
        yours=per_weight,
        ours=1,
        # Blocks of 16 samples would do, too.
        allowed=4.5,
        diagnosis="too many atomics",
        sentence=f"each weight's gradient gets {per_weight:.0f} atomic additions per 64 samples, "
        "and they queue up. Add up in the block first, and make one for all of its samples.",
        line=counts.busiest_line("atomics", grad_weights),
    )
    per_block = additions(counts, loss_sum) / blocks
    case.budget(
        "additions to the loss per 64 samples",
        yours=per_block,
        ours=1,
        allowed=16,
        diagnosis="too many atomics",
        sentence=f"the loss gets {per_block:.0f} atomic additions per 64 samples, and they queue "
        "up. Add up in the block first (a tree reduction), and make one.",
        line=counts.busiest_line("atomics", loss_sum),
    )


@check("float32")
def test_float32(case):
    net = network(case, batch=20, hidden=16, layers=1)
    grad_weights, grad_grid, loss_sum = run(case, net)
    expect_loss(case, net, loss_sum)
    compare_weights(case, net, grad_weights.array, np.s_[:])
    compare_grid(case, net, grad_grid.array)


@check("many_blocks")
def test_many_blocks(case):
    already = np.float32(2.0**-12)  # what is there before; small, so that no digits are lost
    large = case.size(native=2003, checked=90)
    for batch, hidden, engine in ((150, 16, None), (large, 32, "native")):
        net = network(case, batch, hidden, layers=2)
        grad_weights, grad_grid, loss_sum = run(case, net, already, engine)
        expect_loss(case, net, loss_sum, already)
        compare_weights(case, net, grad_weights.array - already, np.s_[:])
        compare_grid(case, net, grad_grid.array - already)


# ---------------------------------------------------------------- inputs


class Network(NamedTuple):
    uv: np.ndarray
    grid: np.ndarray
    weights: np.ndarray
    matrices: list  # float64
    target: np.ndarray
    features: np.ndarray
    hidden: np.ndarray
    outputs: np.ndarray


def network(case, batch, hidden, layers):
    """A random network and what its forward pass has left, in float32."""
    uv, grid = case.random((batch, 2)), case.random(GRID_SHAPE, -1, 1)
    widths = [16, *[hidden] * layers, 16]
    weights = np.concatenate(
        [case.random(a * b, -1, 1) * np.sqrt(6 / (a + b)) for a, b in itertools.pairwise(widths)]
    ).astype(np.float32)
    matrices = reference.split_weights(weights, hidden, layers)
    features = reference.encode(uv, grid)
    outputs, activations = reference.mlp_forward(features, matrices)
    hidden_activations = np.stack(activations[1:])
    target = case.random((batch, 3))
    arrays = (np.ascontiguousarray(a, np.float32) for a in (features, hidden_activations, outputs))
    return Network(uv, grid, weights, matrices, target, *arrays)


def run(case, net, already=0.0, engine=None):
    """(grad_weights, grad_feature_grid, loss_sum) after the student's kernel."""
    case.explain = explained
    arrays = outputs_of(case, net, already)
    case.run("launch_backward", *inputs_of(net), *arrays, engine=engine)
    return arrays


def run_in_blocks(case, net):
    """As `run`; ends the check if each sample adds to the weights by itself."""
    counts, arrays = measure(case, net)
    weights = arrays[0]
    blocks = -(-len(net.uv) // BLOCK_SAMPLES)
    times = additions(counts, weights) / weights.array.size / blocks
    samples = min(len(net.uv), BLOCK_SAMPLES)
    case.require(
        samples < BLOCK_SAMPLES / 2 or times < samples / 2,
        "an atomic per sample",
        f"each weight gets {times:.0f} atomic additions per block: every sample adds by itself. "
        "Add up the products of a block's samples first; then one addition is enough.",
    )
    return arrays


def measure(case, net):
    arrays = outputs_of(case, net)
    case.explain = explained
    return case.measure("launch_backward", *inputs_of(net), *arrays), arrays


def explained(found):
    """What an index outside an array says in this lesson."""
    if found.kind != "out-of-bounds":
        return ""
    return next((text for name, text in OUTSIDE.items() if f"{name}[" in found.message), "")


OUTSIDE = {
    "squared_errors": "The reduction begins with active = 128: half of the 256 sums.",
    "grad_feature_grid": "The grid is indexed [row, column, channel]: v counts rows, u columns, "
    "and only the first three features came from it.",
    "hidden": "The inputs of layer l are hidden[l - 1], those of layer 0 are the features; only "
    "samples within the batch are there.",
    "weights": "Going back, the offset begins at weights.shape[0], and each layer subtracts "
    "fan_in * fan_out.",
}


def additions(counts, array):
    return counts.of(array).atomics


def inputs_of(net):
    return net.uv, net.features, net.hidden, net.outputs, net.target, net.weights


def outputs_of(case, net, already=0.0):
    shapes = net.weights.shape, GRID_SHAPE, (1,)
    return tuple(case.output(shape, initial=np.full(shape, already)) for shape in shapes)


# ---------------------------------------------------------------- gradients, right and wrong


class Gradients(NamedTuple):
    weights: np.ndarray
    features: np.ndarray  # (B, 16)


class Terms(NamedTuple):
    """The chain rule's terms, each of which is easily forgotten or taken for another."""

    factor: float = 2.0
    count: float | None = None  # None: all colours of the batch
    slope: str = "sigmoid"
    padding: bool = False  # whether the thirteen outputs that are no colours count
    mask: str = "activation"
    mask_features: bool = False
    transposed: bool = True  # the weights, on the way back
    stored_transposed: bool = False
    samples: int | None = None  # of each block's 64
    from_the_front: bool = False
    fan_out_stays: bool = False
    totals_go_on: bool = False
    delta: str = "new"


SLOPES = {
    "sigmoid": lambda y: y * (1 - y),
    "none": lambda y: 1.0,
    "half": lambda y: 1 - y,
    "other half": lambda y: y,
    "tanh": lambda y: 1 - y * y,
}


def gradients(net, terms=None):
    """The chain rule in float64, with these `Terms`."""
    terms = terms or Terms()
    delta = output_delta(net, terms)
    inputs = [net.features.astype(np.float64), *net.hidden.astype(np.float64)]
    flat = net.weights.astype(np.float64)
    found = np.zeros(flat.size)
    width = net.hidden.shape[2]
    offset, fan_out = flat.size, 16
    totals = np.zeros((len(delta), 16))
    front = 0
    for layer in range(len(inputs) - 1, -1, -1):
        activations = inputs[layer]
        fan_in = 16 if layer == 0 else width
        offset -= fan_in * fan_out
        place = front if terms.from_the_front else offset
        here = slice(place, place + fan_in * fan_out)
        matrix = flat[here].reshape(fan_in, fan_out)
        back = delta @ (matrix.T if terms.transposed else turned(matrix))
        if terms.totals_go_on:
            back = running(back, totals)
        masked = back * mask_of(terms, back, activations, delta, inputs)
        below = masked if layer > 0 or terms.mask_features else back
        with_activations = below if terms.delta == "before the weights" else activations
        product = with_activations.T @ delta
        found[here] += (product.T if terms.stored_transposed else product).ravel()
        delta = activations if terms.delta == "over itself" and layer > 0 else below
        front += fan_in * fan_out
        if not terms.fan_out_stays:
            fan_out = fan_in
        elif fan_in != fan_out:
            delta = delta[:, :fan_out]
    return Gradients(found, below)


def output_delta(net, terms):
    outputs = net.outputs.astype(np.float64)
    columns = 16 if terms.padding else 3
    error = outputs[:, :columns].copy()
    error[:, :3] -= net.target
    delta = np.zeros(outputs.shape)
    count = net.target.size if terms.count is None else terms.count
    slope = SLOPES[terms.slope](outputs[:, :columns])
    delta[:, :columns] = terms.factor * error / count * slope
    if terms.samples is not None:
        delta[np.arange(len(delta)) % BLOCK_SAMPLES >= terms.samples] = 0
    return delta


def mask_of(terms, back, activations, delta, inputs):
    if terms.mask == "none":
        return 1.0
    if terms.mask == "gradient":
        return back > 0
    if terms.mask == "delta above" and delta.shape == back.shape:
        return delta > 0
    if terms.mask == "first layer" and inputs[1].shape == back.shape:
        return inputs[1] > 0
    return activations > 0


def turned(matrix):
    """What comes of reading each tile along its other side."""
    if matrix.shape[0] == matrix.shape[1]:
        return matrix
    return matrix.reshape(matrix.T.shape)


def running(back, totals):
    """Sums that are never set to zero again: they go on from tile to tile, and layer to layer."""
    result = back.copy()
    for first in range(0, back.shape[1], 16):
        totals += back[:, first : first + 16]
        result[:, first : first + 16] = totals
    return result


def mistakes_of_slopes():
    """What the derivatives of ReLU and sigmoid can lack: code -> (`Terms`, sentence)."""
    return {
        "ReLU mask forgotten": (
            Terms(mask="none"),
            "The ReLU's mask is missing: where the activation is 0, no gradient passes.",
        ),
        "mask of the gradient": (
            Terms(mask="gradient"),
            "The mask looks at the gradient: it is the activation that has to be above zero.",
        ),
        "mask of another layer": (
            Terms(mask="delta above"),
            "The mask is that of another layer: it looks at tiles[current], the delta. The "
            "activations that were this layer's inputs are in the other tile.",
        ),
        "mask of the first layer": (
            Terms(mask="first layer"),
            "The mask is always that of the first hidden layer: each layer has its own.",
        ),
        "features masked": (
            Terms(mask_features=True),
            "The features are masked, too: they came from no ReLU, so every gradient passes.",
        ),
        "sigmoid's slope forgotten": (
            Terms(slope="none"),
            "The sigmoid's derivative is missing: output * (1 - output).",
        ),
        "half of the slope": (
            Terms(slope="half"),
            "The sigmoid's derivative is output * (1 - output): the factor output is missing.",
        ),
        "other half of the slope": (
            Terms(slope="other half"),
            "The sigmoid's derivative is output * (1 - output): the factor 1 - output is missing.",
        ),
        "slope of tanh": (
            Terms(slope="tanh"),
            "1 - output * output is the derivative of tanh; that of the sigmoid is "
            "output * (1 - output).",
        ),
    }


def known_mistakes(net):
    """code -> (`Terms`, sentence)."""
    return {
        **mistakes_of_slopes(),
        "2 forgotten": (
            Terms(factor=1.0),
            "The 2 is missing: the derivative of error squared is 2 * error.",
        ),
        "sign reversed": (
            Terms(factor=-2.0),
            "The sign is reversed: error is output - target, not target - output.",
        ),
        "divided by the batch": (
            Terms(count=len(net.uv)),
            "Divide by 3 B: the mean goes over the channels, too.",
        ),
        "not divided": (
            Terms(count=1),
            "The mean's division by 3 B is missing.",
        ),
        "divided by the block": (
            Terms(count=3 * BLOCK_SAMPLES),
            "The mean is over the batch, not over the 64 samples of a block: divide by 3 B.",
        ),
        "all outputs count": (
            Terms(padding=True),
            "Sixteen outputs have a delta: those that are no colours must get zero.",
        ),
        "weights not transposed": (
            Terms(transposed=False),
            "On the way back the weights are used transposed: the sum goes over the units.",
        ),
        "gradient stored transposed": (
            Terms(stored_transposed=True),
            "The gradients stand in the places of the transposed matrix: input i, unit u is at "
            "offset + i * fan_out + u.",
        ),
        "offset from the front": (
            Terms(from_the_front=True),
            "The offset counts from the front, but the layers come last first: begin at "
            "weights.shape[0] and subtract.",
        ),
        "fan_out stays": (
            Terms(fan_out_stays=True),
            "fan_out stays 16: the layer below has as many units as this one has inputs.",
        ),
        "totals go on": (
            Terms(totals_go_on=True),
            "The totals go on from tile to tile: set them to zero for each tile of inputs.",
        ),
        "delta in the wrong tile": (
            Terms(delta="over itself"),
            "The next layer finds activations where its delta should be: write the new delta "
            "over the activations, in tiles[1 - current].",
        ),
        "weights after the delta": (
            Terms(delta="before the weights"),
            "The activations were replaced by the new delta before the weights' gradients were "
            "computed: these come first.",
        ),
        "16 samples of 64": (
            Terms(samples=16),
            "Only the first 16 of the block's 64 samples count: each thread has four.",
        ),
    }


# ---------------------------------------------------------------- what should come out


def expect_loss(case, net, loss_sum, already=0.0):
    outputs, target = net.outputs.astype(np.float64), net.target
    error = outputs[:, :3] - target
    squares = error**2
    count = target.size
    place = np.arange(len(error)) % BLOCK_SAMPLES
    rest = np.sum(outputs[:, 3:] ** 2)
    sums = {
        "not divided": (
            squares.sum() * count,
            "This is the sum: divide by batch times channels.",
        ),
        "divided by the batch": (
            squares.sum() * 3,
            "Divide by 3 B: the mean goes over the channels, too.",
        ),
        "divided by the block": (
            squares.sum() * count / (3 * BLOCK_SAMPLES),
            "The mean is over the batch, not over the 64 samples of a block: divide by 3 B.",
        ),
        "added by every thread": (
            squares.sum() * 256,
            "Every thread adds the block's sum: one of them, thread 0, is enough.",
        ),
        "16 samples of 64": (
            squares[place < 16].sum(),
            "Only the first 16 of the block's 64 samples count: each thread has four.",
        ),
        "reduction stops too early": (
            squares[:, [0, 2]].sum(),
            "The reduction ends one round too early: with active = 1, thread 0 adds its "
            "neighbour's half, the green of all samples.",
        ),
        "reduction stops two rounds early": (
            squares[:, 0].sum(),
            "The reduction ends before active = 1: only the red of all samples has come together.",
        ),
        "no reduction": (
            squares[place % 16 == 0, 0].sum(),
            "Only thread 0's own errors arrive: nobody adds those of the others to them.",
        ),
        "reduction begins too low": (
            squares[place % 16 < 8].sum(),
            "Half of the threads are left out: the reduction begins with active = 128.",
        ),
        "all outputs count": (
            squares.sum() + rest,
            "All sixteen outputs count: only the first three, the colours, have a target.",
        ),
        "absolute error": (
            np.abs(error).sum(),
            "This is the mean of the errors' sizes: square them.",
        ),
        "error not squared": (error.sum(), "This is the mean of the errors: square them."),
        "half of the loss": (
            squares.sum() / 2,
            "This is half of the mean: there is no factor 1/2 in our loss.",
        ),
        "twice the loss": (
            squares.sum() * 2,
            "This is twice the mean: the factor 2 belongs to the derivative.",
        ),
    }
    loss = np.array([squares.sum() / count])
    mistakes = {
        code: Mistake(sentence, {"loss_sum": np.array([total / count])})
        for code, (total, sentence) in sums.items()
    }
    tolerance = case.check.tolerance * loss.max()
    got = loss_sum if already == 0 else loss_sum.array - already
    expect_all(case, [Left("loss_sum", got, loss, tolerance)], mistakes)


def compare_weights(case, net, got, part):
    expected = gradients(net).weights[part]
    mistakes = {
        code: Mistake(sentence, {"grad_weights": gradients(net, terms).weights[part]})
        for code, (terms, sentence) in known_mistakes(net).items()
    }
    tolerance = case.check.tolerance * np.abs(expected).max()
    expect_all(case, [Left("grad_weights", got[part], expected, tolerance)], mistakes)


def compare_grid(case, net, got):
    features = gradients(net).features
    expected = scattered(net.uv, features)
    results = {
        code: (scattered(net.uv, gradients(net, terms).features), sentence)
        for code, (terms, sentence) in known_mistakes(net).items()
        if terms.delta == "new" and not terms.fan_out_stays
    }
    results |= scatter_mistakes(net.uv, features)
    tolerance = case.check.tolerance * np.abs(expected).max()
    mistakes = {
        code: Mistake(sentence, {"grad_feature_grid": result})
        for code, (result, sentence) in results.items()
    }
    expect_all(case, [Left("grad_feature_grid", got, expected, tolerance)], mistakes)


def scatter_mistakes(uv, features):
    """code -> (grad_feature_grid, sentence)."""
    first = (np.arange(len(uv)) % BLOCK_SAMPLES < 16)[:, np.newaxis]
    shared = scattered(uv, features).sum(axis=2)
    one_channel = np.zeros(GRID_SHAPE)
    one_channel[:, :, 0] = shared
    return {
        "corner weights forgotten": (
            scattered(uv, features, weigh=lambda weights: np.ones_like(weights)),
            "Each corner got the whole gradient: multiply it by the corner's weight.",
        ),
        "one corner": (
            scattered(uv, features, weigh=lambda weights: weights * [1, 0, 0, 0]),
            "Only the top left corner got its part: there are four corners.",
        ),
        "corner missing": (
            scattered(uv, features, weigh=lambda weights: weights * [1, 1, 1, 0]),
            "The bottom right corner got nothing: there are four corners.",
        ),
        "corner twice": (
            scattered(uv, features, corners=[0, 1, 2, 2]),
            "The bottom right corner's part went to the bottom left one.",
        ),
        "corners exchanged": (
            scattered(uv, features, weigh=lambda weights: weights[:, [0, 2, 1, 3]]),
            "The weights of the top right and the bottom left corner are exchanged.",
        ),
        "weights reversed": (
            scattered(uv, features, weigh=lambda weights: weights[:, ::-1]),
            "The weights are reversed: w0 is that of (top, left), w3 that of (bottom, right).",
        ),
        "u and v exchanged": (
            scattered(uv[:, ::-1], features),
            "u and v are exchanged: u counts columns, along shape[1], and v rows, along shape[0].",
        ),
        "one channel": (
            one_channel,
            "All channels were added to channel 0: use the argument `channel`.",
        ),
        "only some samples": (
            scattered(uv, features * first),
            "Only the first of each thread's four samples was scattered.",
        ),
        "nearest cell": (
            nearest(uv, features),
            "The nearest cell got everything: divide it among the four corners.",
        ),
    }


def scattered(uv, grad_features, weigh=lambda weights: weights, corners=(0, 1, 2, 3)):
    height, width, channels = GRID_SHAPE
    indices, weights, _ = reference.bilinear_corners(uv, width, height)
    cells = np.zeros((height * width, channels))
    parts = weigh(weights)[:, :, np.newaxis] * grad_features[:, np.newaxis, :3]
    np.add.at(cells, indices[:, list(corners)], parts)
    return cells.reshape(GRID_SHAPE)


def nearest(uv, grad_features):
    height, width, channels = GRID_SHAPE
    rows = np.minimum((uv[:, 1] * height).astype(int), height - 1)
    columns = np.minimum((uv[:, 0] * width).astype(int), width - 1)
    cells = np.zeros(GRID_SHAPE)
    np.add.at(cells, (rows, columns), grad_features[:, :channels])
    return cells
