"""The ladder of matrix products against float64 NumPy, on every engine, at ragged sizes."""

import numpy as np
import pytest

from kernels.products.double_buffered import launch_product_double_buffered
from kernels.products.epilogue import launch_product_bias_gelu
from kernels.products.large_tiles import launch_product_large_tiles
from kernels.products.tensor_cores import launch_product_halves, words_of_halves
from kernels.products.tiles import WIDTH, launch_product_registers
from kernels.products.transposed import launch_product_nt, launch_product_tn
from lessons.lab import checked_run
from lessons.reference import products as reference
from tests.engines import ENGINES

# (m, k, n): less than a tile; one tile of every kernel; several, with a piece of one at each edge.
SMALL, WHOLE, RAGGED = (5, 3, 9), (128, 32, 128), (67, 37, 130)
RUNGS = {
    "registers": launch_product_registers,
    "double buffered": launch_product_double_buffered,
    "large tiles": launch_product_large_tiles,
}
TURNED = {
    "nt": (launch_product_nt, reference.product_nt),
    "tn": (launch_product_tn, reference.product_tn),
}


def numbers(*shape):
    return np.random.default_rng(shape).uniform(-1, 1, shape).astype(np.float32)


def close(got, expected, tolerance=1e-6):
    assert np.abs(got - expected).max() <= tolerance * max(1, np.abs(expected).max())


def tolerance(k):
    """Of sums of k products, each below 1, in float32."""
    return k * 2.0**-23


def test_a_small_product():
    m, k, n = SMALL
    a, b, c = numbers(m, k), numbers(k, n), ENGINES["checked"]().output((m, n))
    launch_product_double_buffered(a, b, c.array, launch=ENGINES["checked"]().launch)
    close(c.read(), reference.product(a, b), tolerance(k))


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("size", [SMALL, WHOLE, RAGGED], ids=str)
def test_products(engine, rung, size):
    m, k, n = size
    a, b, c = numbers(m, k), numbers(k, n), engine.output((m, n))
    RUNGS[rung](engine.array(a), engine.array(b), c.array, launch=engine.launch)
    close(c.read(), reference.product(a, b), tolerance(k))


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.parametrize("which", TURNED)
@pytest.mark.parametrize("size", [SMALL, RAGGED], ids=str)
def test_transposed_operands(engine, which, size):
    m, k, n = size
    launch, expected = TURNED[which]
    a = numbers(*((m, k) if which == "nt" else (k, m)))
    b = numbers(*((n, k) if which == "nt" else (k, n)))
    c = engine.output((m, n))
    launch(engine.array(a), engine.array(b), c.array, launch=engine.launch)
    close(c.read(), expected(a, b), tolerance(k))


@pytest.mark.gpu
@pytest.mark.slow
def test_epilogue(engine):
    m, k, n = RAGGED
    a, b, bias, c = numbers(m, k), numbers(k, n), numbers(n), engine.output((m, n))
    launch_product_bias_gelu(
        engine.array(a), engine.array(b), engine.array(bias), c.array, launch=engine.launch
    )
    close(c.read(), reference.product_bias_gelu(a, b, bias), tolerance(k))


@pytest.mark.gpu
@pytest.mark.parametrize("size", [(5, 3, 9), (130, 75, 133)], ids=str)
def test_tensor_cores(instruction_engine, size):
    engine = instruction_engine
    m, k, n = size
    a, b, c = numbers(m, k), numbers(n, k), engine.output((m, n))
    words = engine.array(words_of_halves(a), np.uint32), engine.array(words_of_halves(b), np.uint32)
    launch_product_halves(*words, c.array, launch=engine.launch)
    halves = map(reference.rounded_to_halves, (a, b))
    close(c.read(), reference.product_nt(*halves), tolerance(k))


def test_words_hold_two_halves():
    matrix = numbers(3, 13)
    words = words_of_halves(matrix)
    assert words.shape == (3, 8)
    assert (words == reference.words_of_halves(matrix)).all()


@pytest.mark.slow
def test_shared_memory_is_read_half_as_often_as_there_are_products():
    m, k, n = WIDTH, 16, WIDTH
    a, b, c = numbers(m, k), numbers(k, n), np.zeros((m, n), np.float32)
    reports = []
    launch_product_registers(a, b, c, launch=lambda *run: reports.append(checked_run(*run)))
    (report,) = reports
    traffic = report.traffic.values()
    assert sum(line.shared_reads for line in traffic) == m * k * n / 2
    assert max(line.worst_conflict for line in traffic) == 1
    assert sum(line.sectors for line in traffic) * 8 == a.size + b.size + c.size
