"""Checks of lesson 6: networks of one tile and of several, whole and ragged batches."""

import itertools
import re
from functools import partial
from typing import NamedTuple

import numpy as np

from lessons import reference
from lessons.grading.checks.case import check
from lessons.grading.checks.mistakes import Left, Mistake, expect_all, two_at_once
from lessons.grading.exchange.output import sentinel_of
from lessons.reference import warm_ups as reference_warm_ups

FEATURES, OUTPUTS = 16, 16
TILE = 16
BLOCK_SAMPLES = 64


@check("relu_unit")
def test_relu_unit(case):
    case.explain = explained_unit
    # With 69 samples, rows 5 to 15 of the second block have none at all.
    for batch in (64, 69, 1, 200):
        sums, weights = case.random((batch, TILE), -1, 1), case.random(TILE, -1, 1)
        outputs = case.output((batch,))
        counts = case.measure("launch_relu_unit", sums, weights, outputs)
        expected = reference_warm_ups.relu_unit(sums, weights)
        known = partial(known_units, case, sums, weights, expected, outputs.array)
        case.expect(outputs, expected, "outputs", candidates=known)
    require_read_across(case, counts, sums, "sums")
    case.keep_within(
        "writes of each output",
        yours=counts.of(outputs).writes / outputs.array.size,
        ours=1,
        allowed=1.5,
        diagnosis="same work again",
        sentence="several threads compute the same output: in the second step 64 threads take a "
        "sample each, number row * TILE + column of the block, and the others none.",
        line=counts.busiest_line("writes", outputs),
    )


@check("mix_units")
def test_mix_units(case):
    case.explain = explained_mixture
    for batch, layers in ((64, 1), (20, 0), (150, 2), (69, 1), (1, 4), (200, 3)):
        features, outputs = case.random((batch, FEATURES), -1, 1), case.output((batch, FEATURES))
        counts = case.measure("launch_mix_units", features, layers, outputs)
        expected = reference_warm_ups.mix_units(features, layers)
        known = partial(known_mixtures, case, features, layers, expected)
        case.expect(outputs, expected, "outputs", candidates=known)
    case.budget(
        "reads of outputs, which is only written",
        yours=counts.of(outputs).reads / outputs.array.size,
        ours=0,
        allowed=0.1,
        diagnosis="activations read back",
        sentence="activations are read back from `outputs`, which is global memory: what the next "
        "layer needs stays in shared memory, and outputs is written once, at the end.",
        line=counts.busiest_line("reads", outputs),
    )
    warps = len(features) // BLOCK_SAMPLES + 1
    case.budget(
        "barriers per layer",
        yours=counts.everything().barriers / (layers * 8 * warps),
        ours=1,
        allowed=4.5,
        diagnosis="too many barriers",
        sentence="a layer needs one barrier, if it writes to the buffer that it does not read.",
    )
    require_read_across(case, counts, features, "features")


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
    for batch in (1, 150, 69):
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
        allowed=2.2,
        diagnosis="weights read again and again",
        sentence=f"each weight is read {fetched:.0f} times from global memory per 64 samples: a "
        "block should fetch it once into shared memory, for all its samples: a thread's four "
        "samples, too, share a tile.",
        line=counts.busiest_line("reads", weights),
    )


@check("float32")
def test_float32(case):
    evaluate(case, batch=20, hidden=16, layers=1)


