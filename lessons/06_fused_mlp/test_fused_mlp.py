"""Checks of lesson 6: networks of one tile and of several, whole and ragged batches."""

import itertools
from typing import NamedTuple

import numpy as np

from lessons import reference
from lessons.grading.judge.case import check
from lessons.reference import warm_ups as reference_warm_ups

FEATURES, OUTPUTS = 16, 16
TILE = 16
BLOCK_SAMPLES = 64
BLOCK_WARPS = 8
# With 69 samples, rows 5 to 15 of the second block have none at all.
FOR_RELU_UNIT = 64, 69, 1, 200  # samples
FOR_MIX_UNITS = (64, 1), (20, 0), (150, 2), (69, 1), (1, 4), (200, 3)  # samples, layers
# Samples, units of a hidden layer, hidden layers.
ONE_LAYER = 64, 16, 1
WIDE_AND_DEEP = (64, 16, 3), (64, 32, 2), (33, 64, 1), (20, 16, 4)
RAGGED = (1, 16, 1), (150, 16, 1), (69, 16, 1)
COUNTED = 2 * BLOCK_SAMPLES, 32, 2
FULL_SIZE, SMALL_SIZE = (5003, 32, 2), (80, 32, 2)

ALLOWED_FETCHES = 2.2  # of each number from global memory, where one per block is enough
ALLOWED_READ_BACK = 0.1  # of each activation from global memory, where none is needed
ALLOWED_WRITES = 1.5  # of each output of `relu_unit`
ALLOWED_BARRIERS = 4.5  # per layer of `mix_units`
NOT_FUSED = 0.5  # reads of each activation from global memory: here it is no slip


@check("relu_unit")
def test_relu_unit(case):
    for batch in FOR_RELU_UNIT:
        counts, sums, outputs = relu_unit(case, batch)
    require_read_across(case, counts, sums, "sums")
    case.keep_within(
        "writes of each output",
        yours=counts.of(outputs).writes / outputs.array.size,
        ours=1,
        allowed=ALLOWED_WRITES,
        diagnosis="same work again",
        sentence="several threads compute the same output: in the second step 64 threads take a "
        "sample each, number row * TILE + column of the block, and the others none.",
        line=counts.busiest_line("writes", outputs),
    )


