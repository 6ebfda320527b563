"""The kernels of lesson 17 against float64, on each engine there is."""

import numpy as np
import pytest

from kernels.neighbours import convolve, gradients, learner, pool, product, tensor_cores
from lessons.capstones.device import cuda_device, native_device
from lessons.lab.errors import ProblemsFound
from lessons.reference import neighbours as reference
from tests.engines import ENGINES, launch_mixed
from tests.kernels.test_few_samples import without_barriers

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


# A piece and a bit each way, so of channels and filters; a bit less; what does not fit.
LESS = (1, 17, 16, 8, 16), (3, 5, 6, 4, 4), (1, 5, 6, 1, 8)
PIECES = [(2, 7, 19, 12, 20), *(pytest.param(s, marks=pytest.mark.thorough) for s in LESS)]


@pytest.mark.parametrize("shape", PIECES)
def test_convolution_on_tensor_cores(instruction_engine, shape):
    convolve_there_and_back(instruction_engine, tensor_cores, *shape)


def convolve_there_and_back(engine, module, count, height, width, channels, number):
    images, filters = random(count, height, width, channels), random(3, 3, channels, number)
    bias, deltas = random(number, seed=2), random(count, height, width, number, seed=1)
    x, w, b, slopes = [engine.array(array) for array in (images, filters, bias, deltas)]
    out, back = engine.output(deltas.shape), engine.output(images.shape)
    module.launch_convolve(x, w, b, 1, 1, out.array, launch=engine.launch)
    module.launch_image_gradients(slopes, w, 1, 1, back.array, launch=engine.launch)
    fits = module.fits(3, 1, 1, channels)
    # Fewer blocks than there are pieces, or more.
    chunks = 3 if fits else gradients.chunks_of(count, height, width)
    parts = engine.output((chunks, 9 * channels + 1, number))
    module.launch_filter_gradients(x, slopes, 3, 1, 1, parts.array, launch=engine.launch)

    right = reference.filter_gradients(images, deltas, 3, 1, 1)
    total = parts.read().sum(axis=0).reshape(right.shape)
    pairs = [
        (total, right),
        (out.read(), reference.convolve(images, filters, bias)),
        (back.read(), reference.image_gradients(deltas, filters, 1, 1, images.shape)),
    ]
    for found, right in pairs:
        np.testing.assert_allclose(found, right, atol=1e-3 * max(1, np.abs(right).max()), rtol=0)


def test_filters_as_large_as_the_images(instruction_engine):
    engine, images, filters = instruction_engine, random(3, 4, 4, 5), random(4, 4, 5, 6)
    bias, deltas = random(6, seed=2), random(3, 1, 1, 6, seed=1)
    out, back = engine.output(deltas.shape), engine.output(images.shape)
    x, w, b, slopes = [engine.array(array) for array in (images, filters, bias, deltas)]
    tensor_cores.launch_convolve(x, w, b, 1, 0, out.array, launch=engine.launch)
    tensor_cores.launch_image_gradients(slopes, w, 1, 0, back.array, launch=engine.launch)
    right = reference.image_gradients(deltas, filters, 1, 0, images.shape)
    np.testing.assert_allclose(
        out.read(), reference.convolve(images, filters, bias, 1, 0), atol=1e-5
    )
    np.testing.assert_allclose(back.read(), right, atol=1e-5)


@pytest.mark.thorough
def test_the_lab_notices_every_barrier_that_is_missing():
    changed = [*without_barriers(tensor_cores)]
    for module in changed:
        with pytest.raises(ProblemsFound, match="race"):
            convolve_there_and_back(ENGINES["checked"](), module, 2, 7, 19, 12, 8)
    assert len(changed) == 5


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


@pytest.mark.slow
def test_a_step_on_tensor_cores_is_nearly_that_of_the_lesson(request):
    on_gpu = request.config.getoption("--require-gpu")
    device = cuda_device() if on_gpu else native_device()._replace(launch=launch_mixed)
    shapes = learner.shapes_of(16, 10)
    begin = learner.initial_parameters(shapes, 2)
    images, labels = random(3, 16, 16, 1), np.array([3, 0, 9], np.int32)
    gradients = []
    for stages in (learner.Stages(), tensor_cores.on_tensor_cores(learner.Stages())):
        made = learner.new_network(begin, shapes, 16, 3, device.to_device)
        given = device.to_device(images), device.to_device(labels), device.empty(3)
        learner.training_step(stages, *given, made, 0.0, device.launch)
        gradients.append(device.to_host(made.gradients))
    right, found = gradients
    np.testing.assert_allclose(found, right, atol=0.01 * np.abs(right).max(), rtol=0)
    assert (found != right).any()
