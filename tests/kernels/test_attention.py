"""Attention on tensor cores, and steps of the net that recalls, against float64.

`test_lessons.py` looks at the kernels of lesson 19.
"""

import numpy as np
import pytest

from kernels.attention import backward, fused, network, recall, tensor_cores
from lessons.capstones.device import choose_device, cuda_device, native_device
from lessons.lab.errors import ProblemsFound
from lessons.reference import attention as reference
from lessons.reference.classifier import softmax
from tests.engines import ENGINES
from tests.kernels.test_few_samples import without_barriers
from tests.kernels.test_kernels import random

pytestmark = pytest.mark.gpu
thorough = pytest.mark.thorough


def compare(engine, sizes, module):
    """Flash attention, forward and back, with float64; of the largest number if that is above 1."""
    given = [2 * random(*sizes, seed=seed) for seed in range(4)]
    q, k, v, grad_out = map(engine.array, given)
    out, _, log_sums = reference.attention(*given[:3])
    flash, sums, products = (engine.output(shape) for shape in (sizes, sizes[:3], sizes[:3]))
    module.launch_flash_attention(q, k, v, flash.array, sums.array, launch=engine.launch)
    close(flash.read(), out, 1e-3)
    close(sums.read(), log_sums, 1e-2)

    backward.launch_output_products(flash.array, grad_out, products.array, launch=engine.launch)
    close(products.read(), (given[3] * flash.read()).sum(axis=3), 1e-5)
    found = [engine.output(sizes) for _ in range(3)]
    arrays = q, k, v, grad_out, sums.array, products.array
    module.launch_flash_backward_queries(*arrays, found[0].array, launch=engine.launch)
    module.launch_flash_backward_keys(*arrays, found[1].array, found[2].array, launch=engine.launch)
    for one, right in zip(found, reference.attention_gradients(*given), strict=True):
        close(one.read(), right, 2e-3)


def close(got, right, tolerance):
    np.testing.assert_allclose(got, right, atol=tolerance * max(1, np.abs(right).max()), rtol=0)


# Some rows of a block; a head that ends within a tile, and several blocks.
TILES = [(1, 2, 40, 12), pytest.param((1, 1, 131, 64), marks=thorough)]


@pytest.mark.parametrize("sizes", TILES)
def test_attention_on_tensor_cores(instruction_engine, sizes):
    compare(instruction_engine, sizes, tensor_cores)


def test_heads_that_do_not_fit_into_a_tile_are_refused():
    q = np.zeros((1, 1, 2, 6), np.float32)
    with pytest.raises(ValueError, match="multiple of four"):
        tensor_cores.launch_flash_attention(q, q, q, q, q[..., 0])


@thorough
def test_the_lab_notices_every_barrier_that_is_missing():
    changed = [*without_barriers(tensor_cores)]
    for module in changed:
        with pytest.raises(ProblemsFound, match="race"):
            compare(ENGINES["checked"](), (1, 1, 70, 4), module)
    assert len(changed) == 3


def test_rows_ask_for_a_letter_that_they_hold(engine):
    tokens = engine.output((300, recall.PLACES), dtype=np.int32)
    answers = engine.output((300,), dtype=np.int32)
    clock = engine.array([0, 0, 3], np.int64)
    recall.launch_draw_rows(
        clock, np.uint64(7 << 33 | 5), tokens.array, answers.array, launch=engine.launch
    )
    letters, digits = tokens.read()[:, :-1:2], tokens.read()[:, 1::2] - recall.LETTERS
    assert all(len(set(row)) == recall.PAIRS for row in letters)
    assert set(letters.ravel()) == set(range(recall.LETTERS))
    assert set(digits.ravel()) == set(range(recall.DIGITS))
    asked = letters == tokens.read()[:, -1:]
    assert (digits[asked] == answers.read()).all() and set(asked.argmax(axis=1)) == set(range(8))


# ---------------------------------------------------------------- a step of the network


