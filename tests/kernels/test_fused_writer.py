"""Fused kernels that a machine has written: against float64, without each barrier, what fits."""

import re

import numpy as np
import pytest

from kernels.config import COLOURS
from kernels.derivatives import functions, models
from kernels.derivatives.fused import FusedWrittenSiren
from kernels.derivatives.fused_writer import Unfit, write_fused
from kernels.derivatives.learner import WrittenSiren
from kernels.derivatives.tape import Tape
from kernels.derivatives.written import arrays_for, module_of, run_backward, run_forward
from kernels.fused import few_samples
from kernels.fused.tape_steps import launch_add_sums
from kernels.siren import network
from lessons import reference
from lessons.lab import checked_run
from lessons.reference import siren as reference_siren
from tests.engines import Native
from tests.kernels.test_few_samples import BARRIER
from tests.kernels.test_siren import Here, close, random, reference_network

pytestmark = pytest.mark.gpu


def drawn(shapes, seed=0):
    """name -> array, for inputs and parameters of these shapes."""
    return {name: random(shape, seed + i, -0.6) for i, (name, shape) in enumerate(shapes.items())}


def both_passes(engine, model, given, blocks, keep=()):
    """(name -> array on the host, name -> its gradient), for a loss of which the mean is wanted."""
    shapes = {name: array.shape for name, array in given.items()}
    form = write_fused("tape", model.tape, "loss", model.parameters, shapes, keep)
    parameters = np.concatenate([given[name].ravel() for name in form.places])
    turned = np.empty_like(parameters)
    turned[form.turned_places()] = parameters
    # Later additions are to gradients that are there.
    sums = np.full((blocks, form.numbers), np.nan, np.float32)
    own = {"parameters": parameters, "turned": turned, "sums": sums}
    grids = {f"grad_{name}": np.zeros_like(given[name]) for name in given if name == "grid"}
    arrays = arrays_for(
        model.tape, form, {k: engine.array(v) for k, v in (given | own | grids).items()},
        lambda shape: engine.array(np.full(shape, np.nan, np.float32)),
    )  # fmt: skip
    module = module_of(form, "tape")
    run_forward(module, form, arrays, engine.launch)
    forward = engine.to_host(arrays["loss"]).copy()
    run_backward(module, form, arrays, 1 / forward.size, engine.launch)
    gradients = engine.array(np.ones(form.numbers, np.float32))
    launch_add_sums(arrays["sums"], gradients, engine.launch)
    found = {name: engine.to_host(array) for name, array in arrays.items()}
    assert (found["loss"] == forward).all()
    flat = engine.to_host(gradients) - 1
    gradients = {
        name: flat[begin : begin + shape[0] * shape[1]].reshape(shape)
        for name, (begin, shape) in form.places.items()
    }
    return found, gradients | {name: found[f"grad_{name}"] for name in given if name == "grid"}


def siren_given(width, layers, samples):
    shapes = network.layer_shapes(width, layers)
    parameters = network.initial_parameters(3, shapes)
    given, begin = {}, 0
    for layer, (inputs, units) in enumerate(shapes, 1):
        for name, shape in (("weights", (inputs, units)), ("biases", (1, units))):
            end = begin + shape[0] * units
            given[f"{name}_{layer}"] = parameters[begin:end].reshape(shape)
            begin = end
    given |= {"positions": random((samples, 2)), "target": random((samples, COLOURS), 2, 0)}
    return shapes, parameters, given


# Idle warps and lanes, blocks with more than one round.
@pytest.mark.thorough_on("native")
@pytest.mark.parametrize(
    "width, layers, samples, blocks",
    [(20, 2, 11, 2), pytest.param(33, 3, 20, 1, marks=pytest.mark.thorough)],
)
def test_a_siren(engine, width, layers, samples, blocks):
    shapes, parameters, given = siren_given(width, layers, samples)
    found, gradients = both_passes(
        engine, models.siren(layers, network.FIRST_OMEGA), given, blocks, ("colour",)
    )
    plain = reference_network(parameters.astype(np.float64), shapes, 1.0)
    colours = reference_siren.forward(given["positions"], plain)[0]
    close(found["colour"], colours, 1e-4)
    close(found["loss"], (colours - given["target"]) ** 2, 1e-4)
    expected = reference_siren.gradients(given["positions"], given["target"], plain)
    for layer, parts in enumerate(expected, 1):
        weights_and_biases = np.concatenate(
            [part.reshape(-1, shapes[layer - 1][1]) for part in parts]
        )
        close(gradients[f"weights_{layer}"], weights_and_biases[:-1], 1e-4)
        close(gradients[f"biases_{layer}"], weights_and_biases[-1:], 1e-4)


def branching():
    """A tape with values that are used twice, both as products and number by number."""
    tape = Tape()
    features = tape.call("features", functions.bilinear, "grid", "uv")
    one = tape.call("one", functions.matmul, features, "w1")
    bent = tape.call("bent", functions.gelu, one)
    two = tape.call("two", functions.linear, bent, "w2", "b2")
    both = tape.call("both", functions.product, two, bent)
    three = tape.call("three", functions.matmul, features, "w3")
    tape.call("unused", functions.sigmoid, both)
    total = tape.call("total", functions.added, both, three)
    tape.call("loss", functions.product, total, total)
    return models.Model(tape, ("w3", "b2", "grid", "w1", "w2"))


BRANCHING = {
    "grid": (4, 5, 3), "uv": (13, 2), "w1": (3, 34), "w2": (34, 34), "b2": (1, 34), "w3": (3, 34),
}  # fmt: skip


