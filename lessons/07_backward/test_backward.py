"""Checks of lesson 7. Gradients are compared with float64, and with what forgotten terms give.

Most batches need several blocks, and leave whole threads of the last one without a sample: an
addition that is not atomic, or a thread that leaves, shows in every check.
"""

import itertools
import re
from functools import partial
from typing import NamedTuple

import numpy as np

from lessons import reference
from lessons.grading.advice.counted import counted_otherwise
from lessons.grading.checks.case import check
from lessons.grading.checks.mistakes import Left, Mistake, expect_all, same, two_at_once
from lessons.grading.checks.ruled_out import is_clearly_different
from lessons.reference import warm_ups as reference_warm_ups

GRID_SHAPE = 5, 7, 3
BLOCK_SAMPLES = 64
THREADS = "grid", 2, (16, 16)  # of `relu_backward`: one per element
RAGGED = 69  # two blocks; in the second, rows 5 to 15 have no sample at all


@check("relu_backward")
def test_relu_backward(case):
    case.explain = explained_mask
    # The first one has more blocks down than across: who takes x for the sample does not reach all.
    for shape in ((40, 17), (64, 16), (33, 40), (1, 1), (19, 5)):
        gradients = case.random(shape, -1, 1)
        # As behind a ReLU: half of them are exactly zero, and some are tiny.
        before = np.maximum(case.random(shape, -1, 1), 0)
        before.flat[::7] *= np.float32(2.0**-60)
        activations = case.output(shape, initial=before)
        counts = case.measure("launch_relu_backward", gradients, activations)
        expected = reference_warm_ups.relu_backward(gradients, before)
        known = wrong_masks(gradients, before)
        case.expect(activations, expected, "activations", threads=THREADS, candidates=known)
        case.require_many_threads(counts, activations)


