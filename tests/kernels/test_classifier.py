"""The classifier's kernels against float64 NumPy, and the equations against finite differences."""

import gzip

import numpy as np
import pytest

from kernels.classifier import column_sums, gelu, network, sgd, softmax, training
from kernels.classifier.digits import Difficulty, draw_digits
from kernels.classifier.idx_files import read_idx
from kernels.plumbing.errors import InputError
from lessons.lab import checked_run
from lessons.reference import classifier as reference

INPUTS, HIDDEN, CLASSES, SAMPLES, BATCH = 11, 19, 5, 14, 6  # the last mini-batch is short


def random(*shape, seed=0, low=-1.0, high=1.0):
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def random_labels(samples, classes, seed=3):
    return np.random.default_rng(seed).integers(0, classes, samples).astype(np.int32)


def random_parameters():
    return random(network.parameter_count(INPUTS, HIDDEN, CLASSES), seed=4, low=-0.5, high=0.5)


# ---------------------------------------------------------------- the kernels


@pytest.mark.gpu
@pytest.mark.slow
def test_bias_gelu_and_its_way_back(engine):
    sums, bias = random(9, 37, low=-6, high=6), random(37, seed=1)
    sums[0, :4] = -30, 30, 0, -1e4
    hidden, delta = engine.output((9, 37)), random(9, 37, seed=2)
    on_device = engine.array(sums), engine.array(bias)
    gelu.launch_bias_gelu(*on_device, hidden.array, launch=engine.launch)
    x = sums + bias.astype(np.float64)
    np.testing.assert_allclose(hidden.read(), reference.gelu(x), rtol=2e-6, atol=2e-6)
    back = engine.output((9, 37), delta)
    gelu.launch_gelu_backward(*on_device, back.array, launch=engine.launch)
    np.testing.assert_allclose(back.read(), delta * reference.gelu_slope(x), atol=3e-6)


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.parametrize("classes, size", [(10, 5.0), (70, 1e4), (2, 1e30)])
def test_softmax_cross_entropy(engine, classes, size):
    logits, bias = random(7, classes) * np.float32(size), random(classes, seed=1)
    labels = random_labels(7, classes)
    outputs = [engine.output(shape) for shape in ((7, classes), (7, classes), (7,))]
    softmax.launch_softmax_cross_entropy(
        engine.array(logits), engine.array(bias), engine.array(labels, np.int32),
        *(output.array for output in outputs), launch=engine.launch,
    )  # fmt: skip
    probabilities, delta, losses = (output.read() for output in outputs)
    # In float32, as the kernel: of large logits few digits are left.
    z = logits + bias
    expected = reference.softmax(z)
    np.testing.assert_allclose(probabilities, expected, atol=2e-6)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-6)
    expected[np.arange(7), labels] -= 1
    np.testing.assert_allclose(delta, expected, atol=2e-6)
    np.testing.assert_allclose(losses, reference.cross_entropy(z, labels), rtol=1e-5, atol=1e-5)


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.parametrize("rows, columns", [(1, 1), (9, 33), (70, 10)])
def test_column_sums(engine, rows, columns):
    values, sums = random(rows, columns), engine.output((columns,))
    column_sums.launch_column_sums(engine.array(values), sums.array, launch=engine.launch)
    np.testing.assert_allclose(sums.read(), values.astype(np.float64).sum(axis=0), atol=1e-5)


@pytest.mark.gpu
@pytest.mark.slow
def test_gradient_descent(engine):
    parameters, gradients = random(300), random(300, seed=1)
    output = engine.output((300,), parameters)
    sgd.launch_sgd(output.array, engine.array(gradients), 0.25, launch=engine.launch)
    np.testing.assert_allclose(output.read(), parameters - 0.25 * gradients, atol=1e-7)


@pytest.mark.gpu
@pytest.mark.slow
def test_an_epoch_is_that_of_the_reference(engine):
    images, labels = random(SAMPLES, INPUTS), random_labels(SAMPLES, CLASSES)
    parameters = random_parameters()
    made = network.new_network(parameters, HIDDEN, CLASSES, BATCH, engine.array)
    losses = engine.output((SAMPLES,))
    training.train_epoch(
        engine.array(images), engine.array(labels, np.int32), losses.array, made, BATCH, 0.1,
        engine.launch,
    )  # fmt: skip
    before = reference.split(parameters, INPUTS, HIDDEN, CLASSES)
    expected_losses, expected = reference.train_epoch(images, labels, before, BATCH, 0.1)
    np.testing.assert_allclose(losses.read(), expected_losses, atol=1e-5)
    flat = np.concatenate([part.ravel() for part in expected])
    np.testing.assert_allclose(engine.to_host(made.parameters), flat, atol=1e-5)


