"""Checks of lesson 9: small networks of several shapes, small pictures, ragged batches."""

from dataclasses import replace

import numpy as np

from kernels.adam import bias_corrections
from kernels.config import COLOURS, FEATURES, OUTPUTS, Config
from kernels.state import State
from kernels.training_step import Arrays, Stages
from lessons import reference
from lessons.grading.judge.case import check
from lessons.grading.worker.stage_calls import HOST
from lessons.reference import training as reference_training

IMAGE_SHAPE = 9, 14, 3  # of the pictures for single steps
# A gradient is as large as the errors, and some people cut gradients off at 1, or at 5: here they
# reach beyond that, for all random numbers.
BRIGHTEST = 4000.0
SMALLEST_BATCH, LARGEST_BATCH = 66, 89  # samples of a single step
STEPS_TO_LEARN, BATCH_TO_LEARN = 200, 512
LEARNED_IN = Config(
    steps=STEPS_TO_LEARN, batch=BATCH_TO_LEARN, grid_width=11, grid_height=8, hidden=16
)
BEATS_BASELINE_BY = 1.0  # dB
EVALUATION = "encode", "mlp_forward"
STEP_STAGES = "sample_batch", *EVALUATION, "backward", "adam_weights", "adam_grid"


@check("evaluate")
def test_evaluate(case):
    config = random_config(case)
    arrays = random_arrays(case, config)._replace(uv=case.random((config.batch, 2)))
    # Computed before the student's file runs: nothing that it does can change what is expected.
    features = reference.encode(arrays.uv, arrays.parameters.feature_grid.array)
    colours = colours_of(arrays, features, config)
    before = [array.array.copy() for array in arrays.parameters]
    case.run("evaluate", Stages(), arrays)
    case.expect(arrays.features, features, "features")
    case.expect(arrays.outputs.array[:, :COLOURS], colours, "outputs")
    for name, array, old in zip(State._fields, arrays.parameters, before, strict=True):
        case.expect(array, old, name)
    require_stages(case, EVALUATION)


@check("one_step")
def test_one_step(case):
    config = random_config(case)
    # Not step 1: there it would not be seen whether its number reaches Adam and the sampler.
    step = int(case.rng.integers(3, 9))
    take_steps(case, config, step, 1, "training_step")


@check("several_steps")
def test_several_steps(case):
    config = random_config(case)
    # No multiple of three, nor one more: whoever looks up rates by the number of the
    # step, modulo three or not, finds others.
    take_steps(case, config, int(case.rng.choice([2, 5, 8])), 3)
    # Whoever finds a row by (step + 1) % 3 has found the right one so far.
    small = replace(config, batch=2, hidden=16, layers=1)
    take_steps(case, small, int(case.rng.choice([5, 9])), 4)


@check("learns")
def test_learns(case):
    image = picture(case)
    config = replace(LEARNED_IN, seed=case.seed)
    arrays = random_arrays(case, config, image)
    factors = [config.learning_rate_factor(step) for step in range(1, config.steps + 1)]
    rates = np.outer(factors, [config.learning_rate_mlp, config.learning_rate_grid])
    rates = rates.astype(np.float32)
    case.run("training_steps", Stages(), arrays, config, 1, rates, engine="native")

    height, width, _ = image.shape
    painted = paint(arrays.parameters, config, width, height)
    baseline = reference.baseline_psnr(image, config.grid_width, config.grid_height)
    reached = reference.psnr(painted, image)
    case.require(
        reached > baseline + BEATS_BASELINE_BY,
        "does not learn",
        f"after {config.steps} steps the picture has {reached:.2f} dB; bilinear interpolation of "
        f"a grid of the same size has {baseline:.2f} dB, and should be beaten by "
        f"{BEATS_BASELINE_BY:g} dB",
    )
    require_stages(case, STEP_STAGES)


def take_steps(case, config, first_step, count, function="training_steps"):
    """Compare what `count` steps leave with the reference."""
    rates = random_rates(case, count)
    arrays = with_an_old_batch(case, random_arrays(case, config))
    loss, state = expect_steps(arrays, config, first_step, rates)
    of_steps = rates[0] if function == "training_step" else [rates]
    case.run(function, Stages(), arrays, config, first_step, *of_steps)

    case.expect(arrays.loss_sum, [loss], "loss_sum")
    p = arrays.parameters
    case.expect(p.weights, state.weights, "weights")
    case.expect(p.feature_grid, state.feature_grid, "feature_grid")
    case.expect(p.weights_m, state.weights_m, "weights_m")
    case.expect(p.weights_v, state.weights_v, "weights_v")
    case.expect(p.grid_m, state.feature_grid_m, "grid_m")
    case.expect(p.grid_v, state.feature_grid_v, "grid_v")
    case.expect(p.grid_steps, state.feature_grid_steps, "grid_steps")
    for name in ("grad_weights", "grad_feature_grid"):  # Adam clears them
        gradient = getattr(arrays, name)
        case.expect(gradient, np.zeros(gradient.array.shape), name, tolerance=0.0)
    require_stages(case, STEP_STAGES)


def require_stages(case, stages):
    """The results are right; but do they come from the stages that were handed over?"""
    called = set(case.calls)
    for stage in stages:
        case.require(
            stage in called,
            "not from stages",
            f"stages.{stage} was never called: call the functions in `stages`, not those of "
            "kernels/. Whoever calls this file may have other stages, such as yours.",
        )
    case.require(
        HOST not in called,
        "computed by the host",
        "the numbers are right, but between two stages the host has changed an array itself. On a "
        "GPU each such change is a copy there and back: stages compute, this function calls them.",
    )