def branching_loss(given):
    """The loss, and what the gradient of a mean of squares is made of, in float64."""
    exact = {name: array.astype(np.float64) for name, array in given.items()}
    features = reference.bilinear(exact["grid"], exact["uv"])
    one = features @ exact["w1"]
    inner = np.sqrt(2 / np.pi) * (one + 0.044715 * one**3)
    bent = one * (1 + np.tanh(inner)) / 2
    total = (bent @ exact["w2"] + exact["b2"]) * bent + features @ exact["w3"]
    return total**2


@pytest.mark.thorough_on("native")
def test_values_that_are_used_twice(engine):
    given = drawn(BRANCHING)
    given["uv"] = np.abs(given["uv"])
    found, gradients = both_passes(engine, branching(), given, 1)
    close(found["loss"], branching_loss(given), 1e-5)
    for name, gradient in gradients.items():
        direction = random(given[name].shape, 9)
        slope = [
            branching_loss(given | {name: given[name].astype(float) + step * direction}).mean()
            for step in (1e-4, -1e-4)
        ]
        assert (gradient * direction).sum() == pytest.approx((slope[0] - slope[1]) / 2e-4, rel=1e-4)


def kinds_of_findings(form, given, blocks=1):
    """What the lab finds in the written kernel that goes forward and back."""
    module = module_of(form, "without")
    arrays = dict(given, products=np.int64(2), scale=np.float32(0.1))
    for name in form.backward:
        if name not in arrays:
            arrays[name] = np.zeros(form.numbers, np.float32)
    arrays["sums"] = np.zeros((blocks, form.numbers), np.float32)
    arrays["loss"] = np.zeros_like(given["target"])
    kernels = (
        (module.backward, [*form.backward, "products"]),
        (module.forward, [*form.forward, "products"]),
    )
    kinds = set()
    for kernel, names in kernels:
        given_to = [arrays[name] for name in names]
        report = checked_run(kernel, blocks, few_samples.THREADS, *given_to, ask_numba=False)
        kinds |= {finding.kind for finding in report.findings if not finding.advice}
    return kinds


@pytest.mark.thorough
def test_the_lab_notices_every_barrier_that_is_missing():
    given = siren_given(40, 1, 16)[2]  # two rounds
    shapes = {name: array.shape for name, array in given.items()}
    model = models.siren(1, 30.0)
    form = write_fused("siren", model.tape, "loss", model.parameters, shapes)
    assert kinds_of_findings(form, given) == set()
    places = list(re.finditer(BARRIER, form.source))
    found = []
    for place in places:
        text = form.source[: place.start()] + "pass" + form.source[place.end() :]
        found.append(kinds_of_findings(form._replace(source=text), given))
    assert found == [{"race"}] * 6


@pytest.mark.thorough
def test_it_learns_what_the_readable_kernels_learn_and_leaves_the_same_bits():
    image = random((6, 9, 3), 4, 0)

    def trained(kind):
        siren = kind(image, 1, 32, Here(Native()), 12, 2)
        siren.begin_again(siren.device.to_host(siren.parameters))
        for step in range(1, 41):
            # The host says which step it is at the first one, and when the rate changes.
            siren.train(step, 1e-3 if step < 20 else 5e-4)
        return siren

    one, other, readable = map(trained, (FusedWrittenSiren, FusedWrittenSiren, WrittenSiren))
    assert (one.parameters == other.parameters).all()
    assert (one.turned[one.host_places] == one.parameters).all()
    assert abs(one.loss() / readable.loss() - 1) < 0.02
    close(one.parameters, readable.parameters, 0.01)
    close(one.paint(9, 6), readable.paint(9, 6), 0.01)


# ---------------------------------------------------------------- what does not fit


def tape_of(*steps):
    tape = Tape()
    for output, function, *inputs in steps:
        tape.call(output, function, *inputs)
    return tape


LAST = ("y", functions.matmul, "x", "w")


@pytest.mark.parametrize(
    "tape, shapes, words",
    [
        (tape_of(LAST), {"w": (65, 3)}, "y = matmul.x, w.: its matrix is 65 x 3, and not"),
        (tape_of(("y", functions.product, "w", "x")), {"w": (8, 3)}, "it has 0 products"),
        (
            tape_of(("w2", functions.sine, "w"), ("y", functions.matmul, "x", "w2")), {"w": (3, 3)},
            "w2 is in a product, and no parameter",
        ),
        (
            tape_of(LAST, ("z", functions.added, "y", "v")), {"w": (3, 3), "v": (8, 3)},
            "v is a parameter, and neither weights nor biases",
        ),
        (
            tape_of(LAST, ("z", functions.added, "y", "x")), {"w": (3, 4)},
            "its inputs have different shapes",
        ),
        (
            tape_of(LAST, ("z", functions.bilinear, "g", "y")),
            {"w": (3, 2), "g": (4, 5, 3)},
            "bilinear needs a whole array that the tape computes",
        ),
        (tape_of(("y", functions.matmul, "x", "w"), ("z", functions.matmul, "y", "w")),
         {"w": (3, 3)}, "w is in 2 products"),
        (tape_of(("own", functions.matmul, "x", "w")), {"w": (3, 3)}, "own is what the kernels"),
        (tape_of(*[LAST] * 20), {"w": (3, 3)}, "it has 20 products"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_in_a_sentence(tape, shapes, words):
    names = tuple(shapes)
    with pytest.raises(Unfit, match=words):
        write_fused("tape", tape, tape[-1].output, names, {"x": (8, 3), **shapes})
