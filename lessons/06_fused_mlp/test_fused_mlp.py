"""Checks of lesson 6: networks of one tile and of several, whole and ragged batches."""

import itertools
from typing import NamedTuple

import numpy as np

from lessons import reference
from lessons.grading.case import check
from lessons.grading.mistakes import Left, Mistake, expect_all
from lessons.grading.output import sentinel_of

FEATURES, OUTPUTS = 16, 16
TILE = 16
BLOCK_SAMPLES = 64


@check("one_hidden_layer")
def test_one_hidden_layer(case):
    evaluate(case, batch=64, hidden=16, layers=1)


@check("wide_and_deep")
def test_wide_and_deep(case):
    for batch, hidden, layers in ((64, 16, 3), (64, 32, 2), (33, 64, 1), (20, 16, 4)):
        evaluate(case, batch, hidden, layers)


@check("ragged_batch")
def test_ragged_batch(case):
    # With 69 samples, rows 5 to 15 of the second block have none at all.
    for batch in (1, 69, 150):
        evaluate(case, batch, hidden=16, layers=1)


@check("fetched_once")
def test_fetched_once(case):
    network = random_network(case, batch=2 * BLOCK_SAMPLES, hidden=32, layers=2)
    features, weights, stored, outputs = network.arrays
    counts = case.measure("launch_mlp_forward", *network.arrays)
    expect_network(case, network)
    reads = counts.of(features).reads / features.size
    case.budget(
        "reads of each feature from global memory",
        yours=reads,
        ours=1,
        allowed=2.2,
        diagnosis="features read again and again",
        sentence=f"each feature is read {reads:.0f} times from global memory: fetch it once into "
        "shared memory, for all units.",
        line=counts.busiest_line("reads", features),
    )
    back = counts.of(stored, outputs).reads / stored.array.size
    case.budget(
        "reads of each activation back from global memory",
        yours=back,
        ours=0,
        allowed=0.1,
        diagnosis="activations read back",
        sentence="activations are read back from global memory. That they stay in shared memory "
        "from layer to layer is what fusion means; `hidden` is for lesson 7 only.",
        line=counts.busiest_line("reads", stored, outputs),
    )
    blocks = len(features) / BLOCK_SAMPLES
    fetched = counts.of(weights).reads / weights.size / blocks
    case.budget(
        "reads of each weight from global memory per 64 samples",
        yours=fetched,
        ours=1,
        # Blocks of 16 samples would do, too.
        allowed=4.5,
        diagnosis="weights read again and again",
        sentence=f"each weight is read {fetched:.0f} times from global memory per 64 samples: a "
        "block should fetch it once into shared memory, for all its samples.",
        line=counts.busiest_line("reads", weights),
    )


@check("float32")
def test_float32(case):
    evaluate(case, batch=20, hidden=16, layers=1)


@check("full_size")
def test_full_size(case):
    batch = case.size(native=5003, checked=80)
    evaluate(case, batch, hidden=32, layers=2, engine="native")


class Network(NamedTuple):
    arrays: tuple  # features, weights, and the outputs hidden and outputs
    sizes: list  # (fan_in, fan_out) of each matrix
    matrices: list  # float64


def random_network(case, batch, hidden, layers):
    features = case.random((batch, FEATURES), -1, 1)
    sizes = list(itertools.pairwise([FEATURES, *[hidden] * layers, OUTPUTS]))
    weights = np.concatenate(
        [case.random(a * b, -1, 1) * np.sqrt(6 / (a + b)) for a, b in sizes]
    ).astype(np.float32)
    stored, outputs = case.output((layers, batch, hidden)), case.output((batch, OUTPUTS))
    matrices = reference.split_weights(weights, hidden, layers)
    return Network((features, weights, stored, outputs), sizes, matrices)


def evaluate(case, batch, hidden, layers, engine=None):
    network = random_network(case, batch, hidden, layers)
    case.explain = explained
    if engine is None:
        counts = case.measure("launch_mlp_forward", *network.arrays)
        expect_network(case, network)
        require_fused(case, counts, *network.arrays)
        return
    case.run("launch_mlp_forward", *network.arrays, engine=engine)
    expect_network(case, network)


