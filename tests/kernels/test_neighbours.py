"""Convolution beside lesson 17, whose own kernels `test_lessons.py` looks at: on tensor cores."""

import numpy as np
import pytest

from kernels.neighbours import gradients, learner, pool, tensor_cores
from lessons.capstones.device import cuda_device, native_device
from lessons.lab.errors import ProblemsFound
from lessons.reference import neighbours as reference
from tests.engines import ENGINES, launch_mixed
from tests.kernels.test_few_samples import without_barriers
from tests.kernels.test_kernels import random

pytestmark = pytest.mark.gpu


# A piece and a bit each way, so of channels and filters; a bit less; what does not fit, such as
# filters as large as the images.
PIECES = (2, 7, 19, 12, 20), (3, 4, 4, 5, 6, 4, 1, 0)
OTHERS = (1, 17, 16, 8, 16), (3, 5, 6, 4, 4), (1, 5, 6, 1, 8)
SIZES = [*PIECES, *(pytest.param(sizes, marks=pytest.mark.thorough) for sizes in OTHERS)]


@pytest.mark.parametrize("sizes", SIZES)
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
    tolerance = 1e-5 if side > 3 else 1e-3
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


@pytest.mark.parametrize("sizes", [(2, 7, 9, 3, 5, 3, 1, 1), (2, 8, 7, 2, 3, 3, 2, 0)])
def test_the_way_back_is_the_transposed_of_the_way_there(sizes):
    """<convolve(x), d> = <x, image_gradients(d)> = <filters, filter_gradients(x, d)>."""
    images, filters, _, *steps = made(*sizes)
    out = reference.convolve(images, filters, np.zeros(filters.shape[3]), *steps)
    deltas = random(*out.shape, seed=1)
    product_there = (out * deltas).sum()
    back = reference.image_gradients(deltas, filters, *steps, images.shape)
    assert (images * back).sum() == pytest.approx(product_there)
    by_filters = reference.filter_gradients(images, deltas, len(filters), *steps)[:-1]
    assert (filters.reshape(by_filters.shape) * by_filters).sum() == pytest.approx(product_there)


@pytest.mark.slow_on("native")
def test_the_mean_of_all_places(engine):
    images, pooled = random(2, 7, 6, 3), engine.output((2, 3))
    pool.launch_global_average_pool(engine.array(images), pooled.array, launch=engine.launch)
    right = images.mean(axis=(1, 2), dtype=float)
    np.testing.assert_allclose(pooled.read(), right, atol=1e-6)


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