@check("full_size")
def test_full_size(case):
    batch = case.size(large=5003, small=80)
    evaluate(case, batch, hidden=32, layers=2, engine="large")


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
    case.keep_within(
        "reads of each activation back from global memory",
        yours=counts.of(stored).reads / stored.array.size,
        ours=0,
        allowed=0.5,
        diagnosis="not fused",
        sentence="each layer reads the activations of the one before from global memory. Keep them "
        "in shared memory: nothing is read from `hidden`.",
        line=counts.busiest_line("reads", stored),
    )
    samples = min(len(features), BLOCK_SAMPLES)
    if samples <= 2 * TILE:
        return
    blocks = -(-len(features) // BLOCK_SAMPLES)
    fetched = counts.of(weights).reads / weights.size / blocks
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


def expect_network(case, network):
    features, _, stored, outputs = network.arrays
    right_outputs, activations = reference.mlp_forward(features, network.matrices)
    right = right_outputs, np.stack(activations[1:])
    left = [Left("outputs", outputs, right[0]), Left("hidden", stored, right[1])]
    expect_all(
        case,
        left,
        lambda: {
            **written_in_part(case, right),
            **one_matrix_less(network, right[1]),
            **wrong_values(network),
        },
        otherwise=lambda places: not_loaded(stored, outputs) or matrix_elsewhere(network),
    )


def require_read_across(case, counts, rows, name):
    """That each number is read once, by neighbouring threads: 32 bytes are 8 numbers."""
    times = counts.of(rows).sectors * 8 / rows.size
    case.budget(
        f"how often the bytes of {name} are moved from global memory",
        yours=times,
        ours=1,
        allowed=2.2,
        diagnosis="not read together",
        sentence=f"the bytes of {name} are moved {times:.1f} times. Let the sixteen threads of a "
        "row read the sixteen numbers of a sample, once, and put them into shared memory: there "
        "any thread can read any of them.",
        line=counts.busiest_line("sectors", rows),
    )


# ---------------------------------------------------------------- the warm-ups' known mistakes


def explained_unit(found):
    """What a finding in `relu_unit` says."""
    if found.kind == "out-of-bounds" and found.message.startswith("outputs["):
        return (
            "In the second step a thread takes sample row * TILE + column of the block, if that is "
            "below TILE_SAMPLES, and stores it at first_sample + row * TILE + column, if that is "
            "below the batch."
        )
    if found.kind == "uninitialised":
        return (
            "In the first step each thread stores number `column` of four samples: row + j * TILE "
            "for each j. In the second, a sample has sixteen numbers."
        )
    return ""


def explained_mixture(found):
    """What a finding in `mix_units` says."""
    if found.kind != "uninitialised":
        return ""
    if last_index(found.message) >= TILE:
        return "After unit 15 comes unit 0: the neighbour is (column + 1) % TILE."
    return (
        "Loading fills buffer 0, for all four samples of each thread, with zeros beyond the batch. "
        "Layers are counted from 0: layer 0 reads buffer 0 and fills buffer 1. The results are in "
        "buffer layers % 2."
    )


def last_index(message):
    """The last index of the element that a message begins with; -1 if there is none."""
    numbers = re.match(r"\w+\[([\d, ]+)\]", message)
    return int(numbers[1].split(",")[-1]) if numbers else -1


def indices_of(message):
    """How many indices the element has that a message begins with; 0 if there is none."""
    numbers = re.match(r"\w+\[([\d, ]+)\]", message)
    return len(numbers[1].split(",")) if numbers else 0


def nothing_loaded(got, expected):
    """code -> (outputs, sentence), where some samples have a zero for each activation."""
    zero = (got == 0) & (expected != 0)
    if not zero.any():
        return {}
    sentence = (
        f"The output of {named(zero)} is 0, as if all of its sums were. Are they loaded? In the "
        "first step thread (column, row) loads number `column` of each of its four samples, if "
        "that *sample* is below the batch. Or is nothing added to its total?"
    )
    return {"sums not loaded": (np.where(zero, 0, expected), sentence)}


def of_others(got, expected):
    """code -> (outputs, sentence), where some samples have the output of another one."""
    apart = np.abs(got[:, np.newaxis] - expected)
    whose = apart.argmin(axis=1)
    strange = np.flatnonzero(np.abs(got - expected) > 1e-4)
    if not len(strange):
        return {}
    sentence = (
        f"Outputs are those of other samples: sample {strange[0]} has that of sample "
        f"{whose[strange[0]]}. Number row * TILE + column of the block is the row of the tile that "
        "a thread reads in the second step, and, from first_sample on, the place where it stores."
    )
    return {"outputs of other samples": (expected[whose], sentence)}


def known_units(case, sums, weights, expected, got):
    """code -> (outputs, sentence) of what leaves something else than expected in `relu_unit`."""
    known = {**wrong_units(sums, weights), **parts_of_outputs(case, expected)}
    if not any(np.allclose(got, result, rtol=0, atol=1e-4) for result, _ in known.values()):
        known |= nothing_loaded(got, expected) | of_others(got, expected)
    return known


def known_mixtures(case, features, layers, expected):
    """code -> (outputs, sentence) of what leaves something else than expected in `mix_units`."""
    return {**parts_of_outputs(case, expected), **wrong_mixtures(features, layers, expected)}


def parts_of_outputs(case, expected):
    """code -> (outputs, sentence), where some samples were never written."""
    parts = parts_of_batch(case, expected)
    return {code: (kept(expected, rows), sentence) for code, (rows, sentence) in parts.items()}


def wrong_units(sums, weights):
    """What `relu_unit` leaves if it is wrong: code -> (outputs, sentence)."""
    sums, weights = sums.astype(np.float64), weights.astype(np.float64)
    activations = np.maximum(sums, 0)
    return {
        **wrong_relus(sums, weights, activations),
        **wrong_sums_of_units(weights, activations),
        **wrong_samples_of_units(weights, activations),
    }


def wrong_relus(sums, weights, activations):
    where = "The ReLU belongs to each of the sixteen sums, before it meets its weight"
    return {
        "ReLU forgotten": (sums @ weights, f"There is no ReLU: {where[4:]}."),
        "ReLU on the output": (np.maximum(sums @ weights, 0), f"{where}, not to the total."),
        "ReLU twice": (
            np.maximum(activations @ weights, 0),
            "The total has a ReLU, too: only the sums get one, an output may be negative.",
        ),
        "ReLU of the products": (
            np.maximum(sums * weights, 0).sum(axis=1),
            f"{where}: here it takes the products.",
        ),
        "running ReLU": (
            running_relu(activations * weights),
            "The total has a ReLU in each round: only the sums get one, before the products.",
        ),
        "running ReLU, and no other": (
            running_relu(sums * weights),
            f"The total has a ReLU in each round. {where}.",
        ),
        "weights rectified": (
            activations @ np.maximum(weights, 0),
            "The weights went through the ReLU, too: only the sums do.",
        ),
        "abs for ReLU": (
            np.abs(sums) @ weights,
            "Negative sums became positive: ReLU makes them zero, abs does not.",
        ),
        "negative part": (
            np.minimum(sums, 0) @ weights,
            "The negative sums are kept, and the positive ones made zero: ReLU is max(x, 0).",
        ),
    }


def running_relu(products):
    total = np.zeros(len(products))
    for product in products.T:
        total = np.maximum(total + product, 0)
    return total


def wrong_sums_of_units(weights, activations):
    own = np.arange(len(activations)) % TILE  # the column of a sample's thread
    one = "the unit has sixteen weights, weights[i] for activation i."
    return {
        "one weight for all": (
            activations.sum(axis=1) * weights[own],
            f"All activations of a sample are multiplied by one weight: {one}",
        ),
        "first weight for all": (
            activations.sum(axis=1) * weights[0],
            f"All activations are multiplied by weights[0]: {one}",
        ),
        "no weights": (activations.sum(axis=1), f"There are no weights in it: {one}"),
        "last product only": (
            activations[:, -1] * weights[-1],
            "Only the last product is there: add to the total, with +=, which begins once, before "
            "the loop.",
        ),
        "first product only": (
            activations[:, 0] * weights[0],
            "Only the first product is there: the loop goes over all sixteen activations.",
        ),
        "first product left out": (
            activations[:, 1:] @ weights[1:],
            "The first product is missing: i begins at 0.",
        ),
        "next weight": (
            activations[:, :-1] @ weights[1:],
            "Each activation meets the next one's weight: activation i belongs to weights[i].",
        ),
        "features of the thread": (
            activations[np.arange(len(activations)), own] * weights.sum(),
            "One activation of each sample is multiplied by all weights: in the loop, i counts "
            "the activations, too.",
        ),
        "last product missing": (
            activations[:, :-1] @ weights[:-1],
            "The last product is missing: the loop ends one too early.",
        ),
        "weights from the end": (
            activations @ weights[::-1],
            "The weights are taken from the end: activation i belongs to weights[i].",
        ),
        "mean": (activations @ weights / TILE, "This is the mean of the products: add them up."),
    }


def wrong_samples_of_units(weights, activations):
    samples = np.arange(len(activations))
    block = samples // BLOCK_SAMPLES
    padded = np.zeros((len(samples) + BLOCK_SAMPLES, TILE))
    padded[: len(samples)] = activations
    first = np.stack([padded[64 * b : 64 * b + TILE] for b in range(block[-1] + 1)])
    return {
        "16 outputs of 64": (
            kept(activations @ weights, samples % BLOCK_SAMPLES < TILE),
            "Only 16 of the block's 64 samples have an output: in the second step 64 threads take "
            "one each, number row * TILE + column.",
        ),
        "samples, not numbers": (
            (first[:, :, samples % TILE] * weights[:, np.newaxis]).sum(axis=1)[block, samples],
            "The sum goes over samples: tile[local_sample, i], with i from 0 to 15, are the "
            "sixteen activations of one sample.",
        ),
        "samples mixed up": (mixed(activations) @ weights, MIXED_UP),
        "samples mixed up in loading": (other_samples(activations) @ weights, MIXED_UP),
        **{
            code: (one_of_four(activations, j) @ weights, sentence)
            for code, (j, sentence) in one_for_four(len(samples)).items()
        },
        "first block again": (
            activations[samples % BLOCK_SAMPLES] @ weights,
            "Every block computes the samples of the first one: what it loads, too, begins at "
            "blockIdx.x * TILE_SAMPLES.",
        ),
    }


def wrong_mixtures(features, layers, expected):
    """What `mix_units` leaves if it is wrong: code -> (outputs, sentence)."""
    start = features.astype(np.float64)
    steps = {**wrong_steps(), **other_weights()}
    results = {
        code: (repeated(step, start, layers), sentence) for code, (step, sentence) in steps.items()
    }
    return {
        **results,
        **wrong_layers(start, layers),
        "samples mixed up": (mixed(expected), MIXED_UP),
        "samples mixed up in loading": (other_samples(expected), MIXED_UP),
        **{
            code: (one_of_four(expected, j), sentence)
            for code, (j, sentence) in one_for_four(len(expected)).items()
        },
    }


def wrong_steps():
    """What becomes of the units in a wrong layer: code -> (function of (B, 16), sentence)."""
    relu, following = FUNCTIONS["relu"], partial(np.roll, shift=-1, axis=1)
    neighbour = "its neighbour is (column + 1) % TILE: unit 0 comes after the last one."
    end = np.arange(TILE) == TILE - 1
    return {
        "ReLU forgotten": (
            lambda a: a - following(a),
            "There is no ReLU: each layer ends with max(x, 0).",
        ),
        "abs for ReLU": (
            lambda a: np.abs(a - following(a)),
            "Negative differences became positive: ReLU makes them zero, abs does not.",
        ),
        "difference reversed": (
            lambda a: relu(following(a) - a),
            "The difference is reversed: unit u minus unit u + 1.",
        ),
        "unit before": (
            lambda a: relu(a - np.roll(a, 1, axis=1)),
            "The unit before is subtracted: it is the following one, column + 1.",
        ),
        "unit before, reversed": (
            lambda a: relu(np.roll(a, 1, axis=1) - a),
            "Each unit is subtracted from the one before: unit u minus unit u + 1.",
        ),
        "sum, not difference": (
            lambda a: relu(a + following(a)),
            "The two units are added: the second weight is -1.",
        ),
        "nothing after the last unit": (
            lambda a: relu(a - np.where(end, 0, following(a))),
            f"After the last unit comes nothing: {neighbour}",
        ),
        "last unit after itself": (
            lambda a: relu(a - np.where(end, a, following(a))),
            f"The last unit is its own neighbour, and becomes zero: {neighbour}",
        ),
        "last unit stays": (
            lambda a: np.where(end, a, relu(a - following(a))),
            f"The last unit stays as it is: {neighbour}",
        ),
        "ReLU too early": (
            lambda a: relu(a) - relu(following(a)),
            "The ReLU takes each unit before the difference: it belongs after it.",
        ),
        "ReLU of the unit": (
            lambda a: relu(a) - following(a),
            "The ReLU takes the unit before the difference: it belongs after it.",
        ),
        "ReLU of the neighbour": (
            lambda a: a - relu(following(a)),
            "The ReLU takes the neighbour before the difference: it belongs after it.",
        ),
        "one buffer": (
            overwritten,
            "A layer overwrites the activations that it still reads: write to the other buffer, "
            "1 - source.",
        ),
        "neighbouring samples": (
            lambda a: relu(a - next_samples(a)),
            "The next sample's unit is subtracted: a sample has nothing to do with another. It is "
            "the next unit of the same one, column + 1.",
        ),
        **in_one_row(),
    }


def in_one_row():
    """As `wrong_steps`, where several samples are one row of units: of a warp, or of the block."""
    sentence = (
        "After the last unit comes unit 0 of another sample, as if the samples were one long row: "
        "it is unit 0 of the same sample. Of unit u the neighbour is (u + 1) % TILE."
    )
    before = (
        "Before unit 0 comes the last unit of another sample, as if the samples were one long row: "
        "and the neighbour of unit u is the one behind it, (u + 1) % TILE of the same sample."
    )
    found = {}
    for samples, end in itertools.product((2, TILE, BLOCK_SAMPLES), ("first", "itself", "nothing")):
        where = f"of {samples}, then {end}"
        found[f"in one row {where}"] = (
            partial(less_the_next, samples=samples, end=end),
            sentence,
        )
        found[f"in one row, backwards, {where}"] = (
            partial(less_the_next, samples=samples, end=end, step=-1),
            before,
        )
    return found


def less_the_next(units, samples, end, step=1):
    """A layer in which `samples` samples are one row; end: what comes after its last unit."""
    row = samples * TILE
    flat = np.zeros(-(-len(units) // BLOCK_SAMPLES) * BLOCK_SAMPLES * TILE)
    flat[: units.size] = units.ravel()
    flat = flat.reshape(-1, row)
    following = np.roll(flat, -step, axis=1)
    last = -1 if step == 1 else 0
    if end != "first":
        following[:, last] = flat[:, last] if end == "itself" else 0
    changed = np.maximum(flat - following, 0).reshape(-1, TILE)
    return changed[: len(units)]


def other_weights():
    """As `wrong_steps`, with each other small weight and neighbour."""
    found = {}
    for own, other, place in itertools.product((-2, -1, 1, 2), (-2, -1, 0, 1, 2), (-2, -1, 1, 2)):

        def step(units, own=own, other=other, place=place):
            return np.maximum(own * units + other * np.roll(units, -place, axis=1), 0)

        found[f"{own} and {other} at {place:+}"] = (
            step,
            f"Each layer computes max(0, {own} * unit u + {other} * unit u{place:+}): it is unit u "
            "minus unit u + 1.",
        )
    del found["1 and -1 at +1"]
    return found


def wrong_layers(start, layers):
    """Layers that are right, but too many, too few, or begin or end elsewhere."""
    always = "How many layers there are is an argument, `layers`: it is not always the same."
    again = (
        "As if every layer read the features again: source is layer % 2, and each layer reads what "
        "the one before has written. Or are the results taken from the wrong buffer? After "
        "`layers` layers they are in buffer layers % 2."
    )
    difference = repeated(lambda a: a - np.roll(a, -1, axis=1), start, layers)
    return {
        "ReLU at the end only": (
            np.maximum(difference, 0),
            "Only the last layer has a ReLU: each layer has one.",
        ),
        "ReLU on the features": (
            reference_warm_ups.mix_units(np.maximum(start, 0), layers),
            "The features went through the ReLU: it comes after the difference, in each layer.",
        ),
        "features again": (
            reference_warm_ups.mix_units(start, min(layers, 1)),
            again,
        ),
        "neighbours of the features": (
            from_the_features(start, layers, own=False),
            "Every layer subtracts the neighbours of the features: each layer has to store its "
            "units where the next one reads its neighbours.",
        ),
        "own unit of the features": (
            from_the_features(start, layers, own=True),
            "Every layer begins with the unit of the features: unit u, too, is that of the layer "
            "before.",
        ),
        "features again, in turns": (reference_warm_ups.mix_units(start, layers % 2), again),
        "one layer too few": (
            reference_warm_ups.mix_units(start, max(0, layers - 1)),
            "These are the activations of the layer before the last: the loop ends one too early, "
            "or the results are taken from the wrong buffer. After `layers` layers they are in "
            "buffer layers % 2.",
        ),
        "one layer too many": (
            reference_warm_ups.mix_units(start, layers + 1),
            "There is one layer too many: range(layers).",
        ),
        **{
            f"always {number} layers": (reference_warm_ups.mix_units(start, number), always)
            for number in range(5)
        },
    }


def from_the_features(start, layers, own):
    """Layers that take one of the two units always from the features: the own one, or the next."""
    units = start
    for _ in range(layers):
        first, second = (start, units) if own else (units, start)
        units = np.maximum(first - np.roll(second, -1, axis=1), 0)
    return units


def next_samples(units):
    """Of each block of 64 the samples one further on, after the last the first; zeros beyond."""
    padded = np.zeros((-(-len(units) // BLOCK_SAMPLES), BLOCK_SAMPLES, units.shape[1]))
    padded.reshape(-1, units.shape[1])[: len(units)] = units
    return np.roll(padded, -1, axis=1).reshape(-1, units.shape[1])[: len(units)]


def repeated(step, units, layers):
    for _ in range(layers):
        units = step(units)
    return units


def overwritten(units):
    """A layer in one buffer, unit by unit."""
    units = units.copy()
    for unit in range(TILE):
        units[:, unit] = np.maximum(units[:, unit] - units[:, (unit + 1) % TILE], 0)
    return units


# ---------------------------------------------------------------- mistakes that are known


def explained(found):
    """What an index outside an array, or a value that nobody wrote, says in this lesson."""
    if found.kind == "out-of-bounds":
        return next(
            (text for beginning, text in OUTSIDE if found.message.startswith(beginning)), ""
        )
    if "local memory" in found.message:
        return ""
    if found.kind == "uninitialised" and last_index(found.message) >= TILE:
        return (
            "fan_in is 16 in the first layer, then the number of units of the layer before: so "
            "many activations there are, and the product reads number input_tile + k. Each "
            "has to be stored, as unit unit_tile + column, and all tiles of a layer in the same "
            "buffer, 1 - source: the buffers change roles once per layer."
        )
    if found.kind == "uninitialised":
        # Of two buffers an element has three indices, and a tile of weights never has.
        return ACTIVATIONS_STORED if indices_of(found.message) > 2 else TILE_OR_ACTIVATIONS
    if found.kind == "race" and re.search(r"(writes|reads|race:) totals?\[", found.message):
        return (
            "If all threads share these totals: a thread needs four of its own, in "
            "cuda.local.array(SAMPLES_PER_THREAD, float32)."
        )
    return ""


ACTIVATIONS_STORED = (
    "Layer 0 reads buffer 0, source = layer % 2. And each unit of a layer has to be stored "
    "before the next layer reads it: thread column stores unit unit_tile + column of each "
    "tile, for all four of its samples, also those beyond the batch."
)
TILE_OR_ACTIVATIONS = (
    "If that is the tile of weights: each of the 256 threads fetches its weight. Its row is there "
    "that of an input, not of a sample, so the batch has nothing to do with it. If it is an "
    "activation: it has to be stored for all 64 samples of the block, also those beyond the batch."
)


# How a finding begins: its array and, where that tells the mistakes apart, its first index.
OUTSIDE = (
    (
        "hidden[-",
        "hidden[0] holds the first hidden layer's activations: its index is `layer`.",
    ),
    (
        "hidden[",
        "hidden has `layers` entries for `batch` samples of `width` units, hidden[layer, sample, "
        "unit]; the last of the layers + 1 matrices makes `outputs`. Take the sizes from "
        "hidden.shape, and store only if sample < batch: not local_sample, which counts within "
        "the block.",
    ),
    (
        "weights[",
        "The matrices are (16, width), (width, width) ... (width, 16). After each layer the offset "
        "grows by its fan_in * fan_out, and only then fan_in changes; the last layer has OUTPUTS "
        "units. The weights of input i are from offset + i * fan_out on.",
    ),
    (
        "features[",
        "features has 16 numbers for each sample of the batch: those of a sample beyond it are "
        "zeros, and only the first layer reads features at all.",
    ),
    (
        "weight_tile[",
        "A tile has 16 inputs and 16 units: k goes from 0 to TILE - 1, and the loop over "
        "input_tile brings the other inputs.",
    ),
    (
        "activations[",
        "A block has 64 samples of up to 64 units: row + j * TILE says which sample of the block, "
        "input_tile + k which activation, and the first index is 0 or 1.",
    ),
)


def wrong_values(network):
    """code -> `Mistake` for wrong terms, in all layers.

    Those that explain nothing of the first blocks are left out: hundreds of networks of thousands
    of samples would take minutes, and gigabytes.
    """
    one_sample = {
        code: (Terms(sample=code), sentence)
        for code, (_, sentence) in one_for_four(len(network.arrays[0])).items()
    }
    known = {
        **MISTAKES,
        **MADE_ALONE,
        **(OF_ONE_SAMPLE if len(network.arrays[0]) == 1 else {}),
        **one_sample,
        **wrong_indices(),
        **two_at_once(MISTAKES),
    }
    first = first_samples(network)
    found = {}
    for code, (terms, sentence) in known.items():
        if first is network or may_explain(first, terms):
            outputs, hidden = network_with(network, terms)
            found[code] = Mistake(sentence, {"outputs": outputs, "hidden": hidden})
    return found


def network_with(network, terms):
    """(outputs, hidden) with these terms."""
    features, weights, _, _ = network.arrays
    with np.errstate(over="ignore"):
        outputs, hidden = forward(features, weights.astype(np.float64), network.sizes, terms)
    return outputs, np.stack(hidden)


def first_samples(network):
    """The first blocks of a network that has many; else the same one."""
    features, weights, stored, outputs = network.arrays
    few = 2 * BLOCK_SAMPLES
    if len(features) <= 2 * few:
        return network
    arrays = features[:few], weights, stored.array[:, :few], outputs.array[:few]
    return network._replace(arrays=arrays)


def may_explain(network, terms):
    """Whether these terms explain an array that is wrong, or leave all right if none is."""
    features, _, stored, outputs = network.arrays
    right_outputs, activations = reference.mlp_forward(features, network.matrices)
    rights = right_outputs, np.stack(activations[1:])
    results = network_with(network, terms)
    arrays = list(zip((outputs, stored), rights, results, strict=True))
    wrong = [(got, result) for got, right, result in arrays if not nearly(got, right)]
    if not wrong:
        return all(nearly(result, right) for _, right, result in arrays)
    return any(nearly(got, result) for got, result in wrong)


def nearly(got, result):
    largest = np.max(np.abs(result), initial=1.0, where=np.isfinite(result))
    return np.allclose(got, result, rtol=1e-3, atol=1e-3 * largest, equal_nan=True)


def one_matrix_less(network, hidden):
    """What is left if the last of the hidden layers is taken for the one that makes outputs."""
    features, weights, _, _ = network.arrays
    *before, (fan_in, _), _ = network.sizes
    shorter = [*before, (fan_in, OUTPUTS)]
    outputs, _ = forward(features, weights.astype(np.float64), shorter, Terms())
    written = np.arange(len(hidden)) < len(before)
    sentence = (
        "One matrix is missing: hidden.shape[0] is the number of the hidden layers, and one more "
        "follows, which makes the outputs. So layer goes from 0 to `layers`, range(layers + 1), "
        "and the last is the one with layer == layers."
    )
    arrays = {"outputs": outputs, "hidden": kept(hidden, written[:, np.newaxis, np.newaxis])}
    return {"one matrix too few": Mistake(sentence, arrays)}


def not_loaded(stored, outputs):
    """(code, sentence) if some samples are as if all of their features were zero; else None."""
    zero = (stored.array == 0).all(axis=(0, 2)) & (np.abs(outputs.array - 0.5) < 1e-6).all(axis=1)
    if not zero.any():
        return None
    return "sums of zero", (
        f"All sums of {named(zero)} are zero. Are the features fetched? Thread (column, row), "
        "which are cuda.threadIdx.x and .y, fetches feature `column` of its four samples, and only "
        "a sample beyond the batch gets zeros. Or is nothing added to some of its four totals?"
    )


def named(samples):
    """Which samples, of a mask: the first one by its number."""
    return f"sample {np.flatnonzero(samples)[0]}{' and others' if samples.sum() > 1 else ''}"


def matrix_elsewhere(network):
    """(code, sentence) if a layer has read its matrix from another place in weights; else None."""
    values, weights, stored, outputs = network.arrays
    begin = 0
    for layer, (fan_in, fan_out) in enumerate(network.sizes):
        last = layer == len(network.sizes) - 1
        results = outputs.array if last else stored.array[layer]
        function = FUNCTIONS["sigmoid" if last else "relu"]
        places = begins_of_matrix(weights, values[:2], results[:2], (fan_in, fan_out), function)
        if not places:
            return None
        if begin not in places:
            return "matrix elsewhere", (
                f"Layer {layer} reads its matrix from weights[{places[0]}] on: it begins at "
                f"weights[{begin}], where those of the layers before end. After each layer the "
                "offset grows by the fan_in * fan_out of that layer."
            )
        begin += fan_in * fan_out
        values = results
    return None


def begins_of_matrix(weights, values, results, shape, function):
    """Where in weights a matrix of this shape begins that makes these results of these values."""
    size = shape[0] * shape[1]
    found = []
    for begin in range(len(weights) - size + 1):
        matrix = weights[begin : begin + size].reshape(shape)
        if np.allclose(function(values @ matrix), results, rtol=0, atol=1e-4):
            found.append(begin)
    return found


def parts_of_batch(case, outputs):
    """code -> (which samples were written, sentence)."""
    batch = len(outputs)
    samples = np.arange(batch).reshape(-1, *[1] * (outputs.ndim - 1))
    place = samples % BLOCK_SAMPLES
    overlapping = 16 * ((batch - 1) // BLOCK_SAMPLES) + BLOCK_SAMPLES
    return {
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
            "The last block, which is not full, never ran: round the number of blocks up."
            if case.own_launch()
            else "The last block, which is not full, has written nothing. Have its threads left? "
            "One whose sample is beyond the batch may not return: the others need it. Or does a "
            "guard ask for more than that the sample is below the batch?",
        ),
        "first block only": (
            samples < BLOCK_SAMPLES,
            "Only the samples of block 0 were stored: does a guard compare with 64, and not with "
            "the batch, or do the threads of other blocks return?"
            if case.clues().counts_blocks
            else "Only the samples of block 0 were computed: begin at cuda.blockIdx.x * "
            "TILE_SAMPLES.",
        ),
    }


def written_in_part(case, right):
    """code -> `Mistake` for results of which a part was never written."""
    outputs, hidden = right
    found = {
        code: Mistake(
            sentence, {"outputs": kept(outputs, written), "hidden": kept(hidden, written)}
        )
        for code, (written, sentence) in parts_of_batch(case, outputs).items()
    }
    found["outputs never written"] = Mistake(
        "The hidden layers are right, but outputs were never written: there are layers + 1 "
        "matrices, and what the last one makes is stored there.",
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


RIGHT_WEIGHT = "k", "column"
RIGHT_ACTIVATION = "input_tile", "k"


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
    product: str = "times"
    weight_index: tuple = RIGHT_WEIGHT  # how the product reads the weight tile
    activation_index: tuple = RIGHT_ACTIVATION  # and the activations of a sample
    units: str = "width"  # of hidden layers
    begin: float = 0.0  # of each total
    sample: str = "own"  # whose activations a product reads


FUNCTIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "same": lambda x: x,
    "sigmoid": reference.sigmoid,
    "minus": lambda x: reference.sigmoid(-x),
    "tanh": np.tanh,
    "abs": np.abs,
    "leaky": lambda x: np.where(x > 0, x, 0.01 * x),
    "sigmoid of relu": lambda x: reference.sigmoid(np.maximum(x, 0)),
    "inputs": lambda x: x,
    "sigmoid twice": lambda x: reference.sigmoid(reference.sigmoid(x)),
    "exp": np.exp,
    "negative part": lambda x: np.minimum(x, 0),
    "softplus": lambda x: np.log1p(np.exp(x)),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "clipped": lambda x: np.clip(x, 0, 1),
    "half of tanh": lambda x: (1 + np.tanh(x)) / 2,
}


def forward(features, weights, sizes, terms):
    """(outputs, hidden layers) in float64, tile by tile as the kernel does it.

    Samples beyond the batch fill the last block: where samples are mixed up, they count, too.
    """
    own = len(features)
    features = np.pad(features, ((0, -own % BLOCK_SAMPLES), (0, 0)))
    batch = len(features)
    buffer = np.zeros((batch, 64))
    buffer[:, :FEATURES] = REORDERED[terms.order](features)
    first_buffer = buffer.copy()
    totals = np.zeros((batch, TILE))
    hidden = []
    offset = 0
    for number, (width, units) in enumerate(sizes):
        last = number == len(sizes) - 1
        few = terms.units == "OUTPUTS"
        fan_out = OUTPUTS if few else units
        fan_in = FEATURES if terms.fan_in_stays or few else width
        matrix = weights[offset : offset + fan_in * fan_out].reshape(fan_in, fan_out)
        matrix = misread(matrix, weights, terms.matrix)
        function = FUNCTIONS[terms.last if last else terms.between]
        source = first_buffer if terms.buffers == "always the first" else buffer
        source = OF_SAMPLES[terms.sample](source)
        inputs = np.pad(source, ((0, 0), (0, fan_out)))[:, :fan_out]
        results, kept_values = [], []
        if terms.totals == "once per layer":
            totals = np.zeros((batch, TILE))
        for unit in range(0, fan_out, TILE):
            if terms.totals not in ("for ever", "once per layer"):
                totals = np.full((batch, TILE), terms.begin)
            totals = add_products(totals, source, matrix, unit, terms, last)
            results.append(function(totals))
            kept_values.append(results[-1] if last else FUNCTIONS[terms.stored](totals))
            if terms.stored == "inputs" and not last:
                kept_values[-1] = inputs[:, unit : unit + TILE]
            if terms.totals == "one for four":
                totals = four_together(totals)
                results[-1] = function(totals)
                kept_values[-1] = results[-1]
            if terms.buffers == "one":
                buffer[:, unit : unit + TILE] = results[-1]
        never = np.full((batch, units - fan_out), sentinel_of(np.dtype(np.float32)))
        hidden.append(np.hstack([*kept_values, never]))
        buffer = buffer.copy()
        buffer[:, :fan_out] = np.hstack(results)
        offset += fan_in * fan_out
    return hidden[-1][:own], [layer[:own] for layer in hidden[:-1]]


def add_products(totals, source, matrix, unit, terms, last):
    """The totals of one tile of units, which begins at `unit`."""
    columns = matrix[:, unit : unit + TILE]
    indices = terms.weight_index, terms.activation_index
    for first in range(0, len(columns), TILE):
        if indices != (RIGHT_WEIGHT, RIGHT_ACTIVATION):
            tile = columns[first : first + TILE]
            totals = totals + indexed_products(source, tile, first, unit, terms)
            continue
        if terms.tiles == "first only" and first > 0:
            break
        values = (
            source[:, :TILE] if terms.tiles == "first inputs" else source[:, first : first + 16]
        )
        rows = columns[:TILE] if terms.tiles == "first rows" else columns[first : first + 16]
        if terms.product == "times":
            totals = totals + values @ rows
        elif terms.product == "relu of each":
            products = values[:, :, np.newaxis] * rows
            totals = totals + np.maximum(products, 0).sum(axis=1)
        else:
            totals = totals + values.sum(axis=1)[:, np.newaxis] + rows.sum(axis=0)
        if terms.totals in ("relu in between", "both in between") and not last:
            totals = np.maximum(totals, 0)
        if terms.totals in ("sigmoid in between", "both in between") and last:
            totals = reference.sigmoid(totals)
    return totals


def indexed_products(source, tile, first, unit, terms):
    """What wrong indices in the loop over k add up: (batch, 16)."""
    samples = np.arange(len(source))[:, np.newaxis, np.newaxis]
    places = {
        "k": np.arange(TILE)[np.newaxis, :, np.newaxis],
        "row": samples % TILE,
        "column": np.arange(TILE)[np.newaxis, np.newaxis],
    }
    weights = tile[tuple(places[name] for name in terms.weight_index)]
    begin, place = terms.activation_index
    start = {"input_tile": first, "unit_tile": unit, "0": 0}[begin]
    products = weights * source[samples, start + places[place]]
    return np.broadcast_to(products, (len(source), TILE, TILE)).sum(axis=1)


def four_together(totals):
    """One total for the four samples of a thread, 16 apart; zeros beyond the batch."""
    result = totals.copy()
    for sample in range(len(totals)):
        block, place = divmod(sample, BLOCK_SAMPLES)
        first = block * BLOCK_SAMPLES + place % TILE
        result[sample] = totals[first : (block + 1) * BLOCK_SAMPLES : TILE].sum(axis=0)
    return result


def misread(matrix, weights, how):
    """A matrix as a wrong index reads it."""
    fan_in, fan_out = matrix.shape
    if how == "first units":
        return np.tile(matrix[:, :TILE], fan_out // TILE)
    if how == "rectified":
        return np.maximum(matrix, 0)
    if how == "first of each tile":
        return np.where(np.arange(fan_in)[:, np.newaxis] % TILE == 0, matrix, 0)
    if how == "transposed":
        return matrix.reshape(fan_out, fan_in).T
    if how == "first again":
        return weights[: fan_in * fan_out].reshape(fan_in, fan_out)
    if how == "tiles in a row":
        tiles = matrix.reshape(fan_out // TILE, fan_in // TILE, TILE, TILE)
        return tiles.transpose(1, 2, 0, 3).reshape(fan_in, fan_out)
    if how == "tiles turned":
        tiles = matrix.reshape(fan_in // TILE, TILE, fan_out // TILE, TILE)
        return tiles.transpose(0, 3, 2, 1).reshape(fan_in, fan_out)
    if how in PLACES:
        inputs, units = np.indices(matrix.shape)
        places = PLACES[how](inputs, units, fan_in, fan_out)
        # An index outside the matrix is found before: that its last weight is taken says nothing.
        return matrix.ravel()[np.minimum(places, matrix.size - 1)]
    return matrix


def within_tiles(inputs, units, fan_out, along, down):
    """Where a weight is read if tiles begin at the right place, but are gone over in other steps.

    down, along: how far the weights of two inputs, and of two units, are apart in a tile.
    """
    row, column = inputs % TILE, units % TILE
    return (inputs - row) * fan_out + units - column + row * down + column * along


# Where the weight of an input and a unit is read, from the offset on.
PLACES = {
    "256 from the tile's begin": lambda i, u, fan_in, fan_out: within_tiles(
        i, u, fan_out, along=1, down=TILE
    ),
    "256 from the tile's begin, turned": lambda i, u, fan_in, fan_out: within_tiles(
        i, u, fan_out, along=TILE, down=1
    ),
    "rows of 16": lambda i, u, fan_in, fan_out: i * TILE + u,
    "rows of fan_in": lambda i, u, fan_in, fan_out: i * fan_in + u,
}


def one_of_four(source, j):
    """Of each thread's four samples, 16 apart, all four are number j; zeros beyond the batch."""
    samples = np.arange(len(source))
    place = samples % BLOCK_SAMPLES
    origin = samples - place + place % TILE + j * TILE
    return np.where((origin < len(source))[:, np.newaxis], source[origin % len(source)], 0)


def one_for_four(batch):
    """The same for one sample in place of four; in a small batch zeros may come from elsewhere."""
    return ONE_FOR_FOUR if batch >= BLOCK_SAMPLES else {}


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


def other_samples(source):
    """What is read at row * 4 + j in place of row + j * 16; zeros beyond the batch."""
    samples = np.arange(len(source))
    place = samples % BLOCK_SAMPLES
    origin = samples - place + place % TILE * 4 + place // TILE
    return np.where((origin < len(source))[:, np.newaxis], source[origin % len(source)], 0)


def of_the_row(features):
    """Thread (column, row) loads feature `row`: all features of a sample are the same one."""
    place = np.arange(len(features)) % TILE
    return np.tile(features[np.arange(len(features)), place][:, np.newaxis], FEATURES)


OF_SAMPLES = {
    "own": np.asarray,
    "row * 4 + j": other_samples,
    "row + j * 16": mixed,
    "last of four": partial(one_of_four, j=3),
    "first of four": partial(one_of_four, j=0),
}
REORDERED = {
    "right": lambda features: features,
    "mixed": lambda features: mixed(features),
    "row * 4 + j": other_samples,
    "feature of the row": of_the_row,
    "reversed": lambda features: features[:, ::-1],
    "rectified": lambda features: np.maximum(features, 0),
}


def wrong_indices():
    """Each other way to read the weight tile and the activations: code -> (`Terms`, sentence)."""
    found = {}
    for index in itertools.product(("k", "row", "column"), repeat=2):
        read = ", ".join(index)
        found[f"weight_tile[{read}]"] = (
            Terms(weight_index=index),
            f"The weight tile is read as weight_tile[{read}]: what thread column needs in round k "
            "is weight_tile[k, column].",
        )
    for begin, place in itertools.product(("input_tile", "unit_tile", "0"), ("k", "row", "column")):
        if (begin, place) == ("0", "k"):  # "first activations again"
            continue
        found[f"activation {begin} + {place}"] = (
            Terms(activation_index=(begin, place)),
            f"The activation that is read is number {begin} + {place} of a sample: in round k it "
            "is number input_tile + k.",
        )
    return {code: mistake for code, mistake in found.items() if mistake[0] != Terms()}


MIXED_UP = (
    "The samples are mixed up: some lines count them as row + j * TILE, others as "
    "row * SAMPLES_PER_THREAD + j."
)
# code -> (which of a thread's four samples all four are, sentence)
ONE_FOR_FOUR = {
    f"{which} of four": (
        j,
        f"All four samples of a thread have the numbers of its {which} one, row{place}. Is there "
        "one variable for the four, which goes from one loop over j to the next? Each sample needs "
        "its own, in cuda.local.array(SAMPLES_PER_THREAD, float32), or is stored in the same round "
        "of the loop, where no other thread still reads. Or is an index the same for all j?",
    )
    for which, j, place in (("last", 3, " + 3 * TILE"), ("first", 0, ""))
}
AFTER_EACH_TILE = "The ReLU, in the last layer the sigmoid, is applied after each tile of inputs"
MISTAKES = {
    "sixteen units in all layers": (
        Terms(units="OUTPUTS"),
        "Hidden layers have only 16 units here: fan_out is OUTPUTS in the last layer, and width in "
        "the others.",
    ),
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
    "sigmoid twice": (
        Terms(last="sigmoid twice"),
        "The outputs have gone through the sigmoid twice: once is enough.",
    ),
    "softsign for the sigmoid": (
        Terms(last="softsign"),
        "The outputs are x / (1 + |x|): the sigmoid is 1 / (1 + exp(-x)).",
    ),
    "clipped": (
        Terms(last="clipped"),
        "The outputs are cut off at 0 and 1: the sigmoid is 1 / (1 + exp(-x)).",
    ),
    "sigmoid of 2 x": (
        Terms(last="half of tanh"),
        "The outputs are the sigmoid of twice the sum: it is 1 / (1 + exp(-x)).",
    ),
    "inputs stored": (
        Terms(stored="inputs"),
        "hidden holds what the layer has read: store what it has made, the value after the ReLU.",
    ),
    "totals begin at 1": (
        Terms(begin=1.0),
        "Each total begins at 1: it begins at float32(0).",
    ),
    "other samples read": (
        Terms(sample="row * 4 + j"),
        "The products read other samples, row * SAMPLES_PER_THREAD + j: totals[j] belongs to "
        "row + j * TILE.",
    ),
    "stored as other samples": (
        Terms(sample="row + j * 16"),
        "What totals[j] holds belongs to one sample and is stored as another: the products read "
        "row + j * TILE, and the stores count row * SAMPLES_PER_THREAD + j. Take one of the two in "
        "both.",
    ),
    "exp for the sigmoid": (
        Terms(last="exp"),
        "The last layer has an exp: the sigmoid is 1 / (1 + exp(-x)).",
    ),
    "tanh in hidden layers": (
        Terms(between="tanh", stored="tanh"),
        "The hidden layers have a tanh: they need a ReLU, max(x, 0).",
    ),
    "negative part": (
        Terms(between="negative part", stored="negative part"),
        "The hidden layers keep what is negative: ReLU is max(x, 0).",
    ),
    "softplus": (
        Terms(between="softplus", stored="softplus"),
        "The hidden layers have log(1 + exp(x)): they need a ReLU, max(x, 0).",
    ),
    "ReLU of the weights": (
        Terms(matrix="rectified"),
        "Negative weights count as zero: the ReLU belongs to the sum, not to the weights.",
    ),
    "ReLU of the weights only": (
        Terms(matrix="rectified", between="same", stored="same"),
        "The ReLU takes the weights: it belongs to the sum of the products.",
    ),
    "ReLU of the features": (
        Terms(order="rectified"),
        "Negative features count as zero: the ReLU belongs to the sums of each hidden layer.",
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
    "tiles in a row": (
        Terms(matrix="tiles in a row"),
        "Each weight tile is fetched as 256 weights in a row: weights holds a matrix row by row, "
        "so the weight of input i and unit u is at offset + i * fan_out + u.",
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
        "The ReLU is applied after each tile of inputs: only the whole sum gets it, behind the "
        "loop over tiles of inputs.",
    ),
    "sigmoid between tiles": (
        Terms(totals="sigmoid in between", last="same"),
        "The sigmoid is applied after each tile of inputs: only the whole sum gets it.",
    ),
    "ReLU and sigmoid between tiles": (
        Terms(totals="both in between", last="same"),
        f"{AFTER_EACH_TILE}: only the whole sum gets it, behind the loop over tiles of inputs.",
    ),
    "ReLU and sigmoid between tiles, and at the end": (
        Terms(totals="both in between"),
        f"{AFTER_EACH_TILE}, and once more at the end: only the whole sum gets it.",
    ),
    "one buffer": (
        Terms(buffers="one"),
        "A layer overwrites the activations that it still reads: write to the other buffer, "
        "1 - source.",
    ),
    "always the first buffer": (
        Terms(buffers="always the first"),
        "Every layer reads the features again: each later one has to read what the layer before it "
        "has stored, in buffer layer % 2.",
    ),
    "one total for four samples": (
        Terms(totals="one for four"),
        "The four samples of a thread are added together: each needs a total of its own, "
        "totals[j].",
    ),
    "first units again": (
        Terms(matrix="first units"),
        "Each tile of units is computed with the weights of the first 16: fetch unit "
        "unit_tile + column.",
    ),
    "sum of weight and activation": (
        Terms(product="plus"),
        "Weight and activation are added: multiply them.",
    ),
    "feature of the row": (
        Terms(order="feature of the row"),
        "All sixteen features of a sample are the same one: thread (column, row) loads feature "
        "`column` of its samples.",
    ),
    "features reversed": (
        Terms(order="reversed"),
        "The features are in reverse order: feature `column` belongs into place `column`.",
    ),
    "samples mixed up": (Terms(order="mixed"), MIXED_UP),
    "samples mixed up in loading": (Terms(order="row * 4 + j"), MIXED_UP),
}

# Of a batch of one sample, in whose block one thread of each column has a sample.
OF_ONE_SAMPLE = {
    "weights guarded by the batch": (
        Terms(matrix="first of each tile"),
        "Of each 16 inputs only the first counts, and this batch has one sample: do only threads "
        "that have a sample fetch weights? All others have to fetch theirs, too: a guard for the "
        "batch belongs around features and results, never around weights.",
    ),
}

# Mistakes that are not tried together with another one.
MADE_ALONE = {
    f"ReLU of each product{where}": (
        Terms(product="relu of each", between=between, stored=between),
        f"The ReLU takes each product of a weight and an activation{instead}: only the whole sum "
        "of a hidden layer gets it.",
    )
    for where, between, instead in (
        (" and of the sum", "relu", ", and then the sum"),
        ("", "same", ", and not the sum"),
    )
}

ROWS_OF_A_MATRIX = (
    "weights holds a matrix row by row, so the weight of input i and unit u is at offset + "
    "i * fan_out + u."
)
MADE_ALONE |= {
    f"{code} in a matrix": (Terms(matrix=code), f"{told} {ROWS_OF_A_MATRIX}")
    for code, told in (
        (
            "256 from the tile's begin",
            "Each weight tile is fetched as 256 weights in a row, from its first one on: the rows "
            "of a tile are fan_out weights apart, and not TILE.",
        ),
        (
            "256 from the tile's begin, turned",
            "Each weight tile is fetched as 256 weights in a row, from its first one on, and is "
            "turned: the rows of a tile are fan_out weights apart.",
        ),
        ("rows of 16", "The rows of a matrix are taken as 16 weights apart:"),
        ("rows of fan_in", "The rows of a matrix are taken as fan_in weights apart:"),
    )
}