# ---------------------------------------------------------------- inputs


def random_config(case):
    """A small network of any shape, and constants for Adam that nobody can guess."""
    # With the usual epsilon, Adam's first step is the gradient's sign times the learning rate:
    # rounding of a gradient near zero would decide. A larger one makes results comparable.
    return Config(
        steps=10,
        batch=int(case.rng.integers(SMALLEST_BATCH, LARGEST_BATCH + 1)),
        seed=int(case.rng.integers(2, 2**40)),
        grid_width=int(case.rng.integers(5, 8)),
        grid_height=int(case.rng.integers(3, 5)),
        hidden=int(case.rng.choice([16, 32])),
        layers=int(case.rng.integers(1, 4)),
        beta1=float(case.rng.choice([0.85, 0.95])),
        beta2=float(case.rng.choice([0.97, 0.98])),
        epsilon=float(case.rng.uniform(1e-4, 2e-4)) * BRIGHTEST,
    )


def random_rates(case, count):
    """(count, 2) float32: the network's and the grid's learning rate of each step."""
    return (
        case.rng.permutation(np.linspace(0.003, 0.02, 2 * count))
        .reshape(count, 2)
        .astype(np.float32)
    )


def random_arrays(case, config, image=None):
    """Arrays in the middle of a run: Adam has a past, and all differ."""
    if image is None:
        image = case.random(IMAGE_SHAPE, 0, BRIGHTEST)
    grid_shape = config.grid_height, config.grid_width, 3
    started = image.shape == IMAGE_SHAPE
    # Larger weights hand larger gradients down to the grid; for learning they are too large.
    largest = 0.8 if started else 0.4
    weights = case.random(config.weight_count, -largest, largest)
    past = 1e-3 * BRIGHTEST if started else 0.0
    state = State(
        case.random(grid_shape, -0.5, 0.5),
        case.random(grid_shape, -past, past),
        case.random(grid_shape, 0, past * past),
        case.rng.integers(0, 5 if started else 1, grid_shape[:2]).astype(np.int32),
        weights,
        case.random(weights.shape, -past, past),
        case.random(weights.shape, 0, past * past),
    )
    batch = config.batch
    return Arrays(
        image=image,
        parameters=State(*(case.output(a.shape, a.dtype, initial=a) for a in state)),
        corrections=bias_corrections(config.beta1, config.beta2),
        grad_weights=zeros(case, weights.shape),
        grad_feature_grid=zeros(case, grid_shape),
        loss_sum=zeros(case, 1),
        uv=case.output((batch, 2)),
        target=case.output((batch, COLOURS)),
        features=case.output((batch, FEATURES)),
        hidden=case.output((config.layers, batch, config.hidden)),
        outputs=case.output((batch, OUTPUTS)),
    )


def with_an_old_batch(case, arrays):
    """What the step before has left: reading it too early must give wrong numbers, not crash."""
    names = ("uv", "target", "features", "hidden", "outputs")
    shapes = {name: getattr(arrays, name).shape for name in names}
    return arrays._replace(
        **{name: case.output(shape, initial=case.random(shape)) for name, shape in shapes.items()}
    )


def zeros(case, shape):
    shape = (shape,) if isinstance(shape, int) else shape
    return case.output(shape, initial=np.zeros(shape))


def picture(case):
    """Smooth colours and sharp edges, 44 x 31 pixels: a sky, hills and a disc."""
    y, x = np.mgrid[0:31, 0:44]
    hills = 16 + 4 * np.sin(x / 5 + case.rng.uniform(0, 6)) + 2 * np.sin(x / 2.1)
    image = np.stack([0.3 + y / 90, 0.5 + y / 80, 0.9 - y / 70], axis=2)
    image[y > hills] = 0.15, 0.4, 0.1
    centre = case.rng.uniform(8, 36)
    image[(x - centre) ** 2 + (y - 8) ** 2 < 20] = 0.9, 0.3, 0.2
    return image.astype(np.float32)


# ---------------------------------------------------------------- what should come out


def reference_state(arrays, step):
    p = arrays.parameters
    return reference_training.State(
        step - 1, *(np.array(a.array, np.float64) for a in (p.weights, p.weights_m, p.weights_v)),
        *(np.array(a.array, np.float64) for a in (p.feature_grid, p.grid_m, p.grid_v)),
        p.grid_steps.array.astype(int),
    )  # fmt: skip


def expect_steps(arrays, config, first_step, rates):
    """(sum of losses, reference_training.State) after a step for each row of rates."""
    total = 0.0
    state = reference_state(arrays, first_step)
    for rate_mlp, rate_grid in rates.astype(np.float64):
        loss, state = reference_training.train_step(
            arrays.image, state, config.seed, config.batch,
            hidden=config.hidden, layers=config.layers,
            weight_learning_rate=rate_mlp, grid_learning_rate=rate_grid,
            beta1=config.beta1, beta2=config.beta2, epsilon=config.epsilon,
        )  # fmt: skip
        total += loss
    return total, state


def colours_of(arrays, features, config):
    weights = arrays.parameters.weights.array.astype(np.float64)
    matrices = reference.split_weights(weights, config.hidden, config.layers)
    outputs, _ = reference.mlp_forward(features, matrices)
    return outputs[:, :COLOURS]


def paint(parameters, config, width, height):
    weights = parameters.weights.array.astype(np.float64)
    matrices = reference.split_weights(weights, config.hidden, config.layers)
    return reference.render(parameters.feature_grid.array, matrices, width, height)
