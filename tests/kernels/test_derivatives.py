"""Derivatives, tapes and written kernels against NumPy, on each engine there is (see `engines`)."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kernels.derivatives import functions, models
from kernels.derivatives.finite_differences import finite_difference, wrong_derivatives
from kernels.derivatives.registry import FUNCTIONS, derivative_of, differentiable
from kernels.derivatives.tape import Tape, backward_steps, needs_gradient
from kernels.derivatives.writer import write
from kernels.derivatives.written import arrays_for, module_of, run_backward, run_forward
from kernels.plumbing.errors import InputError
from lessons import reference
from lessons.reference import derivatives as reference_derivatives
from tests.engines import Checked

ROOT = Path(__file__).resolve().parents[2]
POINTWISE = [name for name in reference_derivatives.POINTWISE if name in FUNCTIONS]


def random(*shape, seed=0, low=-1.0, high=1.0):
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def gradients_of(engine, model, given, scale, name="tape", **options):
    """name -> array on the host, after both passes of a model's written kernels."""
    written = write(name, model.tape, "loss", model.parameters, **options)
    module = module_of(written, name)
    arrays = arrays_for(
        model.tape,
        written,
        {key: engine.array(value) for key, value in given.items()},
        lambda shape: engine.array(np.zeros(shape, np.float32)),
    )
    run_forward(module, written, arrays, engine.launch)
    run_backward(module, written, arrays, scale, engine.launch)
    return {key: engine.to_host(array) for key, array in arrays.items()}


# ---------------------------------------------------------------- single functions


@pytest.mark.parametrize("name", POINTWISE)
def test_derivatives_are_those_of_the_equations(name):
    function = getattr(functions, name)
    derivative = getattr(functions, f"{name}_derivative")
    entry = FUNCTIONS[name].derivative(FUNCTIONS[name].parameters[0])
    value_of, slopes_of = reference_derivatives.POINTWISE[name]
    for inputs in random(20, len(FUNCTIONS[name].parameters), seed=3, low=-3, high=3):
        given = dict(zip(FUNCTIONS[name].parameters, inputs, strict=True))
        exact = [float(x) for x in inputs]
        assert float(function(*inputs)) == pytest.approx(value_of(*exact), abs=2e-6)
        found = derivative(*[{**given, "gradient": np.float32(1.5)}[p] for p in entry.parameters])
        expected = 1.5 * np.array(slopes_of(*exact))
        np.testing.assert_allclose(np.ravel(found), expected, rtol=2e-6, atol=2e-6)


def test_gelu_has_slopes_far_from_zero_too():
    for x, slope in ((1000.0, 1.5), (-1000.0, 0.0), (0.0, 0.75)):
        assert float(functions.gelu_derivative(np.float32(x), np.float32(1.5))) == slope


def test_finite_differences_find_what_is_wrong_and_nothing_else():
    def forgets_the_gradient(x, gradient):
        return functions.sine_derivative(x, np.float32(1))

    def exchanges(a, b, gradient):
        return functions.product_derivative(b, a, gradient)

    def is_no_number(x, gradient):
        return np.float32(np.nan)

    def forgets_the_second(a, b, gradient):
        return gradient * b

    points, pairs = random(10, 1, low=-3, high=3), random(10, 2, low=-3, high=3)
    right = [
        ("sine", functions.sine, functions.sine_derivative, list(map(tuple, points))),
        ("gelu", functions.gelu, functions.gelu_derivative, list(map(tuple, points))),
        ("product", functions.product, functions.product_derivative, list(map(tuple, pairs))),
    ]
    assert wrong_derivatives(right) == []
    wrong = [
        ("a", functions.sine, forgets_the_gradient, list(map(tuple, points))),
        ("b", functions.product, exchanges, list(map(tuple, pairs))),
        ("c", functions.sine, is_no_number, list(map(tuple, points))),
        ("d", functions.product, forgets_the_second, list(map(tuple, pairs))),
    ]
    assert wrong_derivatives([right[0], *wrong, right[1]]) == ["a", "b", "c", "d"]
    slope = finite_difference(functions.product, (np.float32(2), np.float32(-3)), 1)
    assert slope == pytest.approx(2, abs=1e-4)


