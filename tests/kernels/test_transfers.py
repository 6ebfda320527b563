"""The kernels and the host code of lesson 10 against NumPy.

Kernels run on each engine there is; host code on a GPU, and on the lab's stand-in, which also looks
at who reads what too early. Sizes are no multiples of a block.
"""

import contextlib

import numpy as np
import pytest
from numba import cuda
from numba.core import config

from kernels.transfers import block_shapes, host_code
from lessons import reference
from lessons.lab import instead_of_gpu
from lessons.lab.host.steps import LAUNCH, STREAM_WAITS
from lessons.reference import transfers as reference_transfers


def random(*shape, seed=0, high=1.0):
    return np.random.default_rng(seed).uniform(0, high, shape).astype(np.float32)


@contextlib.contextmanager
def a_gpu_or_none():
    """The session of the stand-in; None on a GPU."""
    if cuda.is_available() and not config.ENABLE_CUDASIM:
        yield None
        return
    with instead_of_gpu() as session:
        yield session
    session.raise_if_problems()


def test_the_toy():
    toy = block_shapes.toy_pattern()
    assert toy[2].tolist()[:6] == [8, 8, 9, 9, 10, 10]
    small = block_shapes.shrink_on_cpu(toy, 2)
    assert small.dtype == np.float32
    assert small.ravel().tolist() == list(range(64)) and small.shape == (8, 8)


@pytest.mark.parametrize("shape, factor", [((9, 14), 2), ((13, 10), 3), ((8, 5), 8), ((3, 3), 1)])
def test_the_plain_loop(shape, factor):
    image = random(*shape)
    expected = reference_transfers.shrink(image, factor)
    small = block_shapes.shrink_on_cpu(image, factor)
    np.testing.assert_allclose(small, expected, rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.gpu
@pytest.mark.parametrize("block", block_shapes.BLOCK_SHAPES)
def test_shrink_in_blocks_of_any_shape(engine, block):
    image = random(33, 70)
    small = engine.array(np.full((16, 35), 77, np.float32))
    block_shapes.launch_shrink(engine.to_device(image), small, 2, block, engine.launch)
    # It adds in the order of the loop: not only near it, but the same bits.
    np.testing.assert_array_equal(engine.to_host(small), block_shapes.shrink_on_cpu(image, 2))


@pytest.mark.slow
@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(7, 45, 3), (9, 11, 4), (4, 6, 1)])
def test_tint(engine, shape):
    image, gains = random(*shape), random(shape[2], seed=1, high=1.6)
    tinted = engine.array(np.full(shape, 77, np.float32))
    arrays = engine.to_device(image), engine.to_device(gains)
    block_shapes.launch_tint(*arrays, tinted, launch=engine.launch)
    expected = reference_transfers.tint(image, gains)
    np.testing.assert_allclose(engine.to_host(tinted), expected, rtol=0, atol=1e-6)


def test_blocks_are_rounded_up_in_each_direction():
    cover = block_shapes.blocks_to_cover
    assert cover((70, 64), (32, 32)) == (3, 2)
    assert cover((3, 5, 1), (1, 4, 1)) == (3, 2, 1)


# ---------------------------------------------------------------- the host


@pytest.mark.gpu
def test_there_and_back():
    image = random(13, 22)
    with a_gpu_or_none():
        small = host_code.shrink_on_gpu(image, 3)
    assert small.dtype == np.float32
    np.testing.assert_allclose(small, reference_transfers.shrink(image, 3), rtol=0, atol=1e-6)


@pytest.mark.gpu
@pytest.mark.parametrize("work, waits", [("gray_in_a_queue", 1), ("gray_in_turns", 2)])
def test_a_queue_waits_once_and_two_once_each(work, waits):
    photos = [random(5, 7, 3, seed=seed) for seed in range(3)]
    with a_gpu_or_none() as session:
        grays = getattr(host_code, work)(photos)
        if session:
            assert [step.waits for step in session.order.steps] == [False] * 9 + [True] * waits
            assert [step.stream for step in session.order.steps[1:9:3]] == [1, waits, 1]
        assert getattr(host_code, work)([]) == []
    for gray, photo in zip(grays, photos, strict=True):
        np.testing.assert_allclose(gray, reference.grayscale(photo), rtol=0, atol=1e-6)


@pytest.mark.gpu
def test_half_and_quarter_have_streams_of_their_own():
    photo = random(13, 22, 3)
    with a_gpu_or_none() as session:
        gray, half, quarter = host_code.gray_half_quarter(photo)
        if session:
            steps = session.order.steps
            assert [step.stream for step in steps if step.do == LAUNCH] == [1, 1, 2]
            assert [step.stream for step in steps if step.do == STREAM_WAITS] == [2]
    expected = reference.grayscale(photo)
    np.testing.assert_allclose(gray, expected, rtol=0, atol=1e-6)
    for small, factor in ((half, 2), (quarter, 4)):
        shrunk = reference_transfers.shrink(expected, factor)
        np.testing.assert_allclose(small, shrunk, rtol=0, atol=1e-6)


@pytest.mark.gpu
def test_a_time_per_launch():
    image = random(13, 22)
    with a_gpu_or_none() as session:
        small, milliseconds = host_code.timed_shrink(image, 2, 4)
        if session:
            assert session.launches["shrink"] == 5
    assert 0 < milliseconds < 1000
    np.testing.assert_allclose(small, reference_transfers.shrink(image, 2), rtol=0, atol=1e-6)
