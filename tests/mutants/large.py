"""Each kernel at sizes beyond 2^31, in a few kilobytes and milliseconds.

The arrays are one element long and stretched: along the large axis all elements are the same one.
Of the launch only the last block runs, and sizes are such that only its first thread, or its first
sample, is inside: so nobody else touches that one element, and its value can be checked.
"""

from functools import partial

import numpy as np

from kernels import adam, backward, encode, histogram, image_ops, matmul, mlp_forward, sampler
from kernels.config import BLOCK_THREADS, Config
from lessons import reference
from lessons.lab.dimensions import as_dim3, volume
from lessons.lab.simulator.run import checked_run
from tests.kernels.test_kernels import (
    RAGGED_GRID,
    SEED,
    adam_inputs,
    network,
    random,
    random_uv,
    random_weights,
)
from tests.mutants.judge import CHECK, SURVIVED, VALUE, Verdict
from tests.mutants.stages import Stage, expect

LAST = 2**31  # a multiple of every block: the last thread is the first of its block
COUNT = LAST + 1
SIDES = 65537, 32769  # 1 more than a multiple of every block; together more than 2^31


def stretched(array, *shape):
    """The array, as often as the shape says along its axes of length 1."""
    strides = [
        0 if length == 1 else step for length, step in zip(array.shape, array.strides, strict=True)
    ]
    return np.lib.stride_tricks.as_strided(array, shape, strides)


def judge(kernel, module):
    """`Verdict` on the kernel in a module, mutated or not."""
    reports = []
    try:
        LARGE[kernel].run(module, partial(launch_last_block, reports))
        reason = ""
    except AssertionError as wrong:
        reason = str(wrong)
    kinds = {finding.kind for report in reports for finding in report.problems}
    if kinds:
        return Verdict(CHECK, ", ".join(sorted(kinds)))
    return Verdict(VALUE, reason) if reason else Verdict(SURVIVED, "")


def launch_last_block(reports, kernel, blocks, threads, *arguments):
    """A launcher. reports: a list that gets what is found."""
    count = volume(as_dim3(blocks, "grid"))
    last = range(count - 1, count)
    options = {"measure": False, "ask_numba": False, "only_blocks": last}
    reports.append(checked_run(kernel, blocks, threads, *arguments, **options))


def sample_batch(module, launch):
    image = random(5, 7, 3, low=0)
    uv, target = np.zeros((1, 2), np.float32), np.zeros((1, 3), np.float32)
    module.launch_sample_batch(
        image, SEED, 3, stretched(uv, COUNT, 2), stretched(target, COUNT, 3), launch=launch
    )
    expected = drawn_uv(LAST, 3)
    expect("uv", uv, expected)
    expect("target", target, reference.bilinear(image, expected), absolute=2e-6)


def drawn_uv(sample, step):
    words = reference.philox4x32(
        np.array([[sample, step, 0, 0]], np.uint64), np.array([SEED & 0xFFFFFFFF, SEED >> 32])
    )
    return (np.asarray(words)[..., :2] >> 8) * 2.0**-24


def pixel_centres(module, launch):
    height, width = SIDES
    last_pixel = height * width - 1
    for first, samples in ((last_pixel, 1), (last_pixel - LAST, COUNT)):
        uv = np.zeros((1, 2), np.float32)
        module.launch_pixel_centres(first, width, height, stretched(uv, samples, 2), launch=launch)
        expected = np.array([[(width - 0.5) / width, (height - 0.5) / height]])
        expect("uv", uv, expected, absolute=1e-7)


def encoding(module, launch):
    uv, grid = random_uv(5)[4:], random(*RAGGED_GRID)
    features = np.zeros((1, 16), np.float32)
    module.launch_encode(
        stretched(uv, COUNT, 2), grid, stretched(features, COUNT, 16), launch=launch
    )
    expect("features", features, reference.encode(uv, grid), absolute=1e-5)


def product(module, launch, name):
    a, b, c = random(1, 19), random(19, 1, seed=1), np.zeros((1, 1), np.float32)
    launch_product = getattr(module, f"launch_{name}")
    launch_product(a, stretched(b, 19, COUNT), stretched(c, 1, COUNT), launch=launch)
    expect("c", c, a.astype(np.float64) @ b, absolute=1e-5)


