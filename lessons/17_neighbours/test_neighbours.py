"""Checks of lesson 17: convolution and pooling, forward and back, against float64.

Most sizes leave threads of the last blocks without a number.
"""

import numpy as np

from lessons.grading.judge.case import check
from lessons.reference import neighbours as reference

# Images, height, width, channels; filters, their side, stride, padding.
ANY = (
    (2, 7, 9, 3, 5, 3, 1, 1), (1, 8, 5, 2, 3, 3, 2, 1), (2, 4, 4, 6, 10, 4, 1, 0),
    (1, 9, 6, 1, 1, 5, 1, 3), (1, 1, 1, 1, 1, 1, 1, 0),
)  # fmt: skip
FOR_PRODUCTS = *ANY, (1, 9, 8, 2, 18, 3, 1, 1)  # more filters, and more pixels, than a block has
FOR_HALO = (1, 5, 7, 2, 3), (2, 9, 33, 1, 1), (1, 8, 32, 9, 6), (1, 17, 65, 1, 4)
THREE_BY_THREE = 3, 1, 1  # side, stride, padding
FOR_POOLING = (2, 4, 6, 3), (1, 7, 5, 2), (1, 2, 2, 1)
FOR_FILTERS = *ANY[:3], (1, 14, 16, 3, 17, 3, 1, 2)  # two chunks: 288 deltas of 224 pixels

CHUNK, PIXELS_PER_BLOCK, SIDE, HALO = 256, 64, 16, 340 / 256
COUNTED_PIECE = 1, 16, 64, 8, 4, *THREE_BY_THREE
COUNTED_PRODUCT = 1, 8, 16, 4, 16, 3, 1, 1
ALLOWED_READS = 2.5  # of each number of the image, for four filters
MORE_THAN_OURS = 2.2  # times as often: room for ways that are as good


@check("naive")
def test_naive(case):
    for sizes in ANY:
        convolve(case, "launch_convolve_naive", sizes)


@check("halo")
def test_halo(case):
    for sizes in FOR_HALO:
        convolve(case, "launch_convolve_tiled", (*sizes, *THREE_BY_THREE))


@check("fetched_once")
def test_fetched_once(case):
    counts, images, _ = convolve(case, "launch_convolve_tiled", COUNTED_PIECE)
    case.budget(
        "reads of each number of the image from global memory, for four filters",
        yours=counts.of(images).reads / images.size,
        ours=HALO,
        allowed=ALLOWED_READS,
        diagnosis="read again by each neighbour",
        sentence="the threads of neighbouring pixels read the same numbers from global memory. "
        "Fetch the block's piece with its halo into shared memory, wait, and look there.",
        line=counts.busiest_line("reads", images),
    )


@check("product")
def test_product(case):
    for sizes in FOR_PRODUCTS:
        convolve(case, "launch_convolve_as_product", sizes)


@check("shared_tiles")
def test_shared_tiles(case):
    counts, images, filters = convolve(case, "launch_convolve_as_product", COUNTED_PRODUCT)
    blocks = images.shape[1] * images.shape[2] / PIXELS_PER_BLOCK
    case.budget(
        "reads of each number of the images from global memory, for 16 filters",
        yours=counts.of(images).reads / images.size,
        ours=9,
        allowed=MORE_THAN_OURS * 9,
        diagnosis="read for each filter again",
        sentence="each filter reads the patches from global memory by itself. Make a tile of "
        "patches in shared memory, for all filters of the block.",
        line=counts.busiest_line("reads", images),
    )
    case.budget(
        "reads of each weight from global memory, per block of 64 pixels",
        yours=counts.of(filters).reads / filters.size / blocks,
        ours=1,
        allowed=MORE_THAN_OURS,
        diagnosis="weights read for each pixel again",
        sentence="each pixel reads the weights from global memory by itself. Make a tile of "
        "weights in shared memory, for all pixels of the block.",
        line=counts.busiest_line("reads", filters),
    )


@check("pooled")
def test_pooled(case):
    for shape in FOR_POOLING:
        for least in (-np.inf, 0, float(case.random(1, 0.2, 0.4)[0])):
            images = case.random(shape, -1, 1)
            # Of equals the first wins; and everywhere else than in the first image, numbers differ.
            images[0, :2, :2, 0] = 0.9
            # What only equals `least` does not win.
            images[-1, :2, 2:4, -1] = max(least, -1)
            pool(case, images, least)


