"""Networks with other channels, octaves, activations and biases, against float64 NumPy.

The reference is written from the equations, and its gradients are checked by differences.
"""

import itertools
from dataclasses import replace
from functools import partial
from math import erf, sqrt

import numpy as np
import pytest

from kernels import field_math
from kernels.classifier import gelu
from kernels.config import COLOURS, OUTPUTS, Config
from kernels.derivatives import functions
from kernels.files.psnr import psnr
from kernels.general import activations
from kernels.plumbing.errors import InputError
from kernels.state import initial_state
from kernels.training import choose_backend
from kernels.training.checkpoint import load_model, save_model
from kernels.training.cpu_backend import CpuBackend, GeneralCpuBackend, cpu_backend
from kernels.training.trainer import Trainer
from lessons import reference
from lessons.native_backend import NativeBackend

SMALL = Config(steps=6, batch=300, grid_width=7, grid_height=5, hidden=16, layers=2)
NETWORKS = {
    "four channels": replace(SMALL, channels=4),
    "one channel, gelu": replace(SMALL, channels=1, octaves=0, activation="gelu"),
    "eight channels, sine, biases": replace(
        SMALL, channels=8, octaves=3, activation="sine", biases=True, layers=3
    ),
    "no sigmoid, one layer": replace(SMALL, output_activation="none", biases=True, layers=1),
    "wide, six octaves": replace(SMALL, octaves=6, hidden=64, activation="gelu", biases=True),
}

SLOW = pytest.mark.slow  # compiles for ten seconds


def picture(height=11, width=13):
    y, x = np.mgrid[:height, :width] / max(height, width)
    return np.stack([x, y, np.sin(9 * x * y) / 2 + 0.5], axis=2).astype(np.float32)


# ---------------------------------------------------------------- the reference


def tanh_gelu(x):
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