@check("add_weight_gradients")
def test_add_weight_gradients(case):
    # With 69, to leave out the last block would be the same as to take the first one only.
    for batch in (64, 133, 1, 200):
        case.explain = partial(explained_products, batch)
        activations, deltas = case.random((batch, 16), -1, 1), case.random((batch, 16), -1, 1)
        before = case.random((16, 16), 1, 2)
        grad_weights = case.output((16, 16), initial=before)
        arrays = activations, deltas, grad_weights
        counts = case.measure("launch_add_weight_gradients", *arrays)
        expected = before + reference_warm_ups.add_weight_gradients(activations, deltas)
        known = wrong_products(activations, deltas, before.astype(np.float64), grad_weights)
        case.expect(grad_weights, expected, "grad_weights", candidates=known)
    blocks = -(-len(deltas) // BLOCK_SAMPLES)
    expect_one_addition(case, counts, grad_weights, blocks)
    for name, array in (("activation", activations), ("delta", deltas)):
        fetched = counts.of(array).reads / array.size
        case.budget(
            f"reads of each {name} from global memory",
            yours=fetched,
            ours=1,
            allowed=2.2,
            diagnosis="read again and again",
            sentence=f"each {name} is read {fetched:.0f} times from global memory, for other "
            "weights of the same block. Fetch those of the block's 64 samples into shared memory "
            "first.",
            line=counts.busiest_line("reads", array),
        )


@check("loss")
def test_loss(case):
    for batch in (64, 133):
        # Three hidden layers: what is added once per layer is four times the loss, and not three.
        net = network(case, batch=batch, hidden=16, layers=3)
        _, _, loss_sum = run(case, net)
        expect_loss(case, net, loss_sum)


@check("last_layer")
def test_last_layer(case):
    for batch in (64, RAGGED):
        net = network(case, batch, hidden=16, layers=2)
        (grad_weights, grad_grid, _), times = run_in_blocks(case, net)
        part = np.s_[-16 * 16 :]
        compare_weights(case, net, grad_weights.array, part, times, grad_grid.array)


@check("all_layers")
def test_all_layers(case):
    for batch, hidden, layers in ((64, 16, 2), (RAGGED, 32, 2), (33, 16, 4), (20, 64, 1)):
        net = network(case, batch, hidden, layers)
        (grad_weights, grad_grid, _), times = run_in_blocks(case, net)
        compare_weights(case, net, grad_weights.array, np.s_[:], times, grad_grid.array)


@check("grid")
def test_grid(case):
    # Two layers first: with one, totals that go on leave what a scatter in each layer leaves.
    for batch, hidden, layers in ((64, 16, 2), (RAGGED, 16, 1), (20, 32, 1)):
        net = network(case, batch, hidden, layers)
        (grad_weights, grad_grid, _), _ = run_in_blocks(case, net)
        compare_grid(case, net, grad_grid.array, grad_weights.array)


@check("few_atomics")
def test_few_atomics(case):
    # One sample less than two blocks have: with both full, some mistakes leave the same.
    net = network(case, 2 * BLOCK_SAMPLES - 1, hidden=32, layers=1)
    counts, arrays = measure(case, net)
    grad_weights, grad_grid, loss_sum = arrays
    compare_weights(case, net, grad_weights.array, np.s_[:], grad_grid=grad_grid.array)
    expect_loss(case, net, loss_sum)
    blocks = 2
    expect_one_addition(case, counts, grad_weights, blocks)
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
    compare_weights(case, net, grad_weights.array, np.s_[:], grad_grid=grad_grid.array)
    compare_grid(case, net, grad_grid.array, grad_weights.array)


@check("many_blocks")
def test_many_blocks(case):
    already = np.float32(2.0**-12)  # what is there before; small, so that no digits are lost
    large = case.size(large=2003, small=90)
    for batch, hidden, engine in ((150, 16, None), (large, 32, "large")):
        net = network(case, batch, hidden, layers=2)
        grad_weights, grad_grid, loss_sum = run(case, net, already, engine)
        expect_loss(case, net, loss_sum, already)
        weights, grid = grad_weights.array - already, grad_grid.array - already
        compare_weights(case, net, weights, np.s_[:], grad_grid=grid)
        compare_grid(case, net, grid, weights)


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
    """(as `run`, how often each weight is added to per block).

    Ends the check if each sample adds to the weights by itself.
    """
    counts, arrays = measure(case, net)
    weights = arrays[0]
    blocks = -(-len(net.uv) // BLOCK_SAMPLES)
    times = additions(counts, weights) / weights.array.size / blocks
    samples = min(len(net.uv), BLOCK_SAMPLES)
    if samples >= BLOCK_SAMPLES / 2:
        case.keep_within(
            "atomic additions to each weight per block",
            yours=times,
            ours=1,
            allowed=samples / 2 - 0.5,
            diagnosis="an atomic per sample",
            sentence=f"each weight gets {times:.0f} atomic additions per block, which has "
            f"{samples} samples: {who_adds(times)}",
        )
    return arrays, times


def who_adds(times):
    """Where so many additions per weight and block come from."""
    if times <= BLOCK_SAMPLES:
        return (
            "every sample adds by itself. Add up the products of a block's samples first; then one "
            "addition is enough."
        )
    return (
        "more than one for each, so several threads add to the same weight. In a block it has one "
        "thread, which adds up the products of all samples, and makes one addition."
    )


def measure(case, net):
    arrays = outputs_of(case, net)
    case.explain = explained
    return case.measure("launch_backward", *inputs_of(net), *arrays), arrays


def explained(found):
    """What an index outside an array, or a value that nobody wrote, says in this lesson."""
    if found.kind == "uninitialised":
        return next((text for name, text in UNWRITTEN.items() if f"{name}[" in found.message), "")
    if found.kind == "race" and re.search(r"(writes|reads|race:) totals?\[", found.message):
        return (
            "If all threads share these totals: a thread needs four of its own, in "
            "cuda.local.array(SAMPLES_PER_THREAD, float32)."
        )
    if found.kind == "race" and "next round of the loop" in found.message:
        both = re.search(r"(writes|reads) \w+\[[01], \d+, \d+\]", found.message)
        return ROLES if both else ""
    if found.kind != "out-of-bounds":
        return ""
    return next((text for name, text in OUTSIDE.items() if f"{name}[" in found.message), "")


ROLES = (
    "Look first whether the two tiles change roles: the new delta takes the place of the "
    "activations, in tiles[1 - current], and current = 1 - current. Then the activations of the "
    "next layer are loaded over the old delta. If they do, it is the barrier that is missing."
)
UNWRITTEN = {
    "tiles": "What is read in tiles has to be stored: a delta for each of sixteen columns, zero "
    "from column 3 on; activations for all 64 samples, zero beyond the batch. The first delta is "
    "in tiles[0], and the last layer reads it there: the two change roles from layer to layer.",
    "squared_errors": "Each of the 256 threads stores its sum of squares, also one that has no "
    "sample or no colour: a zero.",
}
OUTSIDE = {
    "features": "The first layer has FEATURES = 16 inputs, the others have `width`; a sample past "
    "the batch has none: zeros.",
    "squared_errors": "There is a place for each of the block's 256 threads, number row * TILE + "
    "column; and the reduction begins with active = 128, half of them.",
    "grad_feature_grid": "The grid is indexed [row, column, channel]: v counts rows, u columns, "
    "and only the first three features came from it: the channel is the thread's column.",
    "uv": "A sample past the batch has no place in the grid: scatter is called if sample < batch.",
    "hidden": "The inputs of layer l are hidden[l - 1], those of layer 0 are the features; only "
    "samples within the batch are there.",
    "weights": "Going back, the offset begins at weights.shape[0], and each layer subtracts its "
    "fan_in * fan_out before it uses it. The weight from input i to unit u is at offset + i * "
    "fan_out + u.",
    "tiles": "A block has 64 samples of up to 64 units: the first index is 0 or 1, then comes "
    "row + j * TILE or s, then the input or the unit.",
    "weight_tile": "A tile has 16 inputs and 16 units, both counted from 0 to TILE - 1: "
    "input_tile and unit_tile say where it lies in `weights`, and are no part of its own indices.",
    "outputs": "There is an output for each sample of the batch: guard those beyond.",
    "target": "There is a target for each sample of the batch, and for three colours.",
}


def expect_one_addition(case, counts, grad_weights, blocks):
    per_weight = additions(counts, grad_weights) / grad_weights.array.size / blocks
    case.budget(
        "additions to each weight's gradient per 64 samples",
        yours=per_weight,
        ours=1,
        # Blocks of 16 samples would do, too.
        allowed=4.5,
        diagnosis="too many atomics",
        sentence=f"each weight's gradient gets {per_weight:.0f} atomic additions per 64 samples, "
        "and they queue up. Add up in the block first: each thread takes one weight, goes over all "
        "samples of the block in shared memory, and adds once.",
        line=counts.busiest_line("atomics", grad_weights),
    )


def additions(counts, array):
    return counts.of(array).atomics


def inputs_of(net):
    return net.uv, net.features, net.hidden, net.outputs, net.target, net.weights


def outputs_of(case, net, already=0.0):
    shapes = net.weights.shape, GRID_SHAPE, (1,)
    return tuple(case.output(shape, initial=np.full(shape, already)) for shape in shapes)


# ---------------------------------------------------------------- the warm-ups' known mistakes


def explained_mask(found):
    """What a finding in `relu_backward` says."""
    if found.kind != "race":
        return ""
    return (
        "Two threads meet at one element here. Each element has one thread of its own, that at "
        "(unit, sample), which reads its two numbers and stores one: it needs no loop, and no "
        "barrier."
    )


def explained_products(batch, found):
    """What memory that nobody has written says in the last block, if that one is not full."""
    block, left = divmod(batch, BLOCK_SAMPLES)
    last = re.search(rf"of block {block}\b", found.message)
    if found.kind != "uninitialised" or not left or not last:
        return ""
    return (
        f"block {block} is the last, and the batch of {batch} ends with its sample {left - 1}: the "
        f"places of the others of its {BLOCK_SAMPLES} need zeros, or the sum ends with the batch"
    )


def wrong_masks(gradients, before):
    """What `relu_backward` leaves if it is wrong: code -> (activations, sentence)."""
    passed = before > 0
    half = np.arange(before.size).reshape(before.shape) % before.shape[-1] < 16
    by = "the mask looks at the activation, activations[sample, unit] > 0."
    return {
        "nothing changed": (
            before,
            "activations are as they were: the delta takes the place of the activation.",
        ),
        "mask of the gradient": (
            np.where(gradients > 0, gradients, 0),
            f"Gradients above zero pass, whatever the activation is: {by}",
        ),
        "both masks": (
            np.where(passed & (gradients > 0), gradients, 0),
            f"Negative gradients are made zero as well: a gradient may be negative, and {by}",
        ),
        "mask forgotten": (
            gradients,
            "Every gradient passes. Where the activation is zero, the ReLU has stopped the sum: "
            "nothing passes there. With >= 0 in place of > 0 everything passes, too.",
        ),
        **{
            f"passes with {share}": (
                np.where(passed, gradients, share * gradients),
                f"Where the activation is zero, {share} of the gradient passes: that is the slope "
                "of a leaky ReLU; a ReLU lets nothing pass there.",
            )
            for share in (0.01, 0.1, 0.2, 0.5)
        },
        "mask reversed": (
            np.where(passed, 0, gradients),
            "The mask is reversed: a gradient passes where the activation is above zero.",
        ),
        "times the activation": (
            gradients * before,
            "The gradient is multiplied by the activation: the slope of a ReLU is 1 or 0.",
        ),
        "divided by the activation": (
            np.where(passed, gradients / np.where(passed, before, 1), 0),
            "The gradient is divided by the activation: the slope of a ReLU is 1 or 0.",
        ),
        "both multiplied where it passes": (
            np.where(passed & (gradients > 0), gradients * before, 0),
            "The gradient is multiplied by the activation: the slope of a ReLU is 1 or 0.",
        ),
        "the mask itself": (
            passed,
            "These are the ones and zeros of the mask: what passes is the gradient.",
        ),
        "added": (
            np.where(passed, before + gradients, 0),
            "The gradient is added to the activation: it takes its place.",
        ),
        "added everywhere": (
            before + gradients,
            "The gradient is added to the activation: it takes its place, where it passes.",
        ),
        "gradient kept for itself": (
            np.where(passed, before, 0) * (gradients > 0),
            "The activation passes where the gradient is above zero: it is the other way round.",
        ),
        "activation where it stopped": (
            np.where(passed, before, gradients),
            "The two are exchanged: where the activation is above zero, the gradient takes its "
            "place.",
        ),
        "sign reversed": (
            np.where(passed, -gradients, 0),
            "The sign is reversed: the gradient passes as it is.",
        ),
        **{
            f"threshold {threshold}": (
                np.where(before > threshold, gradients, 0),
                "Where the activation is small, nothing passes: above zero means > 0.",
            )
            for threshold in (1e-12, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.5)
        },
        "first tile of units": (
            np.where(half, np.where(passed, gradients, 0), before),
            "Only the first 16 units were changed: unit and sample are the two numbers of "
            "cuda.grid(2), and each is compared with its own length, activations.shape[1] and "
            "activations.shape[0].",
        ),
    }


def wrong_products(activations, deltas, before, got):
    """What `add_weight_gradients` leaves if it is wrong: code -> (grad_weights, sentence)."""
    inputs, units = activations.astype(np.float64), deltas.astype(np.float64)
    added = {**wrong_samples(inputs, units), **wrong_factors(inputs, units)}
    results = {code: (before + sums, sentence) for code, (sums, sentence) in added.items()}
    results["overwritten"] = (
        inputs.T @ units,
        "What grad_weights held before is gone: add to it, so that all blocks add up.",
    )
    products = inputs[:, :, np.newaxis] * units[:, np.newaxis, :]
    counted = counted_otherwise(got.array - before, products, "samples")
    return results | {code: (before + sums, told) for code, (sums, told) in counted.items()}


NOTHING_OF_THE_LAST_BLOCK = (
    "Nothing of the last block arrives, which has fewer than 64 samples. Do its threads return? A "
    "thread whose sample lies beyond the batch has to stay,"
)


def wrong_samples(inputs, units):
    """Sums over other samples than all, each once: code -> (what is added, sentence)."""
    batch = len(inputs)
    samples = np.arange(batch)
    right = inputs.T @ units
    place = (samples % BLOCK_SAMPLES)[:, np.newaxis]
    blocks = -(-batch // BLOCK_SAMPLES)
    # How many blocks take a sample, if each begins 16 further on than the one before.
    first = np.arange(blocks) * 16
    taken = ((samples[:, np.newaxis] >= first) & (samples[:, np.newaxis] < first + 64)).sum(axis=1)
    last = np.minimum(samples // BLOCK_SAMPLES * BLOCK_SAMPLES + BLOCK_SAMPLES, batch) - 1
    return {
        "16 samples of 64": (
            (inputs * (place < 16)).T @ units,
            "Only the first 16 of the block's 64 samples count: a thread fetches four samples, 16 "
            "apart, and the sum goes over all TILE_SAMPLES.",
        ),
        "one sample of 16": (
            (inputs * (place % 16 == 0)).T @ units,
            "Only every sixteenth sample counts: the sum goes over all of the block's samples.",
        ),
        "last sample only": (
            inputs[np.unique(last)].T @ units[np.unique(last)] * (batch % BLOCK_SAMPLES == 0),
            "Of each block only the last sample counts: add to the total, with +=, which begins "
            "once, before the loop.",
        ),
        "running total": (
            (inputs * (4 - place // 16)).T @ units,
            "The total is added several times while it grows: add it once, after all samples.",
        ),
        "own samples only": (
            np.stack(
                [
                    inputs[place[:, 0] % 16 == row, row] @ units[place[:, 0] % 16 == row]
                    for row in range(16)
                ]
            ),
            "A thread adds up its own four samples only: for its weight it goes over all of the "
            "block's, which others have fetched.",
        ),
        "own samples, own column": (
            np.stack([of_row(inputs * units, row) for row in range(16)]),
            "A thread adds up the products of its own four samples, and of its own column: for its "
            "weight, from input `row` to unit `column`, it goes over all of the block's samples.",
        ),
        "last sample missing": (
            (inputs * (place < BLOCK_SAMPLES - 1)).T @ units,
            "The last sample of the block is missing. Does the sum's loop end one too early, or "
            "does a guard leave out the batch's last sample, which is number batch - 1?",
        ),
        "first block only": (
            inputs[:BLOCK_SAMPLES].T @ units[:BLOCK_SAMPLES],
            "Only the samples of block 0 count. What do the threads of the other blocks do: do "
            "they all reach the atomic addition, and are there as many blocks as 64 samples each "
            "need?",
        ),
        "full blocks only": (
            inputs[: of_full_blocks(batch)].T @ units[: of_full_blocks(batch)],
            f"{NOTHING_OF_THE_LAST_BLOCK} for it has a weight of its own. It stores zeros and goes "
            "on.",
        ),
        "first block again": (
            inputs[:BLOCK_SAMPLES].T @ units[:BLOCK_SAMPLES] * blocks,
            "Every block adds the samples of the first one: begin at blockIdx.x * TILE_SAMPLES.",
        ),
        "blocks overlap": (
            (inputs * taken[:, np.newaxis]).T @ units,
            "The blocks overlap: block b begins with sample b * TILE_SAMPLES, not b * TILE.",
        ),
        "every block adds all": (
            right * blocks,
            f"Each sum is {blocks} times what it should be, and there are {blocks} blocks: does "
            "each of them go over the whole batch? It has 64 samples, s goes over TILE_SAMPLES.",
        ),
        **{
            code: (
                (inputs * times[:, np.newaxis]).T @ units,
                f"Each block adds the samples of {whose}, too: block b has the samples from "
                "b * TILE_SAMPLES on, TILE_SAMPLES of them at most, and no others.",
            )
            for code, (times, whose) in samples_in_several_blocks(samples, blocks).items()
        },
    }


def samples_in_several_blocks(samples, blocks):
    """code -> (how many blocks take each sample, which samples a block takes beside its own)."""
    block = samples // BLOCK_SAMPLES
    return {
        "all later samples, too": (block + 1, "all later blocks"),
        "all earlier samples, too": (blocks - block, "all earlier blocks"),
        "next block's samples, too": (np.minimum(block, 1) + 1, "the next block"),
        "samples of the block before, too": (
            1 + (block < blocks - 1),
            "the block before",
        ),
    }


def of_full_blocks(batch):
    """How many samples are in full blocks; all, where there is none: then nothing would be left."""
    return batch // BLOCK_SAMPLES * BLOCK_SAMPLES or batch


def of_row(numbers, row):
    """The sum over the samples of the threads of one row."""
    return numbers[np.arange(len(numbers)) % BLOCK_SAMPLES % 16 == row].sum(axis=0)


def wrong_factors(inputs, units):
    """Sums of other products, or in other places: code -> (what is added, sentence)."""
    right = inputs.T @ units
    own = np.diag(right)
    divided = "The sum is divided by how many samples there are: add the sum itself. The loss is a "
    divided += "mean, so each delta is divided already."
    return {
        "transposed": (
            right.T,
            "Rows and columns are exchanged: grad_weights[row, column] is the sum over activation "
            "`row` times delta `column` of each sample. Which is the other way round here: what is "
            "multiplied, the place where it is added, or the two arrays?",
        ),
        "mean": (right / len(inputs), divided),
        "mean over the block": (right / BLOCK_SAMPLES, divided),
        "two of the same column": (
            np.tile(own, (16, 1)),
            "Both numbers are taken from column `column`: the activation is that of input `row`.",
        ),
        "two of the same row": (
            np.tile(own[:, np.newaxis], (1, 16)),
            "Both numbers are taken from column `row`: the delta is that of unit `column`.",
        ),
        "activations squared": (
            inputs.T @ inputs,
            "The activations meet themselves: the other factor is the delta.",
        ),
        "deltas squared": (
            units.T @ units,
            "The deltas meet themselves: the other factor is the activation.",
        ),
        "masked": (
            np.maximum(inputs, 0).T @ units,
            "Negative activations are left out: a feature may be negative, and no mask belongs "
            "here.",
        ),
        "sum, not product": (
            inputs.sum(axis=0)[:, np.newaxis] + units.sum(axis=0),
            "Activation and delta are added: multiply them, sample by sample.",
        ),
        "sums multiplied": (
            inputs.sum(axis=0)[:, np.newaxis] * units.sum(axis=0),
            "First each is summed, then multiplied: multiply sample by sample, then sum.",
        ),
        "subtracted": (
            -right,
            "The sum is subtracted: add it. Which way a weight moves, lesson 8 decides.",
        ),
        "every thread adds": (
            right * 256,
            "Each weight gets its sum from every thread: a thread adds for its own weight only.",
        ),
        "nothing added": (0 * right, "grad_weights is as it was: nothing was added to it."),
    }


# ---------------------------------------------------------------- gradients, right and wrong


class Gradients(NamedTuple):
    weights: np.ndarray
    features: np.ndarray  # (B, 16)
    above: np.ndarray  # (B, 3), columns 0 to 2 of all tiles of all layers above the first


class Terms(NamedTuple):
    """The chain rule's terms, each of which is easily forgotten or taken for another."""

    factor: float = 2.0
    count: float | None = None  # None: all colours of the batch
    mean_over: str = "batch"
    slope: str = "sigmoid"
    padding: bool = False  # whether the thirteen outputs that are no colours count
    mask: str = "activation"
    mask_features: bool = False
    transposed: bool = True  # the weights, on the way back
    stored_transposed: bool = False
    offsets: str = "right"  # by how much the offset shrinks from layer to layer
    samples: int | None = None  # of each block's 64
    full_blocks: bool = False  # whether samples of a last block that has fewer are left out
    from_the_front: bool = False
    fan_out_stays: bool = False
    totals_go_on: bool = False
    scattered: str = "all"  # or "growing", after each tile of units
    delta: str = "new"
    sums: float = 1.0  # what the weights' sums are multiplied by
    inputs: str = "right"  # which activations each layer takes for its inputs
    matrix: str = "right"  # which weights the delta goes back through
    factor_of_totals: str = "delta"
    left_out: str = ""
    # How the products for a weight are indexed, and how the weight tile is read on the way back.
    activation_index: tuple = ("input_tile", "row")
    delta_index: tuple = ("unit_tile", "column")
    place: tuple = ("input_tile", "row", "unit_tile", "column")
    tile_index: tuple = ("column", "k")
    units: str = "all"  # on the way back
    error: str = "right"
    slope_of: str = "output"

    @property
    def indices_right(self):
        right = Terms()
        mine = self.activation_index, self.delta_index, self.place
        return mine == (right.activation_index, right.delta_index, right.place)


SLOPES = {
    "sigmoid": lambda y: y * (1 - y),
    "none": lambda y: 1.0,
    "half": lambda y: 1 - y,
    "other half": lambda y: y,
    "tanh": lambda y: 1 - y * y,
    "plus": lambda y: y * (1 + y),
    "square": lambda y: y * y,
    "square of the rest": lambda y: (1 - y) ** 2,
    "sigmoid again": lambda y: sigmoid(y) * (1 - sigmoid(y)),
}


def sigmoid(y):
    return 1 / (1 + np.exp(-y))


def gradients(net, terms=None):
    """The chain rule in float64, with these `Terms`."""
    terms = terms or Terms()
    delta = output_delta(net, terms)
    inputs = inputs_of_layers(net, terms.inputs)
    flat = net.weights.astype(np.float64)
    found = np.zeros(flat.size)
    width = net.hidden.shape[2]
    offset, fan_out = flat.size, 16
    totals = np.zeros((len(delta), 16))
    above = np.zeros((len(delta), 3))
    front = 0
    layers = len(inputs) - 1
    places = offsets_of(layers, width, terms.offsets)
    for layer in range(layers, -1, -1):
        activations = inputs[layer]
        fan_in = 16 if layer == 0 else width
        offset -= fan_in * fan_out
        place = front if terms.from_the_front else offset
        if terms.offsets != "right":
            place = places[layer]
        if terms.matrix == "last":
            place = flat.size - width * 16
        here = slice(place, place + fan_in * fan_out)
        at = slice(0, fan_in * fan_out) if terms.matrix == "first" else here
        matrix = flat[at].reshape(fan_in, fan_out)
        through = activations[:, :fan_out] if terms.factor_of_totals == "activations" else delta
        if through.shape[1] < fan_out:
            through = delta
        back = through @ (matrix.T if terms.transposed else turned(matrix))
        if terms.tile_index != Terms().tile_index:
            back = misread_tiles(matrix, delta, terms)
        if terms.units == "first tile":
            back = delta[:, :16] @ matrix[:, :16].T
        if terms.scattered == "growing" and layer == 0:
            tile = np.arange(fan_out) // 16
            back = (delta * (tile[-1] + 1 - tile)) @ matrix.T
        if terms.totals_go_on:
            back = running(back, totals)
        if layer > 0:
            above += back.reshape(len(back), -1, 16)[:, :, :3].sum(axis=1)
        mask = mask_of(terms, back, activations, delta, inputs)
        masked = back * mask
        if terms.delta == "over the old":
            masked = over_the_old(delta, matrix, np.broadcast_to(mask, back.shape))
        masked_layer = {"last only": layers, "first only": 1}.get(terms.mask, layer)
        if layer != masked_layer:
            masked = back
        if terms.delta == "added":
            masked = masked + activations * (activations > 0)
        below = masked if layer > 0 or terms.mask_features else back
        with_activations = below if terms.delta == "before the weights" else activations
        product = with_activations.T @ delta * terms.sums
        if not terms.indices_right:
            product = indexed_products(with_activations, delta, terms)
        if terms.left_out == ("first" if layer == 0 else "last" if layer == layers else "others"):
            product = 0 * product
        found[here] += (product.T if terms.stored_transposed else product).ravel()
        delta = activations if terms.delta == "over itself" and layer > 0 else below
        front += fan_in * fan_out
        if not terms.fan_out_stays:
            fan_out = fan_in
        elif fan_in != fan_out:
            delta = delta[:, :fan_out]
    return Gradients(found, below, above)


def over_the_old(delta, matrix, mask):
    """The new delta, if each tile of inputs writes its part over the old one, which others read."""
    fan_in, fan_out = matrix.shape
    tile = np.zeros((len(delta), max(fan_in, fan_out)))
    tile[:, :fan_out] = delta
    for first in range(0, fan_in, 16):
        here = slice(first, first + 16)
        tile[:, here] = tile[:, :fan_out] @ matrix[here].T * mask[:, here]
    return tile[:, :fan_in]


def inputs_of_layers(net, which):
    """The activations that each layer was fed with, (B, fan_in), or what is taken for them."""
    features, hidden = net.features.astype(np.float64), net.hidden.astype(np.float64)
    if which == "hidden from the end":
        hidden = hidden[::-1]
    if which == "outputs":
        hidden = hidden.copy()
        tiles = hidden.shape[2] // 16
        hidden[-1] = np.tile(net.outputs.astype(np.float64), tiles)
    if which == "first hidden":
        hidden = np.repeat(hidden[:1], len(hidden), axis=0)
    if which == "last hidden":
        hidden = np.repeat(hidden[-1:], len(hidden), axis=0)
    if which == "features":
        tiles = hidden.shape[2] // 16
        hidden = np.repeat(np.tile(features, tiles)[np.newaxis], len(hidden), axis=0)
    if which == "ones and zeros":
        hidden = (hidden > 0).astype(np.float64)
    return [features, *hidden]


def indexed_products(activations, delta, terms):
    """What wrong indices in the products for the weights add up: (fan_in, fan_out)."""
    shape = activations.shape[1], delta.shape[1]
    inputs, units = np.indices(shape)
    names = {
        "input_tile": inputs // 16 * 16,
        "unit_tile": units // 16 * 16,
        "row": inputs % 16,
        "column": units % 16,
        "0": 0 * inputs,
    }
    every = activations.T @ delta
    first, second = (
        sum(names[name] for name in index) % size
        for index, size in zip((terms.activation_index, terms.delta_index), shape, strict=True)
    )
    row, column = (
        sum(names[name] for name in terms.place[i : i + 2]) % size
        for i, size in zip((0, 2), shape, strict=True)
    )
    result = np.zeros(shape)
    np.add.at(result, (row, column), every[first, second])
    return result


def misread_tiles(matrix, delta, terms):
    """The gradients of the inputs, if each weight tile is read with wrong indices."""
    fan_in, fan_out = matrix.shape
    samples = np.arange(len(delta))[:, np.newaxis, np.newaxis]
    places = {
        "k": np.arange(16)[np.newaxis, :, np.newaxis],
        "row": samples % 16,
        "column": np.arange(16)[np.newaxis, np.newaxis],
    }
    index = tuple(places[name] for name in terms.tile_index)
    result = np.zeros((len(delta), fan_in))
    for unit in range(0, fan_out, 16):
        of_units = delta[:, unit : unit + 16, np.newaxis]
        for first in range(0, fan_in, 16):
            products = matrix[first : first + 16, unit : unit + 16][index] * of_units
            result[:, first : first + 16] += products.sum(axis=1)
    return result


def output_delta(net, terms):
    outputs = net.outputs.astype(np.float64)
    columns = 16 if terms.padding else 3
    error = outputs[:, :columns].copy()
    error[:, :3] -= net.target
    if terms.error == "output":
        error[:, :3] = outputs[:, :3]
    if terms.error == "above zero":
        error = np.maximum(error, 0)
    if terms.error == "sign":
        error = np.sign(error)
    if terms.error == "squared":
        error = error**2
    delta = np.zeros(outputs.shape)
    count = net.target.size if terms.count is None else terms.count
    if terms.mean_over == "block":
        count = 3 * samples_of_blocks(len(delta))
    slope = SLOPES[terms.slope](outputs[:, :columns])
    if terms.slope_of == "target":
        slope = SLOPES[terms.slope](net.target.astype(np.float64))
    if terms.slope_of == "error":
        slope = SLOPES[terms.slope](error)
    delta[:, :columns] = terms.factor * error / count * slope
    if terms.samples is not None:
        delta[np.arange(len(delta)) % BLOCK_SAMPLES >= terms.samples] = 0
    if terms.full_blocks:
        delta[of_full_blocks(len(delta)) :] = 0
    return delta


def samples_of_blocks(batch):
    """(B, 1), how many samples there are in the block of each; the last one may have few."""
    block = np.arange(batch) // BLOCK_SAMPLES
    return np.bincount(block)[block][:, np.newaxis]


def mask_of(terms, back, activations, delta, inputs):
    if terms.mask == "none":
        return 1.0
    if terms.mask == "never":
        return 0.0
    if terms.mask == "sigmoid":
        return activations * (1 - activations)
    if terms.mask == "reversed":
        return activations <= 0
    if terms.mask == "times":
        return activations
    if terms.mask == "both":
        return (activations > 0) & (back > 0)
    if terms.mask == "gradient":
        return back > 0
    if terms.mask == "delta above" and delta.shape == back.shape:
        return delta > 0
    if terms.mask == "block 0":
        return activations[np.arange(len(activations)) % BLOCK_SAMPLES] > 0
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


def mistakes_of_masks():
    """What the derivative of ReLU can lack: code -> (`Terms`, sentence)."""
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
        "mask reversed": (
            Terms(mask="reversed"),
            "The mask is reversed: a gradient passes where the activation is above zero.",
        ),
        "nothing passes": (
            Terms(mask="never"),
            "All matrices but the last got nothing. Either no gradient passes a ReLU (it passes "
            "where the activation is above zero), or the layers below the last are never reached.",
        ),
        "times the activation": (
            Terms(mask="times"),
            "The gradient is multiplied by the activation: the slope of a ReLU is 1 or 0.",
        ),
        "mask of both": (
            Terms(mask="both"),
            "Negative gradients are stopped as well: the mask looks at the activation only.",
        ),
        "slope of the sigmoid in all layers": (
            Terms(mask="sigmoid"),
            "The gradient is multiplied by activation * (1 - activation), the slope of a sigmoid: "
            "only the output has one. Behind a ReLU it passes whole, or not at all.",
        ),
        "mask of block 0": (
            Terms(mask="block 0"),
            "The mask is that of other samples, those of the first block: local_sample counts "
            "within the block, sample within the batch.",
        ),
    }


def mistakes_of_slopes():
    """What the derivative of the sigmoid, or of the square, can lack."""
    return {
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
        "1 + output": (
            Terms(slope="plus"),
            "The sigmoid's derivative is output * (1 - output), with a minus.",
        ),
        "output squared": (
            Terms(slope="square"),
            "The sigmoid's derivative is output * (1 - output), not output * output.",
        ),
        "1 - output squared": (
            Terms(slope="square of the rest"),
            "The sigmoid's derivative is output * (1 - output), not (1 - output) squared.",
        ),
        "slope of the target": (
            Terms(slope_of="target"),
            "The sigmoid's slope is that of the output, output * (1 - output), not of the target.",
        ),
        "slope of the error": (
            Terms(slope_of="error"),
            "The sigmoid's slope is that of the output, output * (1 - output), not of the error.",
        ),
        "errors above zero": (
            Terms(error="above zero"),
            "Negative errors count as zero: an error has a sign, and delta keeps it.",
        ),
        "output for the error": (
            Terms(error="output"),
            "delta has the output in place of the error: it is output - target.",
        ),
        "sign of the error": (
            Terms(error="sign"),
            "delta has the sign of the error only: the derivative of error squared is 2 * error.",
        ),
        "error squared": (
            Terms(error="squared"),
            "delta has the error squared: its derivative is 2 * error.",
        ),
        "sigmoid of the output": (
            Terms(slope="sigmoid again"),
            "The sigmoid is taken once more, of the output: the output has been through it, so its "
            "slope is output * (1 - output).",
        ),
        "slope of tanh": (
            Terms(slope="tanh"),
            "1 - output * output is the derivative of tanh; that of the sigmoid is "
            "output * (1 - output).",
        ),
    }


def mistakes_of_places():
    """What can be taken from, or put into, a wrong place: code -> (`Terms`, sentence)."""
    inputs = "The inputs of layer l are hidden[l - 1], those of layer 0 the features"
    return {
        "hidden from the end": (
            Terms(inputs="hidden from the end"),
            f"{inputs}: here they are taken in the other order.",
        ),
        "outputs for inputs": (
            Terms(inputs="outputs"),
            f"{inputs}: here the last layer takes the outputs, what it has made.",
        ),
        "first hidden layer": (
            Terms(inputs="first hidden"),
            f"{inputs}: here every layer takes the first hidden layer.",
        ),
        "last hidden layer": (
            Terms(inputs="last hidden"),
            f"{inputs}: here every layer takes the last hidden layer.",
        ),
        "features for all layers": (
            Terms(inputs="features"),
            f"{inputs}: here every layer takes the features.",
        ),
        "mask for the activation": (
            Terms(inputs="ones and zeros"),
            "The weights' products take ones and zeros, the mask, in place of the activations: the "
            "mask is for the way down, a weight was multiplied by the activation.",
        ),
        "first matrix again": (
            Terms(matrix="first"),
            "The gradient goes back through the weights of the first matrix each time: fetch them "
            "from offset on, weights[offset + (input_tile + row) * fan_out + ...].",
        ),
        "activations on the way back": (
            Terms(factor_of_totals="activations"),
            "The totals multiply weights by activations: on the way back they take the delta, "
            "tiles[current].",
        ),
        "first matrix left out": (
            Terms(left_out="first"),
            "The first matrix has no gradient: there are layers + 1 matrices, and layer 0 is the "
            "last to be done.",
        ),
        "last matrix left out": (
            Terms(left_out="last"),
            "The last matrix has no gradient: there are layers + 1 matrices.",
        ),
        "tiles transposed": (
            Terms(activation_index=("input_tile", "column"), delta_index=("unit_tile", "row")),
            "In each tile rows and columns are exchanged: thread (column, row) takes the "
            "activation of input_tile + row, the delta of unit_tile + column, and adds at the "
            "weight from that input to that unit.",
        ),
    }


def mistakes_of_indices():
    """Each other index in the products and in the weight tile: code -> (`Terms`, sentence)."""
    found = {}
    starts, offsets = ("input_tile", "unit_tile", "0"), ("row", "column")
    for start, offset in itertools.product(starts, offsets):
        found[f"activation {start} + {offset}"] = (
            Terms(activation_index=(start, offset)),
            f"The weights' products take the activation of input {start} + {offset}: it is input "
            "input_tile + row.",
        )
        found[f"delta {start} + {offset}"] = (
            Terms(delta_index=(start, offset)),
            f"The weights' products take the delta of unit {start} + {offset}: it is unit "
            "unit_tile + column.",
        )
    for place in (
        ("0", "row", "unit_tile", "column"),
        ("input_tile", "row", "0", "column"),
        ("input_tile", "column", "unit_tile", "row"),
        ("unit_tile", "row", "input_tile", "column"),
    ):
        there = f"({place[0]} + {place[1]}) * fan_out + {place[2]} + {place[3]}"
        found[f"weight {there}"] = (
            Terms(place=place),
            f"The sums are added at offset + {there}: the weight is that from input input_tile + "
            "row to unit unit_tile + column.",
        )
    for index in itertools.product(("k", "row", "column"), repeat=2):
        read = ", ".join(index)
        found[f"weight_tile[{read}]"] = (
            Terms(tile_index=index),
            f"On the way back the weight tile is read as weight_tile[{read}]: what thread column "
            "needs in round k is weight_tile[column, k].",
        )
    return {code: mistake for code, mistake in found.items() if mistake[0] != Terms()}


def known_mistakes(net):
    """code -> (`Terms`, sentence)."""
    return {**single_mistakes(net), **pairs_of_mistakes(net)}


def pairs_of_mistakes(net):
    scale = mistakes_of_scale(net)
    scale.pop("all outputs count")  # there is no slope of a target that an output has not
    on_the_way = mistakes_on_the_way()
    on_the_way.pop("delta over the old one")  # what it reads is known for right totals only
    return {
        **two_at_once({**mistakes_of_slopes(), **scale}),
        **two_at_once({**mistakes_of_masks(), **on_the_way}),
    }


def single_mistakes(net):
    return {
        **mistakes_of_masks(),
        **mistakes_of_slopes(),
        **mistakes_of_scale(net),
        **mistakes_on_the_way(),
        **mistakes_of_places(),
        **mistakes_of_indices(),
        **mistakes_of_the_offset(net),
    }


def offsets_of(layers, width, how):
    """Where each matrix is taken to begin, if the offset shrinks by the size of another one."""
    sizes = [16 * width, *[width * width] * (layers - 1), 16 * width]
    shrinks = {
        "right": sizes[:-1],
        "matrix just done": sizes[1:],
        "last matrix": sizes[-1:] * layers,
    }[how]
    behind = sum(sizes[:-1])
    return [behind - sum(shrinks[layer:]) for layer in range(layers + 1)]


def mistakes_of_the_offset(net):
    """What is added to which weights if the matrices are taken to begin elsewhere."""
    layers, _, width = net.hidden.shape
    by = "Before each layer the offset shrinks by the size of its own matrix, fan_in * fan_out"
    found = {
        f"offset by the {how}": (Terms(offsets=how), f"{by}: here {told}.")
        for how, told in (
            ("matrix just done", "it shrinks by that of the layer above, which is done already"),
            ("last matrix", "it shrinks by that of the last layer each time"),
        )
        # Some of the weights would lie beyond the ends, which the simulator finds.
        if min(offsets_of(layers, width, how)) >= 0
        and offsets_of(layers, width, how) != offsets_of(layers, width, "right")
    }
    if width != 16:
        return found
    return found | {
        "offset does not move": (
            Terms(matrix="last"),
            "The weights of all layers are taken to begin where those of the last layer do: the "
            "offset shrinks by fan_in * fan_out in each layer.",
        ),
    }


MEAN_OF_A_BLOCK = (
    "The mean is over the batch, not over the samples of each block (64, or what is left for the "
    "last one): divide by 3 B."
)


def mistakes_of_scale(net):
    """What the first delta, or a sum, can be multiplied by: code -> (`Terms`, sentence)."""
    colours = net.target.size
    return {
        "divided by sixteen outputs": (
            Terms(count=16 * len(net.uv)),
            "Divide by 3 B: three of the sixteen outputs are colours.",
        ),
        "divided twice": (
            Terms(count=colours**2),
            "The mean's division by 3 B is there twice.",
        ),
        "divided by the colours": (
            Terms(count=3),
            "Divide by 3 B: the mean goes over the batch, too.",
        ),
        "sums divided by the block": (
            Terms(sums=1 / BLOCK_SAMPLES),
            "The sum over the samples is divided by 64: the delta has the mean in it already.",
        ),
        "sums divided by the blocks": (
            Terms(sums=1 / -(-len(net.uv) // BLOCK_SAMPLES)),
            "The sum over the samples is divided by the number of blocks: add the sums of all "
            "blocks as they are. The delta has the mean in it already.",
        ),
        "sums divided by 3 B": (
            Terms(sums=1 / colours),
            "The sum over the samples is divided by 3 B once more: the delta has the mean in it "
            "already.",
        ),
        "sums subtracted": (
            Terms(sums=-1),
            "The sums over the samples are subtracted: add them. Which way a weight moves, lesson "
            "8 decides.",
        ),
        "sums divided by the batch": (
            Terms(sums=1 / len(net.uv)),
            "The sum over the samples is divided by the batch: the delta has the mean in it "
            "already.",
        ),
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
        "divided by its block's samples": (Terms(mean_over="block"), MEAN_OF_A_BLOCK),
        "all outputs count": (
            Terms(padding=True),
            "Sixteen outputs have a delta: those that are no colours must get zero.",
        ),
    }


def mistakes_on_the_way():
    """What can go wrong from layer to layer: code -> (`Terms`, sentence)."""
    return {
        "weights not transposed": (
            Terms(transposed=False),
            "On the way back the weights are used transposed: the sum goes over the units.",
        ),
        "gradient stored transposed": (
            Terms(stored_transposed=True),
            "The gradients stand in the places of the transposed matrix: input i, unit u is at "
            "offset + i * fan_out + u. Thread (column, row) takes the activation of input `row` "
            "and the delta of unit `column`.",
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
        "first tile of units": (
            Terms(units="first tile"),
            "On the way back only the first 16 units count: the loop over unit_tile goes up to "
            "fan_out.",
        ),
        "mask of the last layer only": (
            Terms(mask="last only"),
            "Only the last hidden layer has its mask: each one has.",
        ),
        "mask of the first layer only": (
            Terms(mask="first only"),
            "Only the first hidden layer has its mask: each one has.",
        ),
        "added to the activation": (
            Terms(delta="added"),
            "The total is added to the activation: it takes its place.",
        ),
        "scattered while they grow": (
            Terms(scattered="growing"),
            "The totals are scattered after each tile of units, while they grow: scatter them "
            "once, after the loop over units.",
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
        "delta over the old one": (
            Terms(delta="over the old"),
            "The new delta is written over the old one, in tiles[current], where the next tile of "
            "inputs still reads the old one: write it over the activations, in tiles[1 - current].",
        ),
        "weights after the delta": (
            Terms(delta="before the weights"),
            "The activations were replaced by the new delta before the weights' gradients were "
            "computed: these come first.",
        ),
        "full blocks only": (
            Terms(full_blocks=True),
            f"{NOTHING_OF_THE_LAST_BLOCK} for it has weights of its own. It stores zeros and goes "
            "on.",
        ),
        "16 samples of 64": (
            Terms(samples=16),
            "Only the first 16 of the block's 64 samples count: each thread has four.",
        ),
    }


# ---------------------------------------------------------------- what should come out


def expect_loss(case, net, loss_sum, already=0.0):
    error = net.outputs[:, :3].astype(np.float64) - net.target
    count = net.target.size
    loss = np.array([np.sum(error**2) / count])
    known = {**wrong_scales(net, error), **wrong_terms(net, error), **wrong_trees(error)}
    tolerance = case.check.tolerance * loss.max()
    # Some mistakes leave so little that only the very zero tells them from nothing.
    nothing = not np.any(loss_sum.array != already)
    mistakes = {
        code: Mistake(sentence, {"loss_sum": np.array([total / count])})
        for code, (total, sentence) in known.items()
        if (code == "nothing added") == nothing
    }
    got = loss_sum if already == 0 else loss_sum.array - already
    expect_all(case, [Left("loss_sum", got, loss, tolerance)], mistakes)


def wrong_scales(net, error):
    """What multiplies the loss, if it is wrong: code -> (3 B times the result, sentence)."""
    squares, count = error**2, error.size
    return {
        "nothing added": (
            0.0,
            "What is added to the loss is 0, or nothing is. `//` divides whole numbers and leaves "
            "nothing of 1 // n.",
        ),
        "divided by sixteen outputs": (
            squares.sum() * 3 / 16,
            "Divide by 3 B: three of the sixteen outputs are colours.",
        ),
        "divided by the colours": (
            squares.sum() * len(error),
            "Divide by 3 B: the mean goes over the batch, too.",
        ),
        "divided twice": (
            squares.sum() / count,
            "The mean's division by 3 B is there twice.",
        ),
        "added by every thread": (
            squares.sum() * 256,
            "Every thread adds the block's sum: one of them, thread 0, is enough.",
        ),
        "half of the loss": (
            squares.sum() / 2,
            "This is half of the mean: there is no factor 1/2 in our loss.",
        ),
        "twice the loss": (
            squares.sum() * 2,
            "This is twice the mean: the factor 2 belongs to the derivative.",
        ),
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
        "divided by the blocks": (
            squares.sum() / -(-len(error) // BLOCK_SAMPLES),
            "The loss is divided by the number of blocks, too: what all blocks add is the mean "
            "already, as each has divided its sum by 3 B.",
        ),
        "added in each layer": (
            squares.sum() * (len(net.hidden) + 1),
            f"This is {len(net.hidden) + 1} times the loss, and there are as many matrices: is it "
            "added once per layer? It is added once, before the layers.",
        ),
    }


def wrong_terms(net, error):
    """What is added up, if it is wrong: code -> (3 B times the result, sentence)."""
    squares, count = error**2, error.size
    rest = np.sum(net.outputs[:, 3:].astype(np.float64) ** 2)
    deltas = output_delta(net, Terms())
    number = np.arange(len(error))
    of_blocks = squares / samples_of_blocks(len(error))
    beyond = -len(error) % BLOCK_SAMPLES
    # Each thread's samples are 16 apart: the last of them within the batch.
    last = (number % BLOCK_SAMPLES >= 48) | (number + 16 >= len(error))
    return {
        "first block only": (
            squares[:BLOCK_SAMPLES].sum(),
            "Only the first block has added its sum: in each block thread 0 adds, and "
            "cuda.threadIdx is 0 once per block, cuda.grid only once.",
        ),
        "largest block": (
            np.bincount(np.arange(len(error)) // BLOCK_SAMPLES, squares.sum(axis=1)).max(),
            "Only the block with the largest sum counts: add with cuda.atomic.add.",
        ),
        "root": (
            np.sqrt(squares.sum() / count) * count,
            "This is the root of the mean: the loss is the mean itself.",
        ),
        "divided by its block's samples": (of_blocks.sum() * len(error), MEAN_OF_A_BLOCK),
        "delta squared": (
            np.sum(deltas**2),
            "The deltas are squared: the loss adds the squares of output - target.",
        ),
        "last sample of each thread": (
            squares[last].sum(),
            "Of a thread's four samples only the last counts: add up, squared_error += ...",
        ),
        "last sample again": (
            squares.sum() + beyond * squares[-1].sum(),
            "The last sample counts again in place of each that is beyond the batch: those add "
            "nothing.",
        ),
        "full blocks only": (
            squares[: of_full_blocks(len(error))].sum(),
            f"{NOTHING_OF_THE_LAST_BLOCK} for it has a part in the reduction: a zero.",
        ),
        "16 samples of 64": (
            squares[number % BLOCK_SAMPLES < 16].sum(),
            "Only the first 16 of the block's 64 samples count: each thread has four.",
        ),
        "all outputs count": (
            squares.sum() + rest,
            "All sixteen outputs count: only the first three, the colours, have a target.",
        ),
        "errors above zero": (
            np.sum(np.maximum(error, 0) ** 2),
            "Negative errors count as zero: they are squared like the others.",
        ),
        "errors below zero": (
            np.sum(np.minimum(error, 0) ** 2),
            "Positive errors count as zero: they are squared like the others.",
        ),
        "outputs squared": (
            np.sum(net.outputs[:, :3].astype(np.float64) ** 2),
            "The outputs are squared: square the errors, output - target.",
        ),
        "absolute error": (
            np.abs(error).sum(),
            "This is the mean of the errors' sizes: square them.",
        ),
        "error not squared": (error.sum(), "This is the mean of the errors: square them."),
    }


def wrong_trees(error):
    """What a wrong reduction leaves: code -> (3 B times the result, sentence)."""
    squares = error**2
    place = np.arange(len(error)) % BLOCK_SAMPLES
    return {
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
        **{
            f"first {threads} threads": (
                squares[place % 16 < threads // 16].sum(),
                f"Only the sums of the first {threads} threads arrive, of 256: the reduction "
                "begins with active = 128. (cuda.blockDim.x is 16: the block is 16 x 16.)",
            )
            for threads in (16, 32, 64)
        },
        "reduction begins too low": (
            squares[place % 16 < 8].sum(),
            "Half of the threads are left out: the reduction begins with active = 128.",
        ),
    }


def compare_weights(case, net, got, part, times=1.0, grad_grid=None):
    """times: how often each weight is added to per block, on average.

    grad_grid: what the same run has left there; if it is right, it rules out what would show in it.
    """
    right = gradients(net)
    expected = right.weights[part]
    tolerance = case.check.tolerance * np.abs(expected).max()

    def mistakes():
        found = {
            code: (terms, gradients(net, terms), sentence)
            for code, (terms, sentence) in known_mistakes(net).items()
        }
        in_grid = partial(scattered, net.uv)
        if grad_grid is None or not is_right(case, grad_grid, in_grid(right.features)):
            in_grid = None
        return {
            code: Mistake(sentence, {"grad_weights": wrong.weights[part]})
            for code, (terms, wrong, sentence) in found.items()
            if not (
                in_grid
                and reaches_the_features(terms)
                and shows(case, in_grid(wrong.features), in_grid(right.features))
            )
        }

    expect_all(
        case,
        [Left("grad_weights", got[part], expected, tolerance)],
        mistakes,
        otherwise=lambda places: too_many_places(net, times),
    )


def too_many_places(net, times):
    """(code, sentence) if some weights get more additions than others; else None."""
    if times <= 1 or times == int(times):
        return None
    weights = net.weights.size
    return "added to other weights", (
        f"A block makes {times * weights:.0f} atomic additions to the gradients of {weights} "
        "weights: some of these get more than others. A matrix has fan_in * fan_out weights: "
        "fan_in is 16 in the first layer and `width` in the others, fan_out is 16 in the last one."
    )


def is_right(case, got, expected):
    return bool(expected.any()) and same(got, expected, tolerance_for(case, expected))


def shows(case, wrong, expected):
    """Whether a mistake that leaves this cannot have left what is expected."""
    return is_clearly_different(wrong, expected, tolerance_for(case, expected))


def tolerance_for(case, expected):
    return case.check.tolerance * np.abs(expected).max()


def reaches_the_features(terms):
    """Whether it is known what a mistake leaves in the grid."""
    return terms.delta in ("new", "over the old") and not terms.fan_out_stays


def compare_grid(case, net, got, grad_weights):
    """grad_weights: of the same run; if they are right, they rule out what would show in them."""
    right = gradients(net)
    features = right.features
    expected = scattered(net.uv, features)
    tolerance = tolerance_for(case, expected)
    features_scattered = partial(
        scattered_by_mistakes,
        case,
        net,
        right.weights if is_right(case, grad_weights, right.weights) else None,
    )

    def mistakes():
        results = features_scattered(single_mistakes(net))
        results |= scatter_mistakes(net.uv, features, net.features.astype(np.float64))
        results |= same_weight_for_all(net.uv, features)
        results["scattered in each layer"] = (
            scattered(net.uv, features + np.pad(gradients(net).above, ((0, 0), (0, 13)))),
            "The totals of all layers are scattered: only those of the first layer, the gradients "
            "of the features, belong to the grid.",
        )
        results |= features_scattered(pairs_of_mistakes(net))
        return {
            code: Mistake(sentence, {"grad_feature_grid": result})
            for code, (result, sentence) in results.items()
        }

    expect_all(case, [Left("grad_feature_grid", got, expected, tolerance)], mistakes)


def scattered_by_mistakes(case, net, weights, mistakes):
    """What mistakes on the way back leave in the grid: code -> (grad_feature_grid, sentence).

    weights: their gradients, if these have come out right, and then without those that show there.
    """
    found = {}
    for code, (terms, sentence) in mistakes.items():
        if not reaches_the_features(terms):
            continue
        wrong = gradients(net, terms)
        if weights is None or not shows(case, wrong.weights, weights):
            found[code] = scattered(net.uv, wrong.features), sentence
    return found


def scatter_mistakes(uv, features, net_features):
    """code -> (grad_feature_grid, sentence)."""
    first = (np.arange(len(uv)) % BLOCK_SAMPLES < 16)[:, np.newaxis]
    shared = scattered(uv, features).sum(axis=2)
    one_channel = np.zeros(GRID_SHAPE)
    one_channel[:, :, 0] = shared
    return {
        "nothing scattered": (
            np.zeros(GRID_SHAPE),
            "Nothing was added to the grid: is scatter called in the first layer, for each sample "
            "of the batch and columns 0 to 2, and does it add what it is given?",
        ),
        "sign reversed in scatter": (
            -scattered(uv, features),
            "The gradients are subtracted from the cells: add them.",
        ),
        "features scattered": (
            scattered(uv, net_features),
            "The features are scattered: it is their gradients, totals[j], that go to the grid.",
        ),
        "the same for each corner": (
            scattered(uv, features, weigh=lambda weights: np.full_like(weights, 0.25)),
            "Each corner got a quarter: it gets as much as it gave, its corner weight.",
        ),
        "bottom row missing": (
            scattered(uv, features, weigh=lambda weights: weights * [1, 1, 0, 0]),
            "The two corners at the bottom got nothing: there are four corners.",
        ),
        "right column missing": (
            scattered(uv, features, weigh=lambda weights: weights * [1, 0, 1, 0]),
            "The two corners on the right got nothing: there are four corners.",
        ),
        "top and bottom exchanged": (
            scattered(uv, features, weigh=lambda weights: weights[:, [2, 3, 0, 1]]),
            "Top and bottom are exchanged: w0 and w1 belong to the cells of row `top`.",
        ),
        "left and right exchanged": (
            scattered(uv, features, weigh=lambda weights: weights[:, [1, 0, 3, 2]]),
            "Left and right are exchanged: w0 and w2 belong to the cells of column `left`.",
        ),
        "added twice": (2 * scattered(uv, features), "Each gradient was added twice."),
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
        "coinciding corners once": (
            each_cell_once(uv, features),
            "At the border, where two corners are the same cell, only one of them got its part: "
            "both add to that cell, with their own weights.",
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
        "cells of block 0": (
            scattered(uv[np.arange(len(uv)) % BLOCK_SAMPLES], features),
            "The gradients go to the cells of other samples, those of the first block: uv has the "
            "index `sample`, which counts within the batch.",
        ),
        "nearest cell": (
            nearest(uv, features),
            "The nearest cell got everything: divide it among the four corners.",
        ),
    }


def each_cell_once(uv, features):
    """Of corners that are the same cell only the first gets its part."""
    height, width, _ = GRID_SHAPE
    indices, _, _ = reference.bilinear_corners(uv, width, height)
    again = [(indices[:, :corner] == indices[:, corner : corner + 1]).any(1) for corner in range(4)]
    return scattered(uv, features, weigh=lambda weights: weights * ~np.stack(again, axis=1))


def same_weight_for_all(uv, features):
    return {
        f"w{corner} for all corners": (
            scattered(uv, features, weigh=lambda weights, c=corner: weights[:, [c] * 4]),
            f"All four corners got the weight w{corner}: each has its own.",
        )
        for corner in range(4)
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
