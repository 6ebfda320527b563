"""The kernels of lesson 17 against float64, on each engine there is."""

import numpy as np
import pytest

from kernels.neighbours import convolve, gradients, pool, product
from lessons.reference import neighbours as reference

pytestmark = pytest.mark.gpu
# Images, height, width, channels; filters, their side, stride, padding.
SIZES = [
    (2, 7, 9, 3, 5, 3, 1, 1),
    *(
        pytest.param(*sizes, marks=pytest.mark.thorough)
        for sizes in (
            (1, 1, 1, 1, 1, 1, 1, 0), (3, 8, 5, 17, 18, 3, 2, 1), (5, 4, 4, 6, 10, 4, 1, 0),
            (1, 11, 10, 2, 1, 5, 3, 2),
        )
    ),
]  # fmt: skip


def random(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


@pytest.mark.thorough_on("native")
@pytest.mark.parametrize(
    ("count", "height", "width", "channels", "number", "side", "stride", "padding"), SIZES
)
def test_forward_and_back(engine, count, height, width, channels, number, side, stride, padding):
    images, filters = random(count, height, width, channels), random(side, side, channels, number)
    bias, steps = random(number), (stride, padding)
    right = reference.convolve(images, filters, bias, *steps)
    given = [engine.array(array) for array in (images, filters, bias)]
    for launch in (convolve.launch_convolve_naive, product.launch_convolve_as_product):
        out = engine.output(right.shape)
        launch(*given, *steps, out.array, launch=engine.launch)
        np.testing.assert_allclose(out.read(), right, atol=1e-5)
    if (side, stride, padding) == (3, 1, 1):
        out = engine.output(right.shape)
        convolve.launch_convolve_tiled(*given, out.array, launch=engine.launch)
        np.testing.assert_allclose(out.read(), right, atol=1e-5)

    deltas = random(*right.shape, seed=1)
    on_engine = engine.array(deltas)
    back = engine.output(images.shape)
    gradients.launch_image_gradients(on_engine, given[1], *steps, back.array, launch=engine.launch)
    np.testing.assert_allclose(
        back.read(), reference.image_gradients(deltas, filters, *steps, images.shape), atol=1e-5
    )
    chunks = gradients.chunks_of(*right.shape[:3])
    parts = engine.output((chunks, side * side * channels + 1, number))
    gradients.launch_filter_gradients(
        given[0], on_engine, side, *steps, parts.array, launch=engine.launch
    )
    total = engine.output((parts.size // parts.shape[0],))
    gradients.launch_add_parts(parts.array, total.array, launch=engine.launch)
    expected = reference.filter_gradients(images, deltas, side, *steps)
    np.testing.assert_allclose(total.read().reshape(expected.shape), expected, atol=1e-4)


@pytest.mark.slow_on("native")
@pytest.mark.parametrize("shape", [(1, 19, 41, 9, 6)])
def test_a_tiled_convolution_of_several_pieces(engine, shape):
    """A piece and a bit each way, nine channels, six filters: none of them fits."""
    count, height, width, channels, number = shape
    images, filters = random(count, height, width, channels), random(3, 3, channels, number)
    bias = random(number, seed=2)
    out = engine.output((count, height, width, number))
    convolve.launch_convolve_tiled(
        *(engine.array(array) for array in (images, filters, bias)), out.array,
        launch=engine.launch,
    )  # fmt: skip
    np.testing.assert_allclose(out.read(), reference.convolve(images, filters, bias), atol=1e-4)


@pytest.mark.slow_on("native")
@pytest.mark.parametrize("least", [-np.inf, 0])
@pytest.mark.parametrize("shape", [(2, 7, 6, 3), (1, 2, 3, 1)])
def test_pooling(engine, shape, least):
    images = random(*shape)
    images[0, :2, :2] = 0.5  # of equals the first
    pooled, winners = reference.max_pool(images, least)
    got, places = engine.output(pooled.shape), engine.output(pooled.shape, dtype=np.int32)
    pool.launch_max_pool(engine.array(images), least, got.array, places.array, launch=engine.launch)
    np.testing.assert_array_equal(got.read(), pooled)
    np.testing.assert_array_equal(places.read(), winners)
    deltas, back = random(*pooled.shape, seed=1), engine.output(shape)
    pool.launch_unpool(engine.array(deltas), places.array, back.array, launch=engine.launch)
    np.testing.assert_array_equal(back.read(), reference.unpool(deltas, winners, shape))
    mean = engine.output(pooled.shape)
    pool.launch_average_pool(engine.array(images), mean.array, launch=engine.launch)
    np.testing.assert_allclose(mean.read(), reference.windows(images).mean(axis=-1), atol=1e-6)
    of_all = engine.output((shape[0], shape[3]))
    pool.launch_global_average_pool(engine.array(images), of_all.array, launch=engine.launch)
    right = images.astype(float).mean(axis=(1, 2))
    np.testing.assert_allclose(of_all.read(), right, atol=1e-6)


@pytest.mark.parametrize("sizes", [(2, 7, 9, 3, 5, 3, 1, 1), (2, 8, 7, 2, 3, 3, 2, 0)])
def test_the_way_back_is_the_transposed_of_the_way_there(sizes):
    """<convolve(x), d> = <x, image_gradients(d)> = <filters, filter_gradients(x, d)>."""
    count, height, width, channels, number, side, stride, padding = sizes
    x = np.random.default_rng(3).normal(size=(count, height, width, channels))
    filters = np.random.default_rng(4).normal(size=(side, side, channels, number))
    out = reference.convolve(x, filters, np.zeros(number), stride, padding)
    deltas = np.random.default_rng(5).normal(size=out.shape)
    product_there = (out * deltas).sum()
    back = reference.image_gradients(deltas, filters, stride, padding, x.shape)
    assert (x * back).sum() == pytest.approx(product_there)
    by_filters = reference.filter_gradients(x, deltas, side, stride, padding)[:-1]
    assert (filters.reshape(by_filters.shape) * by_filters).sum() == pytest.approx(product_there)