FORMULAS = {
    "relu": lambda x: np.maximum(x, 0),
    "sine": np.sin,
    "gelu": tanh_gelu,
    "none": lambda x: x,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


def derivative(formula, x, step=1e-6):
    return (formula(x + step) - formula(x - step)) / (2 * step)


def encoded(config, uv, grid):
    height, width, channels = grid.shape
    position = uv * (width, height) - 0.5
    low = np.floor(position).astype(int)
    fraction = position - low
    columns = np.clip([low[:, 0], low[:, 0] + 1], 0, width - 1)
    rows = np.clip([low[:, 1], low[:, 1] + 1], 0, height - 1)
    blend = np.zeros((len(uv), channels))
    corners = []
    for j, i in itertools.product(range(2), range(2)):
        weight = np.abs(1 - i - fraction[:, 0]) * np.abs(1 - j - fraction[:, 1])
        corners.append((rows[j], columns[i], weight))
        blend += weight[:, None] * grid[rows[j], columns[i]]
    features = np.ones((len(uv), config.features))
    features[:, :channels] = blend
    features[:, channels : channels + 2] = np.sin(2 * np.pi * fraction)
    column = channels + 2
    for axis, octave in itertools.product(range(2), range(config.octaves)):
        waves = 2 * np.pi * 2**octave * uv[:, axis]
        features[:, column], features[:, column + 1] = np.sin(waves), np.cos(waves)
        column += 2
    return features, corners


def layers_of(config, weights):
    begin = 0
    for fan_in, fan_out in config.layer_shapes:
        end = begin + fan_in * fan_out
        bias = weights[end : end + fan_out * config.biases]
        yield weights[begin:end].reshape(fan_in, fan_out), bias if config.biases else 0
        begin = end + fan_out * config.biases


def evaluate(config, features, weights):
    """(colours, [(values, sums) of each layer])."""
    values, trace = features, []
    for number, (matrix, bias) in enumerate(layers_of(config, weights)):
        sums = values @ matrix + bias
        trace.append((values, sums))
        last = number == config.layers
        values = FORMULAS[config.output_activation if last else config.activation](sums)
    return values[:, :COLOURS], trace


def gradients(config, uv, grid, weights, target):
    """(loss, of the grid, of the weights), by the chain rule."""
    features, corners = encoded(config, uv, grid)
    colours, trace = evaluate(config, features, weights)
    delta = np.zeros((len(uv), OUTPUTS))
    slope = derivative(FORMULAS[config.output_activation], trace[-1][1][:, :COLOURS])
    delta[:, :COLOURS] = 2 * (colours - target) / colours.size * slope
    parts = []
    matrices = list(layers_of(config, weights))
    for number in range(config.layers, -1, -1):
        values, _ = trace[number]
        bias = [delta.sum(axis=0)] if config.biases else []
        parts.insert(0, np.concatenate([(values.T @ delta).ravel(), *bias]))
        delta = delta @ matrices[number][0].T
        if number:
            formula = FORMULAS[config.activation]
            sums = trace[number - 1][1]
            exact = (sums > 0) if config.activation == "relu" else derivative(formula, sums)
            delta = delta * exact
    grad_grid = np.zeros(grid.shape)
    for rows, columns, weight in corners:
        np.add.at(grad_grid, (rows, columns), weight[:, None] * delta[:, : grid.shape[2]])
    return np.mean((colours - target) ** 2), grad_grid, np.concatenate(parts)


def trained_by_reference(config, image, steps):
    """The state after some steps of Adam, and the losses."""
    state = [np.float64(array) for array in initial_state(config)]
    grid, grid_m, grid_v, counts, weights, m, v = state
    losses = []
    for step in range(1, steps + 1):
        uv = reference.draw_uv(config.batch, step, config.seed)
        target = reference.bilinear(np.float64(image), uv)
        loss, grad_grid, grad = gradients(config, uv, grid, weights, target)
        losses.append(loss)
        move(weights, m, v, grad, step, config.learning_rate_mlp, config)
        touched = (grad_grid != 0).any(axis=2)
        counts += touched
        moved = [array[touched] for array in (grid, grid_m, grid_v)]
        rate = config.learning_rate_grid
        move(*moved, grad_grid[touched], counts[touched][:, None], rate, config)
        grid[touched], grid_m[touched], grid_v[touched] = moved
    return grid, weights, losses


def move(values, m, v, gradient, step, rate, config):
    m[:] = config.beta1 * m + (1 - config.beta1) * gradient
    v[:] = config.beta2 * v + (1 - config.beta2) * gradient**2
    unbiased_m, unbiased_v = m / (1 - config.beta1**step), v / (1 - config.beta2**step)
    values -= rate * unbiased_m / (np.sqrt(unbiased_v) + config.epsilon)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_references_gradients_are_those_of_differences(name):
    config, random = NETWORKS[name], np.random.default_rng(3)
    uv, target = random.random((20, 2)), random.random((20, 3))
    grid = random.normal(size=(config.grid_height, config.grid_width, config.channels))
    weights = random.normal(size=config.weight_count) / 4

    def loss(grid, weights):
        return gradients(config, uv, grid, weights, target)[0]

    _, grad_grid, grad = gradients(config, uv, grid, weights, target)
    for values, exact in ((grid, grad_grid), (weights, grad)):
        for index in random.choice(values.size, 10, replace=False):
            moved = []
            for step in (1e-6, -1e-6):
                copy = values.copy()
                copy.flat[index] += step
                moved.append(loss(copy, weights) if values is grid else loss(grid, copy))
            assert exact.flat[index] == pytest.approx(np.diff(moved[::-1])[0] / 2e-6, abs=2e-6)


# ---------------------------------------------------------------- activations


@pytest.mark.parametrize("name", activations.NUMBERS)
def test_an_activation_and_its_slope(name):
    x = np.linspace(-9, 9, 173)
    number = activations.NUMBERS[name]
    found = np.array([activations.value_and_slope(number, np.float32(each)) for each in x])
    np.testing.assert_allclose(found[:, 0], FORMULAS[name](x), atol=3e-6)
    away = np.abs(x) > 1e-3 if name == "relu" else np.full(x.shape, True)
    # The sigmoid's last digit, times 7 where GELU's inner slope is steepest before it ends.
    np.testing.assert_allclose(found[away, 1], derivative(FORMULAS[name], x)[away], atol=1e-5)


@pytest.mark.parametrize("name", [name for name in activations.NUMBERS if name != "sine"])
def test_far_from_zero_an_activation_is_what_it_should_be(name):
    number = activations.NUMBERS[name]
    for x in (-1e4, -300.0, -20.0, 20.0, 300.0, 1e4):
        value, slope = activations.value_and_slope(number, np.float32(x))
        with np.errstate(over="ignore"):
            assert value == pytest.approx(FORMULAS[name](x), rel=1e-6, abs=2e-7)
            assert slope == pytest.approx(derivative(FORMULAS[name], x), abs=2e-6)


def test_every_form_of_gelu_is_the_same_function():
    gelus = [field_math.gelu, lambda x: activations.gelu_and_slope(x)[0]]
    slopes = [
        gelu.gelu_slope,
        lambda x: functions.gelu_derivative(x, np.float32(1)),
        lambda x: activations.gelu_and_slope(x)[1],
    ]
    for x in np.float32([-1000, -30, -6, -3, -0.7, 0, 1e-3, 0.4, 2, 5, 8, 30, 1000]):
        values = [form(x) for form in gelus]
        assert values == pytest.approx([tanh_gelu(float(x))] * len(gelus), rel=1e-6, abs=3e-6)
        exact = derivative(tanh_gelu, float(x))
        assert [form(x) for form in slopes] == pytest.approx([exact] * len(slopes), abs=1e-5)


@pytest.mark.parametrize("largest, error", [(30, 4e-6), (1000, 1.1e-4)])
def test_sine_and_cosine_are_as_exact_as_they_say(largest, error):
    for angle in np.random.default_rng(5).uniform(-largest, largest, 300).astype(np.float32):
        assert field_math.sine(angle) == pytest.approx(np.sin(float(angle)), abs=error)
        assert field_math.cosine(angle) == pytest.approx(np.cos(float(angle)), abs=error)


def test_the_tangent_form_of_gelu_is_near_the_normal_distribution():
    for x in np.linspace(-4, 4, 33):
        value, _ = activations.value_and_slope(activations.GELU, np.float32(x))
        assert value == pytest.approx(x * (1 + erf(x / sqrt(2))) / 2, abs=6e-4)


# ---------------------------------------------------------------- the backends


def backend_after(kind, config, image, steps):
    backend = kind(image, config, initial_state(config))
    rates = [config.learning_rate_mlp, config.learning_rate_grid]
    backend.run(1, np.float32([rates] * steps))
    return backend


@SLOW
@pytest.mark.parametrize(
    "kind", [NativeBackend, GeneralCpuBackend, partial(GeneralCpuBackend, partitions=6)]
)
@pytest.mark.parametrize("name", NETWORKS)
def test_a_backend_learns_what_the_reference_does(kind, name):
    config, image = NETWORKS[name], picture()
    grid, weights, losses = trained_by_reference(config, image, 2)
    backend = backend_after(kind, config, image, 2)
    state = backend.state()
    # Adam divides by the gradient's size: a parameter whose gradient is rounding moves by chance.
    assert np.mean(np.abs(state.weights - weights) > 2e-4) < 0.02
    assert np.mean(np.abs(state.feature_grid - grid) > 2e-4) < 0.02
    assert sum(backend.take_losses()) == pytest.approx(sum(losses), rel=1e-4)
    pixels = np.stack(np.meshgrid(np.arange(13), np.arange(11)), axis=2).reshape(-1, 2)
    uv = (pixels + 0.5) / (13, 11)
    features, _ = encoded(config, uv, np.float64(state.feature_grid))
    colours, _ = evaluate(config, features, np.float64(state.weights))
    np.testing.assert_allclose(backend.render(13, 11).reshape(-1, 3), colours, atol=2e-5)


@SLOW
def test_the_general_loops_train_the_usual_network_as_the_usual_ones_do():
    config, image = SMALL, picture()
    usual, general = (
        backend_after(kind, config, image, 3).state() for kind in (CpuBackend, GeneralCpuBackend)
    )
    np.testing.assert_allclose(usual.weights, general.weights, atol=1e-4)
    np.testing.assert_allclose(usual.feature_grid, general.feature_grid, atol=1e-4)


@SLOW
@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_learns_a_picture(name):
    config = replace(NETWORKS[name], steps=300, batch=1024)
    image = picture(40, 50)
    trainer = Trainer(image, config, GeneralCpuBackend)
    before = psnr(trainer.render(), image)
    trainer.advance(300)
    assert psnr(trainer.render(), image) > before + 7


@SLOW
def test_a_model_of_another_network_is_kept_and_painted(tmp_path):
    config, image = NETWORKS["four channels"], picture()
    backend = backend_after(GeneralCpuBackend, config, image, 2)
    save_model(tmp_path / "model.npz", config, image, backend.state())
    again, state, width, height = load_model(tmp_path / "model.npz")
    assert again == config and (width, height) == (13, 11)
    painted = cpu_backend(image, again, state).render(13, 11)
    np.testing.assert_array_equal(painted, backend.render(13, 11))


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("knob", "value", "words"),
    [
        ("channels", 0, "grid channels must lie between 1 and 8"),
        ("channels", 9, "grid channels must lie between 1 and 8"),
        ("octaves", 7, "octaves must lie between 0 and 6"),
        ("octaves", 1.5, "octaves must be a whole number"),
        ("activation", "tanh", "activation must be relu, sine or gelu, not 'tanh'"),
        ("output_activation", "relu", "output activation must be sigmoid or none"),
        ("biases", 2, "biases must be False or True"),
    ],
)
def test_a_network_that_cannot_be_is_refused(knob, value, words):
    with pytest.raises(InputError, match=words):
        replace(SMALL, **{knob: value})


def test_the_fused_backends_say_that_they_have_another_network(monkeypatch):
    monkeypatch.setattr(choose_backend, "why_no_gpu", lambda: None)
    monkeypatch.setattr(choose_backend, "gpu_name", lambda: "a GPU")
    config = NETWORKS["one channel, gelu"]
    for name in ("graph", "tensor", "persistent"):
        with pytest.raises(InputError, match=f"--backend {name} is made for the usual network"):
            choose_backend.choose_backend(name, config)
    with pytest.raises(
        InputError, match="--deterministic on a GPU is for networks on tensor cores"
    ):
        choose_backend.choose_backend("auto", config, deterministic=True)
    assert choose_backend.choose_backend("auto", config).name == "cuda"