def in_last_block(length, per_block):
    """How many of so many elements the last block visits, in steps as wide as the grid."""
    blocks = -(-length // per_block)
    step, first = blocks * BLOCK_THREADS, (blocks - 1) * BLOCK_THREADS
    return sum(len(range(first + thread, length, step)) for thread in range(BLOCK_THREADS))


def counts_globally(module, launch):
    counts = np.zeros(10, np.int32)
    brightness = stretched(np.full(1, 0.35, np.float32), COUNT)
    module.launch_histogram_global(brightness, counts, launch=launch)
    expect("counts", counts, np.eye(10)[3])


# More elements here: each thread visits several, so that it takes 2^35 of them for 2^31 threads.
MANY = 16 * LAST + 1


def counts_by_block(module, launch):
    counts = np.zeros(10, np.int32)
    brightness = stretched(np.full(1, 0.35, np.float32), MANY)
    module.launch_histogram_shared(brightness, counts, launch=launch)
    visited = in_last_block(MANY, BLOCK_THREADS * histogram.PIXELS_PER_THREAD)
    expect("counts", counts, visited * np.eye(10)[3])


def sum_by_tree(module, launch):
    total = np.zeros(1, np.float32)
    module.launch_sum_tree(stretched(np.full(1, 0.25, np.float32), MANY), total, launch=launch)
    visited = in_last_block(MANY, BLOCK_THREADS * histogram.PIXELS_PER_THREAD)
    expect("total", total, np.array([visited / 4]))


def forward(module, launch):
    hidden, layers = 16, 1
    features, weights = random(1, 16), random_weights(hidden, layers)
    activations = np.zeros((layers, 1, hidden), np.float32)
    outputs = np.zeros((1, 16), np.float32)
    module.launch_mlp_forward(
        stretched(features, COUNT, 16), weights,
        stretched(activations, layers, COUNT, hidden), stretched(outputs, COUNT, 16), launch=launch,
    )  # fmt: skip
    matrices = reference.split_weights(weights, hidden, layers)
    expected_outputs, expected_activations = reference.mlp_forward(features, matrices)
    expect("outputs", outputs, expected_outputs, absolute=2e-6)
    expect("hidden", activations, np.stack(expected_activations[1:]), absolute=1e-5)


def backpropagation(module, launch):
    hidden, layers = 16, 1
    uv, grid, weights, target, matrices, features, outputs, activations = network(5, hidden, layers)
    one = slice(4, 5)
    uv, target = uv[one].copy(), target[one].copy()
    stored = np.stack(activations[1:])[:, one].astype(np.float32)
    grad_weights, grad_grid = np.zeros_like(weights), np.zeros_like(grid)
    loss_sum = np.zeros(1, np.float32)
    module.launch_backward(
        stretched(uv, COUNT, 2), stretched(features[one].astype(np.float32), COUNT, 16),
        stretched(stored, layers, COUNT, hidden),
        stretched(outputs[one].astype(np.float32), COUNT, 16), stretched(target, COUNT, 3),
        weights, grad_weights, grad_grid, loss_sum, launch=launch,
    )  # fmt: skip
    expected = reference.backward(uv, grid, matrices, target)
    for name, found, right in (
        ("loss_sum", loss_sum, np.array([expected.loss])),
        ("grad_weights", grad_weights, expected.grad_weights),
        ("grad_feature_grid", grad_grid, expected.grad_feature_grid),
    ):  # of a mean over all samples, of which one has run
        expect(name, found.astype(np.float64) * COUNT, right, absolute=1e-5 * np.abs(right).max())


def adam_weights(module, launch):
    config, arrays = Config(), [array.copy() for array in adam_inputs((1,))]
    expected = reference.adam(*arrays, 3, 0.01, config.beta1, config.beta2, config.epsilon)
    module.launch_adam_weights(
        *(stretched(array, COUNT) for array in arrays), 3,
        adam.bias_corrections(config.beta1, config.beta2), 0.01, config.adam_rates, launch=launch,
    )  # fmt: skip
    expect_adam(arrays, expected)


def adam_grid(module, launch):
    config, corrections = Config(), adam.bias_corrections(Config().beta1, Config().beta2)
    for sides in (SIDES, (COUNT, 1), (1, COUNT)):
        arrays = [array.copy() for array in adam_inputs((1, 1, 3))]
        steps = np.full((1, 1), 6, np.int32)
        *expected, _ = reference.adam_grid(
            *arrays, steps, 0.02, config.beta1, config.beta2, config.epsilon
        )
        module.launch_adam_grid(
            *(stretched(array, *sides, 3) for array in arrays), stretched(steps, *sides),
            corrections, 0.02, config.adam_rates, launch=launch,
        )  # fmt: skip
        expect_adam(arrays, expected)
        expect("steps", steps, np.array([[7]]))


def expect_adam(arrays, expected):
    expect("parameter", arrays[0], expected[0], absolute=1e-6)
    expect("gradient", arrays[1], np.zeros_like(arrays[1]))


def grayscale(module, launch):
    image, gray = random(1, 1, 3, low=0), np.zeros((1, 1), np.float32)
    module.launch_over_pixels(
        module.grayscale, stretched(image, 1, COUNT, 3), stretched(gray, 1, COUNT), launch
    )
    expect("gray", gray, reference.grayscale(image), absolute=1e-6)


def downsample(module, launch):
    image, small = random(1, 1, 3, low=0), np.zeros((1, 1, 3), np.float32)
    module.launch_over_pixels(
        module.downsample, stretched(image, 1, COUNT, 3), stretched(small, 1, COUNT, 3), launch
    )
    expect("small", small, image, absolute=1e-6)


def upsample(module, launch):
    small = random(3, 4, 3, low=0)
    for height, width in (SIDES, (1, COUNT)):
        large = np.zeros((1, 1, 3), np.float32)
        module.launch_over_pixels(
            module.upsample, small, stretched(large, height, width, 3), launch
        )
        corner = reference.bilinear(small, np.array([[1 - 0.5 / width, 1 - 0.5 / height]]))
        expect("large", large[0], corner, absolute=2e-6)


LARGE = {
    "sample_batch": Stage(sampler, sample_batch),
    "pixel_centres": Stage(sampler, pixel_centres),
    "encode": Stage(encode, encoding),
    "matmul_naive": Stage(matmul, partial(product, name="matmul_naive")),
    "matmul_tiled": Stage(matmul, partial(product, name="matmul_tiled")),
    "histogram_global": Stage(histogram, counts_globally),
    "histogram_shared": Stage(histogram, counts_by_block),
    "sum_tree": Stage(histogram, sum_by_tree),
    "mlp_forward": Stage(mlp_forward, forward),
    "backward": Stage(backward, backpropagation),
    "adam_weights": Stage(adam, adam_weights),
    "adam_grid": Stage(adam, adam_grid),
    "grayscale": Stage(image_ops, grayscale),
    "downsample": Stage(image_ops, downsample),
    "upsample": Stage(image_ops, upsample),
}

IN_A_BLOCK = "a place within a block, or a tile of shared memory"
OF_THE_NETWORK = "a place in the network, which has at most a few thousand weights"
# What never comes near 2^31, whatever the arrays: the text that a mutant narrows -> why.
SMALL = {
    "1 - current": IN_A_BLOCK, "1 - source": IN_A_BLOCK, "j * TILE": IN_A_BLOCK,
    "row * TILE": IN_A_BLOCK, "row * TILE + column": IN_A_BLOCK, "row + j * TILE": IN_A_BLOCK,
    "step % 2": IN_A_BLOCK, "layer % 2": IN_A_BLOCK, "thread + active": IN_A_BLOCK,
    "input_tile + column": OF_THE_NETWORK, "input_tile + k": OF_THE_NETWORK,
    "input_tile + row": OF_THE_NETWORK, "layer - 1": OF_THE_NETWORK,
    "layers + 1": OF_THE_NETWORK, "layers - step": OF_THE_NETWORK,
    "unit_tile + column": OF_THE_NETWORK, "unit_tile + k": OF_THE_NETWORK,
    "(input_tile + row) * fan_out": OF_THE_NETWORK,
    "offset + (input_tile + row) * fan_out": OF_THE_NETWORK,
    "offset + (input_tile + row) * fan_out + unit_tile": OF_THE_NETWORK,
    "offset + (input_tile + row) * fan_out + unit_tile + column": OF_THE_NETWORK,
    "bins - 1": "bins are counted in an int32 already: no more fit into a float32's digits",
    "channel + 1": "one of 16 channels",
    "corrections.shape[0] - 1": "a row of the table of corrections, which ends where they are 1",
    "cuda.grid(2)[1]": "rows are the grid's y: at most 65,535 blocks of 16",
}  # fmt: skip


def is_small(mutant):
    """Whether a mutant narrows what cannot be large."""
    narrowed = mutant.new[mutant.new.index("int32(") + len("int32(") :].rpartition(")")[0]
    return narrowed in SMALL
