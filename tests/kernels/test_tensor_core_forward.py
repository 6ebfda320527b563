"""The forward pass on tensor cores against the float64 reference, and against the staged kernel.

Without a GPU it runs in the checked simulator, on a GPU with `--require-gpu`. (The native engine
has no raw instructions.)
"""

import inspect
from functools import partial

import numpy as np
import pytest

from kernels import mlp_forward
from kernels.fast import tensor_core_forward
from kernels.fast.tensor_core_forward import SAMPLES, launch_tensor_core_forward
from lessons import reference
from lessons.lab import checked_run
from lessons.lab.errors import InputError
from lessons.lab.simulator.run import launch
from tests.engines import ENGINES
from tests.kernels.test_kernels import random, random_weights
from tests.mutants.generate import load, mutants_of_module

# That Numba compiles these kernels is tested in `test_compile.py`; here it would take long.
checked = partial(launch, ask_numba=False)

pytestmark = pytest.mark.gpu

HALF_ROUNDING = 2.0**-11  # relative, at most, of a number that is rounded to a half


def network(batch):
    weights = random_weights(32, 2)
    return random(batch, 16), weights, reference.split_weights(weights, 32, 2)


def tolerance(features, matrices):
    """How far rounding operands to halves may move each output of the network: (B, 16) float64.

    A rounding error lies evenly between -HALF_ROUNDING and HALF_ROUNDING of the number, so its
    variance is a third of the square of that. In a sum of products both factors are rounded;
    errors are independent, so variances add. Six standard deviations are never exceeded.
    float32 sums add nothing that could be seen beside that.
    """
    rounding = HALF_ROUNDING**2 / 3
    variance = np.zeros_like(features)
    inputs = [features, *reference.mlp_forward(features, matrices)[1][1:]]
    for exact, matrix in zip(inputs, matrices, strict=True):
        variance = (variance + 2 * rounding * exact**2) @ matrix**2
    return 6 * np.sqrt(variance) / 4  # the sigmoid's slope is 1/4 at most


def close_enough(outputs, features, matrices):
    expected, _ = reference.mlp_forward(features, matrices)
    return (np.abs(outputs - expected) <= tolerance(features, matrices)).all()


@pytest.mark.parametrize("batch", [1, 8, 15, 17, SAMPLES - 1, SAMPLES, SAMPLES + 6, 200])
def test_outputs_are_within_the_rounding_of_halves(instruction_engine, batch):
    features, weights, matrices = network(batch)
    outputs = instruction_engine.output((batch, 16))
    launch_tensor_core_forward(
        instruction_engine.array(features), instruction_engine.array(weights), outputs.array,
        launch=instruction_engine.launch,
    )  # fmt: skip
    assert close_enough(outputs.read(), features, matrices)


def test_the_tolerance_is_small():
    features, _, matrices = network(200)
    assert tolerance(features, matrices).max() < 2e-3


def test_it_computes_what_the_staged_kernel_computes(instruction_engine):
    engine = instruction_engine
    features, weights, matrices = network(70)
    staged, fast = engine.output((70, 16)), engine.output((70, 16))
    hidden = engine.output((2, 70, 32))
    there = engine.array(features), engine.array(weights)
    mlp_forward.launch_mlp_forward(*there, hidden.array, staged.array, launch=engine.launch)
    launch_tensor_core_forward(*there, fast.array, launch=engine.launch)
    assert (np.abs(fast.read() - staged.read()) <= tolerance(features, matrices)).all()


# ---------------------------------------------------------------- mistakes are noticed


def passes(module):
    """Whether a module's kernel runs without a finding, and its outputs are close enough."""
    features, weights, matrices = network(SAMPLES + 6)
    outputs = ENGINES["checked"]().output((SAMPLES + 6, 16))
    try:
        module.launch_tensor_core_forward(features, weights, outputs.array, launch=checked)
        return bool(close_enough(outputs.read(), features, matrices))
    except (InputError, AssertionError):
        return False


def broken(text, number):
    return load(text, tensor_core_forward.__name__, f"<broken {number} of tensor_core_forward.py>")


MISTAKES = [
    ("pack_relu_halves(sums[tile, 2]", "pack_halves(sums[tile, 2]"),  # no ReLU
    ("2 * (tile % 2)", "2 * ((tile + 1) % 2)"),  # words of A in another order
    ("packed[pair + 4, unit]", "packed[pair + 1, unit]"),
    ("low, high, sums", "high, low, sums"),
    ("(lane & 3), 8 * tile", "(lane & 1), 8 * tile"),
    ("8 * (word % 2)", "8 * (word // 2)"),
    ("8 * (i // 2), 8 * tile", "8 * (i % 2), 8 * tile"),
    ("(FEATURES + HIDDEN) * HIDDEN", "FEATURES * HIDDEN"),  # the wrong matrix
    ("range(cuda.threadIdx.x, fan_in // 2", "range(cuda.threadIdx.x, fan_in // 4"),
]


@pytest.mark.parametrize("old, new", MISTAKES)
def test_mistakes_with_fragments_are_noticed(old, new):
    text = inspect.getsource(tensor_core_forward)
    assert text.count(old) == 1
    assert not passes(broken(text.replace(old, new), old))


@pytest.mark.slow
def test_generated_mistakes_are_noticed():
    assert passes(tensor_core_forward)
    mutants = mutants_of_module(tensor_core_forward, "tensor_core_forward")
    survivors = [m.new for i, m in enumerate(mutants) if passes(broken(m.text, i))]
    # `clear` sets all 4 x 4 sums to zero, in whatever order.
    assert len(mutants) > 20 and survivors == ["sums[i, tile]"]


@pytest.mark.slow
def test_it_runs_clean_in_any_order_of_threads():
    features, weights, _ = network(SAMPLES + 6)
    outputs = np.zeros((SAMPLES + 6, 16), np.float32)
    kernel, threads = tensor_core_forward.tensor_core_forward, tensor_core_forward.THREADS
    schedule = [*range(5), "reverse"]
    report = checked_run(
        kernel, 2, threads, features, weights, outputs, schedule=schedule, ask_numba=False
    )
    assert report.ok, report


def test_no_bank_of_shared_memory_is_met_twice_when_weights_are_read():
    features, weights, _ = network(SAMPLES)
    outputs = np.zeros((SAMPLES, 16), np.float32)
    kernel, threads = tensor_core_forward.tensor_core_forward, tensor_core_forward.THREADS
    report = checked_run(kernel, 1, threads, features, weights, outputs, ask_numba=False)
    (line,) = (line for line in report.table().splitlines() if "low, high = packed" in line)
    assert line.split()[1:3] == ["4,096", "1.0"]  # reads, and passes per request