@check("mix_units")
def test_mix_units(case):
    for batch, layers in FOR_MIX_UNITS:
        counts, features, outputs = mix_units(case, batch, layers)
    case.budget(
        "reads of outputs, which is only written",
        yours=counts.of(outputs).reads / outputs.array.size,
        ours=0,
        allowed=ALLOWED_READ_BACK,
        diagnosis="activations read back",
        sentence="activations are read back from `outputs`, which is global memory: what the next "
        "layer needs stays in shared memory, and outputs is written once, at the end.",
        line=counts.busiest_line("reads", outputs),
    )
    blocks = -(-batch // BLOCK_SAMPLES)
    case.budget(
        "barriers per layer",
        yours=counts.everything().barriers / (layers * BLOCK_WARPS * blocks),
        ours=1,
        allowed=ALLOWED_BARRIERS,
        diagnosis="too many barriers",
        sentence="a layer needs one barrier, if it writes to the buffer that it does not read.",
    )
    require_read_across(case, counts, features, "features")


@check("one_hidden_layer")
def test_one_hidden_layer(case):
    evaluate(case, *ONE_LAYER)


@check("wide_and_deep")
def test_wide_and_deep(case):
    for sizes in WIDE_AND_DEEP:
        evaluate(case, *sizes)


@check("ragged_batch")
def test_ragged_batch(case):
    for sizes in RAGGED:
        evaluate(case, *sizes)


@check("fetched_once")
def test_fetched_once(case):
    network = random_network(case, *COUNTED)
    features, weights, hidden, outputs = network.arrays
    counts = case.measure("launch_mlp_forward", *network.arrays)
    expect_network(case, network)
    reads = counts.of(features).reads / features.size
    case.budget(
        "reads of each feature from global memory",
        yours=reads,
        ours=1,
        allowed=ALLOWED_FETCHES,
        diagnosis="features read again and again",
        sentence=f"each feature is read {reads:.0f} times from global memory: fetch it once into "
        "shared memory, for all units.",
        line=counts.busiest_line("reads", features),
    )
    case.budget(
        "reads of each activation back from global memory",
        yours=counts.of(hidden, outputs).reads / hidden.array.size,
        ours=0,
        allowed=ALLOWED_READ_BACK,
        diagnosis="activations read back",
        sentence="activations are read back from global memory. That they stay in shared memory "
        "from layer to layer is what fusion means; `hidden` is for lesson 7 only.",
        line=counts.busiest_line("reads", hidden, outputs),
    )
    fetched = fetches_per_block(counts, features, weights)
    case.budget(
        "reads of each weight from global memory per 64 samples",
        yours=fetched,
        ours=1,
        allowed=ALLOWED_FETCHES,
        diagnosis="weights read again and again",
        sentence=f"each weight is read {fetched:.0f} times from global memory per 64 samples: a "
        "block should fetch it once into shared memory, for all its samples: a thread's four "
        "samples, too, share a tile.",
        line=counts.busiest_line("reads", weights),
    )
    case.require_many_threads(counts, outputs)


@check("float32")
def test_float32(case):
    relu_unit(case, 20)
    mix_units(case, 20, 2)
    evaluate(case, 20, 16, 1)


@check("full_size")
def test_full_size(case):
    network = random_network(case, *case.size(large=FULL_SIZE, small=SMALL_SIZE))
    case.run("launch_mlp_forward", *network.arrays, engine="large")
    expect_network(case, network)
    small = random_network(case, *ONE_LAYER).arrays  # fused, and not another kernel
    require_fused(case, case.measure("launch_mlp_forward", *small), *small)


def relu_unit(case, batch):
    """(counts, its input, its output) after that kernel, of random numbers."""
    sums, weights = case.random((batch, TILE), -1, 1), case.random(TILE, -1, 1)
    outputs = case.output((batch,))
    counts = case.measure("launch_relu_unit", sums, weights, outputs)
    case.expect(outputs, reference_warm_ups.relu_unit(sums, weights), "outputs")
    return counts, sums, outputs


def mix_units(case, batch, layers):
    features, outputs = case.random((batch, FEATURES), -1, 1), case.output((batch, FEATURES))
    counts = case.measure("launch_mix_units", features, layers, outputs)
    case.expect(outputs, reference_warm_ups.mix_units(features, layers), "outputs")
    return counts, features, outputs


class Network(NamedTuple):
    arrays: tuple  # features, weights, and the outputs hidden and outputs
    matrices: list  # float64


def random_network(case, batch, width, layers):
    features = case.random((batch, FEATURES), -1, 1)
    sizes = itertools.pairwise([FEATURES, *[width] * layers, OUTPUTS])
    weights = [case.random(a * b, -1, 1) * np.sqrt(6 / (a + b)) for a, b in sizes]
    weights = np.concatenate(weights).astype(np.float32)
    hidden, outputs = case.output((layers, batch, width)), case.output((batch, OUTPUTS))
    matrices = reference.split_weights(weights, width, layers)
    return Network((features, weights, hidden, outputs), matrices)


def evaluate(case, batch, width, layers):
    network = random_network(case, batch, width, layers)
    counts = case.measure("launch_mlp_forward", *network.arrays)
    expect_network(case, network)
    require_fused(case, counts, *network.arrays)


def expect_network(case, network):
    features, _, hidden, outputs = network.arrays
    expected, activations = reference.mlp_forward(features, network.matrices)
    case.expect(outputs, expected, "outputs")
    case.expect(hidden, np.stack(activations[1:]), "hidden")


def require_fused(case, counts, features, weights, hidden, outputs):
    """Neither layer by layer through global memory, nor each sample for itself."""
    case.keep_within(
        "reads of each activation back from global memory",
        yours=counts.of(hidden).reads / hidden.array.size,
        ours=0,
        allowed=NOT_FUSED,
        diagnosis="not fused",
        sentence="each layer reads the activations of the one before from global memory. Keep them "
        "in shared memory: nothing is read from `hidden`.",
        line=counts.busiest_line("reads", hidden),
    )
    samples = min(len(features), BLOCK_SAMPLES)
    if samples <= 2 * TILE:
        return
    fetched = fetches_per_block(counts, features, weights)
    case.keep_within(
        "reads of each weight from global memory per block",
        yours=fetched,
        ours=1,
        allowed=samples / 2 - 0.5,
        diagnosis="weights for each sample",
        sentence=f"each weight is read {fetched:.0f} times from global memory by a block: every "
        "sample fetches all weights for itself. Fetch a tile of them into shared memory, for all.",
        line=counts.busiest_line("reads", weights),
    )
    case.require_many_threads(counts, outputs)


def fetches_per_block(counts, features, weights):
    """How often a block reads each weight from global memory."""
    blocks = -(-len(features) // BLOCK_SAMPLES)
    return counts.of(weights).reads / weights.size / blocks


def require_read_across(case, counts, rows, name):
    """That each number is read once, by neighbouring threads: 32 bytes are 8 numbers."""
    times = counts.of(rows).sectors * 8 / rows.size
    case.budget(
        f"how often the bytes of {name} are moved from global memory",
        yours=times,
        ours=1,
        allowed=ALLOWED_FETCHES,
        diagnosis="not read together",
        sentence=f"the bytes of {name} are moved {times:.1f} times. Let the sixteen threads of a "
        "row read the sixteen numbers of a sample, once, and put them into shared memory: there "
        "any thread can read any of them.",
        line=counts.busiest_line("sectors", rows),
    )