def test_who_registers_nothing_is_told():
    @differentiable
    def never_derived(x):
        return x

    tape = Tape()
    tape.call("y", never_derived, "x")
    try:
        with pytest.raises(InputError, match="never_derived has no derivative"):
            write("y", tape, "y", ("x",))
        derivative_of(never_derived)(lambda gradient: gradient)
        assert "<lambda>" in write("y", tape, "y", ("x",)).source
    finally:
        del FUNCTIONS["never_derived"]
    with pytest.raises(InputError, match="never_derived is no registered function"):
        write("y", tape, "y", ("x",))


def test_a_tape_without_parameters_and_a_wrong_number_of_inputs_are_told():
    tape = Tape()
    tape.call("y", functions.square, "x")
    with pytest.raises(InputError, match="depends on none of the parameters w"):
        write("y", tape, "y", ("w",))
    tape.call("z", functions.product, "y")
    with pytest.raises(InputError, match="product takes a, b, and not 1 inputs"):
        write("z", tape, "z", ("x",))


def test_who_scatters_into_what_nobody_clears_is_told():
    tape = Tape()
    tape.call("grid", functions.square, "small")
    tape.call("value", functions.bilinear, "grid", "uv")
    with pytest.raises(InputError, match="scatters into grid, which must be a parameter"):
        write("value", tape, "value", ("small",))


def test_only_steps_of_the_tape_are_written():
    tape = Tape()
    tape.call("y", functions.square, "x")
    for step in (
        None,
        ("y", "square", ("x",)),
        ("y", "square", 5, ("set",)),
        ("y", "square", ("x",), ("set", "set")),
        ("y", "square", ("x",), ("mine",)),
        ("y", "square", ("x",), ([],)),
        ("y", "exec", ("x",), ("set",)),
        ("y): exec(", "square", ("x",), ("set",)),
    ):
        with pytest.raises(InputError, match="is no"):
            write("y", tape, "y", ("x",), plan=[step])


# ---------------------------------------------------------------- tapes


def test_what_needs_a_gradient():
    steps = [
        ("a", "product", ("x", "constant")),
        ("b", "square", ("constant",)),
        ("c", "added", ("a", "b")),
        ("d", "product", ("b", 3.0)),
    ]
    assert set(needs_gradient(steps, ("x",))) == {"x", "a", "c"}


def test_backward_steps_come_in_reverse_and_add_what_is_used_twice():
    steps = [
        ("a", "square", ("x",)),
        ("watched", "sine", ("a",)),  # the result does not depend on it
        ("b", "square", ("constant",)),
        ("c", "product", ("a", "x")),
        ("d", "added", ("c", "b")),
        ("e", "product", ("d", "d")),
    ]
    assert backward_steps(steps, "e", ("x",)) == [
        ("e", "product", ("d", "d"), ("set", "add")),
        ("d", "added", ("c", "b"), ("set", None)),
        ("c", "product", ("a", "x"), ("set", "set")),
        ("a", "square", ("x",), ("add",)),
    ]