def require_fused(case, counts, features, weights, stored, outputs):
    """Neither layer by layer through global memory, nor each sample for itself."""
    case.require(
        counts.of(stored).reads < stored.array.size / 2,
        "not fused",
        "each layer reads the activations of the one before from global memory. Keep them in "
        "shared memory: nothing is read from `hidden`.",
    )
    samples = min(len(features), BLOCK_SAMPLES)
    blocks = -(-len(features) // BLOCK_SAMPLES)
    fetched = counts.of(weights).reads / weights.size / blocks
    case.require(
        samples <= 2 * TILE or fetched < samples / 2,
        "weights for each sample",
        f"each weight is read {fetched:.0f} times from global memory by a block: every sample "
        "fetches all weights for itself. Fetch a tile of them into shared memory, for all.",
    )


def expect_network(case, network):
    features, _, stored, outputs = network.arrays
    right_outputs, activations = reference.mlp_forward(features, network.matrices)
    right = right_outputs, np.stack(activations[1:])
    left = [Left("outputs", outputs, right[0]), Left("hidden", stored, right[1])]
    expect_all(case, left, {**written_in_part(right), **wrong_values(network)})


# ---------------------------------------------------------------- mistakes that are known


def explained(found):
    """What an index outside an array, or a value that nobody wrote, says in this lesson."""
    if found.kind == "out-of-bounds":
        return next(
            (text for beginning, text in OUTSIDE if found.message.startswith(beginning)), ""
        )
    if found.kind == "uninitialised" and found.message.startswith("activations["):
        return (
            "Each unit of a layer has to be stored before the next layer reads it: thread column "
            "stores unit unit_tile + column of each tile, for all four of its samples."
        )
    return ""


# How a finding begins: its array and, where that tells the mistakes apart, its first index.
OUTSIDE = (
    (
        "hidden[-",
        "hidden[0] holds the first hidden layer's activations: its index is `layer`.",
    ),
    (
        "hidden[",
        "hidden has `layers` entries for `batch` samples of `width` units; the last of the "
        "layers + 1 matrices makes `outputs`. Take the sizes from hidden.shape, and guard samples "
        "beyond the batch.",
    ),
    (
        "weights[",
        "The matrices are (16, width), (width, width) ... (width, 16): the offset grows by "
        "fan_in * fan_out, and the last layer has OUTPUTS units.",
    ),
)


def wrong_values(network):
    """code -> `Mistake` for wrong terms, in all layers."""
    features, weights, _, _ = network.arrays
    found = {}
    for code, (terms, sentence) in MISTAKES.items():
        outputs, hidden = forward(features, weights.astype(np.float64), network.sizes, terms)
        found[code] = Mistake(sentence, {"outputs": outputs, "hidden": np.stack(hidden)})
    return found


def written_in_part(right):
    """code -> `Mistake` for results of which a part was never written."""
    outputs, hidden = right
    batch = len(outputs)
    samples = np.arange(batch)
    place = samples % BLOCK_SAMPLES
    overlapping = 16 * ((batch - 1) // BLOCK_SAMPLES) + BLOCK_SAMPLES
    parts = {
        "16 samples of 64": (
            place < 16,
            "Only the first 16 of the block's 64 samples were computed: each thread has four.",
        ),
        "blocks overlap": (
            samples < overlapping,
            "The blocks overlap: block b begins with sample b * TILE_SAMPLES, not b * TILE.",
        ),
        "last block missing": (
            samples < batch // BLOCK_SAMPLES * BLOCK_SAMPLES,
            "The last block, which is not full, never ran: round the number of blocks up.",
        ),
        "first block only": (
            samples < BLOCK_SAMPLES,
            "Only the samples of block 0 were computed: begin at blockIdx.x * TILE_SAMPLES.",
        ),
    }
    found = {
        code: Mistake(
            sentence,
            {
                "outputs": kept(outputs, written[:, np.newaxis]),
                "hidden": kept(hidden, written[:, np.newaxis]),
            },
        )
        for code, (written, sentence) in parts.items()
    }
    found["outputs never written"] = Mistake(
        "The hidden layers are right, but outputs were never written: there are layers + 1 "
        "matrices.",
        {"outputs": kept(outputs, np.zeros(outputs.shape, bool))},
    )
    found["hidden never written"] = Mistake(
        "hidden was never written: the backward pass needs the activations.",
        {"hidden": kept(hidden, np.zeros(hidden.shape, bool))},
    )
    found["three outputs of sixteen"] = Mistake(
        "Only the first three outputs were written: all sixteen are asked for.",
        {"outputs": kept(outputs, np.arange(OUTPUTS) < 3)},
    )
    found["first tile of units"] = Mistake(
        "Of each hidden layer only the first 16 units were stored.",
        {"hidden": kept(hidden, np.arange(hidden.shape[2]) < TILE)},
    )
    return found


def kept(array, written):
    return np.where(written, array, sentinel_of(np.dtype(np.float32)))


class Terms(NamedTuple):
    """What can be wrong in a layer, each of it in all layers."""

    between: str = "relu"  # the function of hidden layers
    stored: str = "relu"  # what is stored in `hidden`
    last: str = "sigmoid"
    matrix: str = "right"
    tiles: str = "right"
    totals: str = "new"  # or where they go on
    buffers: str = "two"
    order: str = "right"  # of the samples
    fan_in_stays: bool = False


FUNCTIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "same": lambda x: x,
    "sigmoid": reference.sigmoid,
    "minus": lambda x: reference.sigmoid(-x),
    "tanh": np.tanh,
    "abs": np.abs,
    "leaky": lambda x: np.where(x > 0, x, 0.01 * x),
    "sigmoid of relu": lambda x: reference.sigmoid(np.maximum(x, 0)),
}


def forward(features, weights, sizes, terms):
    """(outputs, hidden layers) in float64, tile by tile as the kernel does it."""
    batch = len(features)
    buffer = np.zeros((batch, 64))
    buffer[:, :FEATURES] = mixed(features) if terms.order == "mixed" else features
    first_buffer = buffer.copy()
    totals = np.zeros((batch, TILE))
    hidden = []
    offset = 0
    for number, (width, fan_out) in enumerate(sizes):
        fan_in = FEATURES if terms.fan_in_stays else width
        last = number == len(sizes) - 1
        matrix = weights[offset : offset + fan_in * fan_out].reshape(fan_in, fan_out)
        matrix = misread(matrix, weights, terms.matrix)
        function = FUNCTIONS[terms.last if last else terms.between]
        source = first_buffer if terms.buffers == "always the first" else buffer
        results, kept_values = [], []
        if terms.totals == "once per layer":
            totals = np.zeros((batch, TILE))
        for unit in range(0, fan_out, TILE):
            if terms.totals in ("new", "relu in between"):
                totals = np.zeros((batch, TILE))
            totals = add_products(totals, source, matrix[:, unit : unit + TILE], terms, last)
            results.append(function(totals))
            kept_values.append(results[-1] if last else FUNCTIONS[terms.stored](totals))
            if terms.buffers == "one":
                buffer[:, unit : unit + TILE] = results[-1]
        hidden.append(np.hstack(kept_values))
        buffer = buffer.copy()
        buffer[:, :fan_out] = np.hstack(results)
        offset += fan_in * fan_out
    return hidden[-1], hidden[:-1]


def add_products(totals, source, columns, terms, last):
    """The totals of one tile of units: columns is (fan_in, 16)."""
    for first in range(0, len(columns), TILE):
        if terms.tiles == "first only" and first > 0:
            break
        values = (
            source[:, :TILE] if terms.tiles == "first inputs" else source[:, first : first + 16]
        )
        rows = columns[:TILE] if terms.tiles == "first rows" else columns[first : first + 16]
        totals = totals + values @ rows
        if terms.totals == "relu in between" and not last:
            totals = np.maximum(totals, 0)
    return totals


def misread(matrix, weights, how):
    """A matrix as a wrong index reads it."""
    fan_in, fan_out = matrix.shape
    if how == "transposed":
        return matrix.reshape(fan_out, fan_in).T
    if how == "first again":
        return weights[: fan_in * fan_out].reshape(fan_in, fan_out)
    if how == "tiles turned":
        tiles = matrix.reshape(fan_in // TILE, TILE, fan_out // TILE, TILE)
        return tiles.transpose(0, 3, 2, 1).reshape(fan_in, fan_out)
    return matrix


def mixed(features):
    """Samples that were loaded four by four, and are computed 16 apart."""
    result = np.zeros(features.shape)
    for sample in range(len(features)):
        block, place = divmod(sample, BLOCK_SAMPLES)
        row, j = divmod(place, 4)
        origin = block * BLOCK_SAMPLES + row + j * TILE
        if origin < len(features):
            result[sample] = features[origin]
    return result


MISTAKES = {
    "stored before ReLU": (
        Terms(stored="same"),
        "hidden holds the sums before the ReLU; the backward pass needs the values after it.",
    ),
    "ReLU forgotten": (
        Terms(between="same", stored="same"),
        "There is no ReLU: without it, all layers together are a single matrix.",
    ),
    "ReLU stored only": (
        Terms(between="same"),
        "The ReLU is in `hidden`, but the next layer reads the sums: it needs the ReLU, too.",
    ),
    "abs for ReLU": (
        Terms(between="abs", stored="abs"),
        "Negative sums became positive: ReLU makes them zero, abs does not.",
    ),
    "leaky ReLU": (
        Terms(between="leaky", stored="leaky"),
        "Negative sums are made small, not zero: that is a leaky ReLU.",
    ),
    "sigmoid everywhere": (
        Terms(between="sigmoid", stored="sigmoid"),
        "The hidden layers have a sigmoid: it belongs to the last layer only.",
    ),
    "sigmoid forgotten": (
        Terms(last="same"),
        "The outputs are the sums themselves: a sigmoid has to bring them between 0 and 1.",
    ),
    "sigmoid of minus x": (
        Terms(last="minus"),
        "The outputs are 1 minus what they should be: the sigmoid is 1 / (1 + exp(-x)), with a "
        "minus.",
    ),
    "tanh for the sigmoid": (
        Terms(last="tanh"),
        "The last layer has a tanh: colours need a sigmoid.",
    ),
    "ReLU on the outputs": (
        Terms(last="relu"),
        "The last layer has a ReLU: colours need a sigmoid.",
    ),
    "ReLU before the sigmoid": (
        Terms(last="sigmoid of relu"),
        "The last layer has a ReLU before its sigmoid: no output is under 0.5.",
    ),
    "weights transposed": (
        Terms(matrix="transposed"),
        "The weights are used transposed: the weight of input i and unit u is at offset + "
        "i * fan_out + u, belongs into weight_tile[row, column], and is read as "
        "weight_tile[k, column].",
    ),
    "tiles turned": (
        Terms(matrix="tiles turned"),
        "Each weight tile is turned: thread (column, row) fetches input row, unit column into "
        "weight_tile[row, column], and reads weight_tile[k, column].",
    ),
    "first matrix again": (
        Terms(matrix="first again"),
        "Every layer uses the first matrix: move offset on by fan_in * fan_out after each layer.",
    ),
    "only the first tile of inputs": (
        Terms(tiles="first only"),
        "Only the first 16 inputs count: fan_in has to become the number of units of the layer "
        "before, and there is a loop over tiles of inputs.",
    ),
    "fan_in stays": (
        Terms(fan_in_stays=True),
        "fan_in stays 16: after a layer it becomes the number of that layer's units, fan_out.",
    ),
    "first activations again": (
        Terms(tiles="first inputs"),
        "Each tile of inputs is multiplied by the first 16 activations: read number "
        "input_tile + k.",
    ),
    "first rows again": (
        Terms(tiles="first rows"),
        "Each tile of inputs is multiplied by the first 16 rows of weights: fetch row "
        "input_tile + row.",
    ),
    "sum goes on": (
        Terms(totals="for ever"),
        "The totals go on from one layer to the next: set them to zero for each tile of units.",
    ),
    "sum goes on in the layer": (
        Terms(totals="once per layer"),
        "The totals go on from one tile of units to the next: set them to zero for each tile.",
    ),
    "ReLU between tiles": (
        Terms(totals="relu in between"),
        "The ReLU is applied after each tile of inputs: only the whole sum gets it.",
    ),
    "one buffer": (
        Terms(buffers="one"),
        "A layer overwrites the activations that it still reads: write to the other buffer, "
        "1 - source.",
    ),
    "always the first buffer": (
        Terms(buffers="always the first"),
        "Every layer reads the features again: source has to be layer % 2.",
    ),
    "samples mixed up": (
        Terms(order="mixed"),
        "The samples are mixed up: some lines count them as row + j * TILE, others as "
        "row * SAMPLES_PER_THREAD + j.",
    ),
}
