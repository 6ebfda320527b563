"""The kernels of lesson 17 against float64, on each engine there is."""

from types import SimpleNamespace

import numpy as np
import pytest

from kernels.neighbours import convolve, gradients, learner, pool, product, tensor_cores
from lessons.capstones.device import cuda_device, native_device
from lessons.lab.errors import ProblemsFound
from lessons.reference import neighbours as reference
from tests.engines import ENGINES, launch_mixed
from tests.kernels.test_few_samples import without_barriers

pytestmark = pytest.mark.gpu


def thorough(*cases):
    return [pytest.param(case, marks=pytest.mark.thorough) for case in cases]


# Images, height, width, channels; filters, their side, stride, padding.
SIZES = [
    (2, 7, 9, 3, 5, 3, 1, 1),
    *thorough(
        (1, 1, 1, 1, 1, 1, 1, 0), (3, 8, 5, 17, 18, 3, 2, 1), (5, 4, 4, 6, 10, 4, 1, 0),
        (1, 11, 10, 2, 1, 5, 3, 2),
    ),
]  # fmt: skip
PLAIN = SimpleNamespace(
    fits=lambda *sizes: False,
    launch_convolve=product.launch_convolve_as_product,
    launch_image_gradients=gradients.launch_image_gradients,
    launch_filter_gradients=gradients.launch_filter_gradients,
)


def random(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


@pytest.mark.thorough_on("native")
@pytest.mark.parametrize("sizes", SIZES)
def test_a_convolution_as_a_product_there_and_back(engine, sizes):
    convolve_there_and_back(engine, PLAIN, *sizes)


# Nothing fits into the last: a piece and a bit each way, nine channels, six filters.
@pytest.mark.slow_on("native")
@pytest.mark.parametrize("sizes", [*SIZES, (1, 19, 41, 9, 6, 3, 1, 1)])
def test_other_ways_to_convolve(engine, sizes):
    images, filters, bias, *steps = made(*sizes)
    right = reference.convolve(images, filters, bias, *steps)
    given = [engine.array(array) for array in (images, filters, bias)]
    ways = [(convolve.launch_convolve_naive, steps)]
    if sizes[5:] == (3, 1, 1):
        ways.append((convolve.launch_convolve_tiled, ()))
    for launch, more in ways:
        out = engine.output(right.shape)
        launch(*given, *more, out.array, launch=engine.launch)
        np.testing.assert_allclose(out.read(), right, atol=1e-5 * max(1, np.abs(right).max()))


# A piece and a bit each way, so of channels and filters; a bit less; what does not fit, such as
# filters as large as the images.
PIECES = (2, 7, 19, 12, 20), (3, 4, 4, 5, 6, 4, 1, 0)
OTHERS = thorough((1, 17, 16, 8, 16), (3, 5, 6, 4, 4), (1, 5, 6, 1, 8))


@pytest.mark.parametrize("sizes", [*PIECES, *OTHERS])
def test_convolution_on_tensor_cores(instruction_engine, sizes):
    convolve_there_and_back(instruction_engine, tensor_cores, *sizes)


def made(count, height, width, channels, number, side=3, stride=1, padding=1):
    images, filters = random(count, height, width, channels), random(side, side, channels, number)
    return images, filters, random(number, seed=2), stride, padding


def convolve_there_and_back(engine, module, *sizes):
    images, filters, bias, *steps = made(*sizes)
    side, _, channels, number = filters.shape
    out_right = reference.convolve(images, filters, bias, *steps)
    deltas = random(*out_right.shape, seed=1)
    x, w, b, slopes = [engine.array(array) for array in (images, filters, bias, deltas)]
    out, back = engine.output(deltas.shape), engine.output(images.shape)
    module.launch_convolve(x, w, b, *steps, out.array, launch=engine.launch)
    module.launch_image_gradients(slopes, w, *steps, back.array, launch=engine.launch)
    fits = module.fits(side, *steps, channels)
    # Fewer blocks than there are pieces, or more.
    chunks = 3 if fits else gradients.chunks_of(*deltas.shape[:3])
    parts = engine.output((chunks, side * side * channels + 1, number))
    module.launch_filter_gradients(x, slopes, side, *steps, parts.array, launch=engine.launch)
    total = engine.output((parts.size // chunks,))
    gradients.launch_add_parts(parts.array, total.array, launch=engine.launch)

    of_filters = reference.filter_gradients(images, deltas, side, *steps)
    pairs = [
        (total.read().reshape(of_filters.shape), of_filters),
        (out.read(), out_right),
        (back.read(), reference.image_gradients(deltas, filters, *steps, images.shape)),
    ]
    # Tensor cores are handed numbers of ten bits; filters as large as the images do without them.
    tolerance = 1e-5 if module is PLAIN or side > 3 else 1e-3
    for found, right in pairs:
        atol = tolerance * max(1, np.abs(right).max())
        np.testing.assert_allclose(found, right, atol=atol, rtol=0)


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