def random_model(seed):
    """A tape of random functions, each of whose values goes into the loss."""
    rng = np.random.default_rng(seed)
    chosen = [name for name in POINTWISE if name not in ("relu", "luminance")]
    tape, names = Tape(), ["x", "y", "constant"]
    for number in range(7):
        function = getattr(functions, str(rng.choice(chosen)))
        inputs = rng.choice(names, len(FUNCTIONS[function.__name__].parameters)).tolist()
        value = tape.call(f"value_{number}", function, *inputs)
        names.append(tape.call(f"wave_{number}", functions.sine, value))
    total = names[0]
    for number, name in enumerate(names[1:]):
        total = tape.call(f"total_{number}", functions.added, total, name)
    tape.call("loss", functions.square, total)
    return models.Model(tape, ("x", "y"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_random_tapes_have_the_slopes_of_the_forward_mode(seed):
    model = random_model(seed)
    given = {name: random(3, 5, seed=n) for n, name in enumerate(("x", "y", "constant"))}
    found = gradients_of(Checked(), model, given, 1.0)
    for parameter in model.parameters:
        slopes = reference_derivatives.tangent_of(model.tape, given, parameter)["loss"]
        expected = np.broadcast_to(slopes, (3, 5))
        limit = 1e-5 * np.abs(expected).max()
        np.testing.assert_allclose(found[f"grad_{parameter}"], expected, atol=limit)


# ---------------------------------------------------------------- written kernels


def test_a_value_that_two_kernels_use_is_complete_before_it_goes_on():
    """A connection around a layer: wave_1 goes into layer 2, and is added to what comes out."""
    tape = Tape()
    tape.call("sum_1", functions.matmul, "inputs", "weights_1")
    tape.call("wave_1", functions.sine, "sum_1")
    tape.call("sum_2", functions.matmul, "wave_1", "weights_2")
    tape.call("around", functions.added, "sum_2", "wave_1")
    tape.call("loss", functions.square, "around")
    model = models.Model(tape, ("weights_1", "weights_2"))
    given = {"inputs": random(9, 4), "weights_1": random(4, 5), "weights_2": random(5, 5, seed=1)}
    found = gradients_of(Checked(), model, given, 1.0)
    inputs, w1, w2 = (array.astype(np.float64) for array in given.values())
    wave = np.sin(inputs @ w1)
    grad = 2 * (wave @ w2 + wave)
    below = (grad @ w2.T + grad) * np.cos(inputs @ w1)
    np.testing.assert_allclose(found["grad_weights_2"], wave.T @ grad, atol=2e-5)
    np.testing.assert_allclose(found["grad_weights_1"], inputs.T @ below, atol=4e-5)


@pytest.mark.slow
@pytest.mark.gpu
def test_the_lakes_network_has_the_gradients_of_lesson_7(engine):
    hidden, batch = 16, 70
    uv, grid, target = random(batch, 2, low=0), random(5, 7, 3, seed=1), random(batch, 3, low=0)
    w1, w2, w3 = random(16, hidden), random(hidden, hidden, seed=2), random(hidden, 16, seed=3)
    expected = reference.backward(uv, grid, [w1, w2, w3], target)
    given = {"uv": uv, "grid": grid, "target": target, "weights_1": w1, "weights_2": w2}
    given["weights_3"] = w3[:, :3]
    found = gradients_of(engine, models.lake(2), given, 1 / target.size, "lake")
    assert np.mean(found["loss"]) == pytest.approx(expected.loss, rel=1e-5)
    limit = 1e-5 * np.abs(expected.grad_weights).max()
    parts = np.split(expected.grad_weights, [16 * hidden, (16 + hidden) * hidden])
    for layer, part in enumerate(parts, 1):
        part = part.reshape(hidden, -1)[:, : 3 if layer == 3 else None]
        np.testing.assert_allclose(found[f"grad_weights_{layer}"], part, atol=limit)
    slopes = expected.grad_feature_grid
    np.testing.assert_allclose(found["grad_grid"], slopes, atol=1e-5 * np.abs(slopes).max())


def siren_inputs(batch=40, width=8, layers=2):
    widths = [2, *[width] * layers, 3]
    given = {"positions": random(batch, 2), "target": random(batch, 3, low=0)}
    for layer in range(1, layers + 2):
        shape = widths[layer - 1], widths[layer]
        given[f"weights_{layer}"] = random(*shape, seed=layer)
        given[f"biases_{layer}"] = random(1, shape[1], seed=10 + layer)
    return given


@pytest.mark.gpu
@pytest.mark.thorough_on("native")
def test_siren_has_the_gradients_of_the_equations(engine):
    given = siren_inputs()
    layers = range(1, 4)
    expected = reference_derivatives.siren_backward(
        given["positions"],
        [given[f"weights_{layer}"].astype(np.float64) for layer in layers],
        [given[f"biases_{layer}"][0].astype(np.float64) for layer in layers],
        7.0,
        given["target"],
    )
    model = models.siren(2, 7.0)
    found = gradients_of(engine, model, given, 1 / given["target"].size, "siren")
    limit = 2e-5 * max(np.abs(w).max() for w in expected.weights)
    for layer in layers:
        weights, biases = expected.weights[layer - 1], expected.biases[layer - 1]
        np.testing.assert_allclose(found[f"grad_weights_{layer}"], weights, atol=limit)
        np.testing.assert_allclose(found[f"grad_biases_{layer}"][0], biases, atol=limit)


def test_the_reference_of_siren_has_the_slopes_of_finite_differences():
    rng = np.random.default_rng(5)
    given = {name: array.astype(np.float64) for name, array in siren_inputs(batch=6).items()}
    weights = [given[f"weights_{layer}"] for layer in (1, 2, 3)]
    biases = [given[f"biases_{layer}"][0].copy() for layer in (1, 2, 3)]

    def backward():
        arguments = given["positions"], weights, biases, 7.0, given["target"]
        return reference_derivatives.siren_backward(*arguments)

    found = backward()
    for _ in range(10):
        layer = rng.integers(3)
        parameter, gradient = (
            (weights, found.weights) if rng.random() < 0.6 else (biases, found.biases)
        )
        index = tuple(rng.integers(size) for size in parameter[layer].shape)
        slope = reference_derivatives.slope_along(lambda: backward().loss, parameter[layer], index)
        assert gradient[layer][index] == pytest.approx(slope, rel=1e-5, abs=1e-8)


def test_what_no_kernel_reads_again_is_not_stored():
    written = write("gray", models.gray_error().tape, "loss", ("red", "green", "blue"))
    assert written.stored == ["error", "loss"]
    assert written.source.count("@cuda.jit") == 2
    only_red = write("gray", models.gray_error().tape, "loss", ("red",))
    assert "grad_green" not in only_red.source and "grad_blue" not in only_red.source


def test_kernels_that_are_alike_are_written_once():
    def kernels_of(layers):
        model = models.siren(layers, 30)
        return write("siren", model.tape, "loss", model.parameters).source.count("@cuda.jit")

    assert kernels_of(2) == kernels_of(8) == kernels_of(1) + 2


@pytest.mark.thorough
@pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="needs numba-cuda")
def test_written_kernels_compile_without_double_precision_or_local_memory():
    code = """
import json
from kernels.derivatives import models
from kernels.derivatives.writer import write
from kernels.derivatives.written import module_of
from tests.kernels.compile_kernels import assemble, compile_to_ptx, cube, matrix
from numba import float32
found = {}
for model, name in ((models.siren(2, 30), "siren"), (models.lake(1), "lake"),
                    (models.siren(2, 1, "gelu"), "gelu"), (models.gray_error(), "gray")):
    module = module_of(write(name, model.tape, "loss", model.parameters), name)
    for kernel in [one for one in vars(module).values() if hasattr(one, "py_func")]:
        code = kernel.py_func.__code__
        names = code.co_varnames[:code.co_argcount]
        kinds = {"grid": cube, "grad_grid": cube, "scale": float32}
        ptx = compile_to_ptx(kernel, tuple(kinds.get(n, matrix) for n in names), (9, 0))
        _, stack, local = assemble(ptx, (9, 0))
        found[f"{name} {code.co_name}"] = [ptx.count(".f64"), stack + local]
print(json.dumps(found))
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    report = json.loads(ran.stdout)
    assert len(report) > 20
    assert {name: found for name, found in report.items() if found != [0, 0]} == {}