@pytest.mark.thorough
def test_no_order_of_threads_changes_a_bit():
    """No kernel adds atomically: what one order of threads leaves, every order leaves."""

    def trained(schedule):
        def launch(kernel, blocks, threads, *arguments):
            report = checked_run(kernel, blocks, threads, *arguments, schedule=schedule)
            report.raise_if_problems()

        made = network.new_network(random_parameters(), HIDDEN, CLASSES, BATCH)
        losses = np.empty(SAMPLES, np.float32)
        images, labels = random(SAMPLES, INPUTS), random_labels(SAMPLES, CLASSES)
        training.train_epoch(images, labels, losses, made, BATCH, 0.1, launch)
        return made.parameters.tobytes() + losses.tobytes()

    assert len({trained(schedule) for schedule in (0, 1, 2, 3, "reverse")}) == 1


# ---------------------------------------------------------------- the equations


def test_the_gradients_are_those_of_finite_differences():
    images, labels = random(SAMPLES, INPUTS).astype(np.float64), random_labels(SAMPLES, CLASSES)
    flat = random_parameters().astype(np.float64)

    def loss(parameters):
        return reference.loss(images, labels, reference.split(parameters, INPUTS, HIDDEN, CLASSES))

    parts = reference.split(flat, INPUTS, HIDDEN, CLASSES)
    slopes = np.concatenate([s.ravel() for s in reference.gradients(images, labels, parts)])
    for place in (0, 77, INPUTS * HIDDEN + 3, len(flat) - 40, len(flat) - 1):
        step = np.zeros_like(flat)
        step[place] = 1e-5
        difference = (loss(flat + step) - loss(flat - step)) / 2e-5
        assert abs(difference - slopes[place]) < 1e-7


def test_layers_are_views_of_one_array():
    made = network.new_network(random_parameters(), HIDDEN, CLASSES, BATCH)
    layers = network.layers_of(made.parameters, made)
    assert [part.shape for part in layers] == [(11, 19), (19,), (19, 5), (5,)]
    assert all(np.shares_memory(part, made.parameters) for part in layers)
    assert network.first_rows(made, 2).delta.shape == (2, CLASSES)


# ---------------------------------------------------------------- data


def test_digits_are_the_same_whatever_else_is_drawn():
    images, labels = draw_digits(1003, 8, 5)
    again, same_labels = draw_digits(3, 8, 5)
    assert np.array_equal(images[:3], again) and np.array_equal(labels[:3], same_labels)
    assert not np.array_equal(draw_digits(3, 8, 6)[0], again)
    assert images.shape == (1003, 64) and images.min() >= 0 and images.max() <= 1
    assert np.bincount(labels, minlength=10).min() > 70


def test_easy_digits_show_their_segments():
    easy = Difficulty(wobble=0, faintness=0, noise=0)
    images, labels = draw_digits(200, 16, 1, easy)
    ink = [images[labels == digit].mean() for digit in range(10)]
    assert np.argmin(ink) == 1 and np.argmax(ink) == 8


def test_idx_files_are_read_zipped_or_not(tmp_path):
    numbers = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    text = b"\0\0\x08\x03" + np.array(numbers.shape, ">u4").tobytes() + numbers.tobytes()
    (tmp_path / "plain").write_bytes(text)
    (tmp_path / "zipped.gz").write_bytes(gzip.compress(text, mtime=0))
    for name in ("plain", "zipped.gz"):
        assert np.array_equal(read_idx(tmp_path / name), numbers)


GOOD = b"\0\0\x08\x01\0\0\0\x02ab"


@pytest.mark.parametrize(
    "content, words",
    [
        (b"", "no idx file"),
        (b"P5 12 12 255", "no idx file"),
        (GOOD.replace(b"\x08", b"\x0d"), "type 13"),
        (b"\0\0\x08\x03\0\0", "within its header"),
        (b"\0\0\x08\0", "within its header"),
        (GOOD[:-1], "promises 2 numbers and has 1"),
        (GOOD + b"c", "has more"),
        (b"\0\0\x08\x02" + b"\xff" * 8, "which cannot be"),
        (gzip.compress(GOOD, mtime=0)[:-9], "cannot be read"),
        (gzip.compress(GOOD, mtime=0)[:12] + b"xxxxxxxxxxxxxxx", "cannot be read"),
    ],
)
def test_damaged_idx_files_are_refused_in_one_line(tmp_path, content, words):
    path = tmp_path / "labels"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words) as refusal:
        read_idx(path)
    assert "\n" not in str(refusal.value)


def test_a_missing_idx_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_idx(tmp_path / "nothing")