@check("images_back")
def test_images_back(case):
    for sizes in FOR_PRODUCTS:
        images_back(case, sizes)


@check("filters_back")
def test_filters_back(case):
    for sizes in FOR_FILTERS:
        filters_back(case, sizes)


@check("shared_deltas")
def test_shared_deltas(case):
    counts, deltas = filters_back(case, COUNTED_PRODUCT)
    taps = 9 * COUNTED_PRODUCT[3] + 1
    case.budget(
        "reads of each delta from global memory",
        yours=counts.of(deltas).reads / deltas.size,
        ours=-(-taps // SIDE),
        allowed=MORE_THAN_OURS * -(-taps // SIDE),
        diagnosis="deltas read for each tap again",
        sentence="the thread of each tap reads all deltas from global memory. Fetch those of 16 "
        "pixels into shared memory, for all taps of the block.",
        line=counts.busiest_line("reads", deltas),
    )


@check("float32")
def test_float32(case):
    sizes = 1, 5, 4, 2, 3, 3, 1, 1
    convolve(case, "launch_convolve_naive", sizes)
    convolve(case, "launch_convolve_tiled", sizes)
    convolve(case, "launch_convolve_as_product", sizes)
    pool(case, case.random((1, 4, 5, 2)), 0)
    images_back(case, sizes)
    filters_back(case, sizes)


# ---------------------------------------------------------------- helpers


def drawn(case, sizes):
    """images, filters, bias, (stride, padding), deltas: every number another one."""
    count, height, width, channels, number, side, stride, padding = sizes
    images = case.random((count, height, width, channels), -1, 1)
    filters = case.random((side, side, channels, number), -1, 1)
    rows, columns = (reference.output_size(n, side, stride, padding) for n in (height, width))
    deltas = case.random((count, rows, columns, number), -1, 1)
    return images, filters, case.random(number, 0.5, 1.5), (stride, padding), deltas


def convolve(case, launch, sizes):
    """Counts of a run whose result is right, the images and the filters."""
    images, filters, bias, steps, deltas = drawn(case, sizes)
    out = case.output(deltas.shape)
    given = () if launch == "launch_convolve_tiled" else steps
    counts = case.measure(launch, images, filters, bias, *given, out)
    case.expect(out, reference.convolve(images, filters, bias, *steps), "out")
    return counts, images, filters


def pool(case, images, least):
    right, places = reference.max_pool(images, least)
    pooled, winners = case.output(right.shape), case.output(right.shape, np.int32)
    case.run("launch_max_pool", images, least, pooled, winners)
    case.expect(pooled, right, "pooled", tolerance=0)
    case.expect(winners, places, "winners", tolerance=0)
    deltas, gradients = case.random(right.shape), case.output(images.shape)
    case.run("launch_unpool", deltas, np.int32(places), gradients)
    case.expect(gradients, reference.unpool(deltas, places, images.shape), "gradients", tolerance=0)
    means = case.output(right.shape)
    case.run("launch_average_pool", images, means)
    case.expect(means, reference.windows(images).mean(axis=-1), "means")


def images_back(case, sizes):
    images, filters, _, steps, deltas = drawn(case, sizes)
    gradients = case.output(images.shape)
    case.run("launch_image_gradients", deltas, filters, *steps, gradients)
    right = reference.image_gradients(deltas, filters, *steps, images.shape)
    case.expect(gradients, right, "gradients")


def filters_back(case, sizes):
    """Counts of a run whose parts are right, and the deltas."""
    images, filters, _, steps, deltas = drawn(case, sizes)
    side, numbers = filters.shape[0], deltas.shape[3]
    chunk_of = np.arange(deltas[..., 0].size).reshape(deltas.shape[:3]) // CHUNK
    right = [
        reference.filter_gradients(images, deltas * (chunk_of == chunk)[..., None], side, *steps)
        for chunk in range(chunk_of.max() + 1)
    ]
    parts = case.output((len(right), len(right[0]), numbers))
    counts = case.measure("launch_filter_gradients", images, deltas, side, *steps, parts)
    case.expect(parts, np.stack(right), "parts")
    return counts, deltas