def reference_step(tokens, answers, parameters, layers):
    """losses (B,), and the gradient (n,) of their sum: float64."""
    flat = parameters.astype(np.float64)
    slopes = np.zeros_like(flat)
    parts, grads = (network.parts_of(array, layers) for array in (flat, slopes))
    heads = len(tokens), 1, recall.PLACES, network.WIDTH
    x = (parts.tokens[tokens] + parts.places).reshape(-1, network.WIDTH)
    kept = []
    for layer in parts.layers:
        normal = reference.layer_norm(x, layer.gain)
        given = [(normal @ matrix).reshape(heads) for matrix in layer[1:4]]
        seen = reference.attention(*given)[0].reshape(x.shape)
        kept.append((x, normal, given, seen))
        x = x + seen @ layer.output

    last = slice(recall.PLACES - 1, None, recall.PLACES)
    normal = reference.layer_norm(x[last], parts.gain)
    deltas, own = softmax(normal @ parts.answer), (np.arange(len(tokens)), answers)
    losses = -np.log(deltas[own])
    deltas[own] -= 1
    grads.answer[:] = normal.T @ deltas
    grad_x = np.zeros_like(x)
    grad_x[last], grads.gain[:] = reference.layer_norm_gradients(
        x[last], parts.gain, deltas @ parts.answer.T
    )
    for layer, grad in zip(parts.layers[::-1], grads.layers[::-1], strict=True):
        x, normal, given, seen = kept.pop()
        grad.output[:] = seen.T @ grad_x
        grad_seen = (grad_x @ layer.output.T).reshape(heads)
        grad_normal = np.zeros_like(x)
        three = reference.attention_gradients(*given, grad_seen)
        for delta, matrix, total in zip(three, layer[1:4], grad[1:4], strict=True):
            total[:] = normal.T @ delta.reshape(x.shape)
            grad_normal += delta.reshape(x.shape) @ matrix.T
        below, grad.gain[:] = reference.layer_norm_gradients(x, layer.gain, grad_normal)
        grad_x = grad_x + below
    np.add.at(grads.tokens, tokens.ravel(), grad_x)
    grads.places[:] = grad_x.reshape(heads).sum(axis=(0, 1))
    return losses, slopes


def drawn_step(reader):
    """Rows for a reader, in the place of its parameters some with gains that are not 1.

    Returns what its losses and gradients should be.
    """
    device = reader.device
    clock = reader.numbers.clock
    recall.launch_draw_rows(clock, reader.seed, reader.tokens, reader.answers, device.launch)
    parameters = device.to_host(reader.parameters)
    parameters += 0.3 * random(parameters.size)
    reader.parameters = device.to_device(parameters)
    reader.parts = network.parts_of(reader.parameters, reader.layers)
    reader.step_work = reader.new_step_work()
    tokens, answers = map(device.to_host, (reader.tokens, reader.answers))
    return reference_step(tokens, answers, parameters, reader.layers)


def device_of(engine):
    device = cuda_device() if isinstance(engine, ENGINES["cuda"]) else native_device()
    return device._replace(launch=engine.launch)


def run_fused(module, layers, batch, device):
    """(losses, gradients) of a fused step, and what they should be."""
    reader = module.FusedReader(3, batch, device, layers)
    right = drawn_step(reader)
    reader.find_sums(device.launch)
    found = device.to_host(reader.losses), device.to_host(reader.sums).sum(axis=0, dtype=float)
    return found, right


@pytest.mark.thorough_on("native")  # which compiles for 15 s
@pytest.mark.parametrize(
    ("layers", "batch"), [(2, 1), *(pytest.param(*s, marks=thorough) for s in ((1, 3), (3, 2)))]
)
def test_a_fused_step(engine, layers, batch):
    for one, right in zip(*run_fused(fused, layers, batch, device_of(engine)), strict=True):
        close(one, right, 2e-6)


@thorough
def test_the_lab_notices_every_barrier_that_is_missing_in_a_fused_step():
    changed = [*without_barriers(fused)]
    for module in changed:
        with pytest.raises(ProblemsFound, match="race"):
            run_fused(module, 2, 1, device_of(ENGINES["checked"]()))
    assert len(changed) == 14


@thorough
def test_a_step_of_the_readable_kernels():
    reader = network.Reader(3, 5, choose_device("native"))
    losses, gradients = drawn_step(reader)
    reader.find_gradients(reader.device.launch)
    close(reader.losses, losses, 2e-6)
    close(reader.gradients, gradients, 2e-6)


@thorough
def test_fused_steps_learn_what_the_readable_ones_learn_and_leave_the_same_bits():
    def trained(kind):
        reader = kind(3, 32, choose_device("native"))
        for step in range(1, 31):
            reader.train(step, network.rate_at(step, 60))  # from step 20 to 30 the rate stays
        return reader

    one, other, readable = map(trained, (fused.FusedReader, fused.FusedReader, network.Reader))
    assert (one.parameters == other.parameters).all()
    assert (one.turned[one.places] == one.parameters).all()
    assert abs(one.loss() / readable.loss() - 1) < 0.001
    close(one.parameters, readable.parameters, 0.01)
