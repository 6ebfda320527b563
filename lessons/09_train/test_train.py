"""Checks of lesson 9, with a network of 16 hidden units on small pictures, and ragged batches."""

import numpy as np

from kernels.adam import bias_corrections
from kernels.config import COLOURS, FEATURES, OUTPUTS, Config
from kernels.state import State
from kernels.training_step import Arrays, Stages
from lessons import reference, reference_training
from lessons.grading.case import check

# With the usual epsilon, Adam's first step is the gradient's sign times the learning rate: rounding
# of a gradient near zero would decide. A larger one makes results comparable.
CONFIG = Config(
    steps=10, batch=70, seed=77, grid_width=5, grid_height=4, hidden=16, layers=2, epsilon=1e-4
)
IMAGE_SHAPE = 9, 14, 3
RATES = np.array([[0.01, 0.02], [0.008, 0.015], [0.003, 0.001]], np.float32)


@check("evaluate")
def test_evaluate(case):
    arrays = random_arrays(case, CONFIG)
    uv = case.random((CONFIG.batch, 2))
    arrays = arrays._replace(uv=uv)
    features = reference.encode(uv, arrays.parameters.feature_grid.array)
    left_there = arrays.features.array.astype(np.float64)
    case.run("evaluate", Stages(), arrays)
    case.expect(arrays.features, features, name="features")
    candidates = {
        "network first": (
            colours_of(arrays, left_there),
            "The network ran before its features were made: it read what was left in the array.",
        )
    }
    colours = arrays.outputs.array[:, :COLOURS]
    case.expect(colours, colours_of(arrays, features), name="outputs", candidates=candidates)


@check("one_step")
def test_one_step(case):
    # Not step 1: there it would not be seen whether its number reaches Adam and the sampler.
    arrays = with_an_old_batch(case, random_arrays(case, CONFIG))
    expected = expect_steps(arrays, 3, RATES[:1])
    candidates = {**known_mistakes(arrays, 3, RATES[:1]), **wrong_orders(arrays, 3, RATES[0])}
    case.run("training_step", Stages(), arrays, CONFIG, 3, *RATES[0])
    compare(case, arrays, expected, candidates)


@check("several_steps")
def test_several_steps(case):
    arrays = with_an_old_batch(case, random_arrays(case, CONFIG))
    expected = expect_steps(arrays, 2, RATES)
    candidates = known_mistakes(arrays, 2, RATES)
    case.run("training_steps", Stages(), arrays, CONFIG, 2, RATES)
    compare(case, arrays, expected, candidates)


@check("learns")
def test_learns(case):
    image = picture(case)
    config = Config(steps=300, batch=1024, seed=case.seed, grid_width=11, grid_height=8, hidden=16)
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
        reached > baseline + 1,
        "does not learn",
        f"after {config.steps} steps the picture has {reached:.2f} dB; bilinear interpolation of "
        f"a grid of the same size has {baseline:.2f} dB, and should be beaten by 1 dB",
    )


# ---------------------------------------------------------------- inputs


def random_arrays(case, config, image=None):
    """Arrays in the middle of a run: Adam has a past, and all differ."""
    if image is None:
        image = case.random(IMAGE_SHAPE)
    grid_shape = config.grid_height, config.grid_width, 3
    started = image.shape == IMAGE_SHAPE
    weights = case.random(config.weight_count, -0.4, 0.4)
    past = 1e-3 if started else 0.0
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


def expect_steps(arrays, first_step, rates, seed=CONFIG.seed, steps=None, batch_steps=None):
    """(sum of losses, reference_training.State) after a step for each row of rates.

    steps: the numbers that Adam is told. batch_steps: those that the sampler is told.
    """
    steps = steps or range(first_step, first_step + len(rates))
    total = 0.0
    state = reference_state(arrays, first_step)
    for step, batch_step, row in zip(
        steps, batch_steps or steps, rates.astype(np.float64), strict=True
    ):
        uv, target = reference.sample(arrays.image, batch_step, seed, CONFIG.batch)
        loss, state = one_step(state, uv, target, step, *row)
        total += loss
    return total, state


def one_step(state, uv, target, step, rate_mlp, rate_grid):
    constants = CONFIG.beta1, CONFIG.beta2, CONFIG.epsilon
    matrices = reference.split_weights(state.weights, CONFIG.hidden, CONFIG.layers)
    gradients = reference.backward(uv, state.feature_grid, matrices, target)
    weights = reference.adam(
        state.weights, gradients.grad_weights, state.weights_m, state.weights_v,
        step, rate_mlp, *constants,
    )  # fmt: skip
    grid = reference.adam_grid(
        state.feature_grid, gradients.grad_feature_grid, state.feature_grid_m,
        state.feature_grid_v, state.feature_grid_steps, rate_grid, *constants,
    )  # fmt: skip
    return gradients.loss, reference_training.State(step, *weights, *grid)


def known_mistakes(arrays, first_step, rates):
    """{code: (loss, state, sentence)} for what is easily done wrong here."""
    count = len(rates)
    same_rate = np.repeat(rates[:1], count, axis=0)
    mistakes = {
        "rates exchanged": (
            {"rates": rates[:, ::-1]},
            "The network moved at the grid's learning rate, and the grid at the network's.",
        ),
        "seed ignored": (
            {"seed": 0},
            "The batch is that of seed 0: give sample_batch the seed of the config.",
        ),
        "same batch": (
            {"batch_steps": [1] * count},
            "Each step drew the batch of step 1: the sampler has to know the number of the step.",
        ),
        "one too small": (
            {"steps": list(range(first_step - 1, first_step - 1 + count))},
            "The numbers of the steps are one too small: begin with first_step.",
        ),
        "step missing": (
            {"rates": rates[:-1]},
            "The last row of learning_rates was not used: one step is missing.",
        ),
        "first step again": (
            {"steps": [first_step] * count},
            "Every step had the number of the first.",
        ),
        "first rate again": (
            {"rates": same_rate},
            "Every step used the first row of learning_rates.",
        ),
    }
    if count == 1:
        del mistakes["step missing"]
    results = {}
    for code, (change, sentence) in mistakes.items():
        settings = {"rates": rates, **change}
        results[code] = *expect_steps(arrays, first_step, **settings), sentence
    loss, state = expect_steps(arrays, first_step, rates)
    before = reference_state(arrays, first_step)
    results["weights did not move"] = (
        loss,
        state._replace(weights=before.weights, weights_m=before.weights_m),
        "The weights are as they were: call adam_weights, after the backward pass.",
    )
    results["grid did not move"] = (
        loss,
        state._replace(feature_grid=before.feature_grid),
        "The feature grid is as it was: call adam_grid, after the backward pass.",
    )
    return results


def wrong_orders(arrays, step, rates):
    """As `known_mistakes`, for two stages in the wrong order within one step."""
    loss, state = expect_steps(arrays, step, rates[np.newaxis])
    before = reference_state(arrays, step)
    _, target = reference.sample(arrays.image, step, CONFIG.seed, CONFIG.batch)
    old_colours = colours_of(arrays, reference.encode(arrays.uv.array, before.feature_grid))
    weights, weights_m, _ = reference.adam(
        before.weights, np.zeros_like(before.weights), before.weights_m, before.weights_v,
        step, float(rates[0]), CONFIG.beta1, CONFIG.beta2, CONFIG.epsilon,
    )  # fmt: skip
    return {
        "old batch": (
            np.mean((old_colours - target) ** 2),
            state,
            "The network was asked about the points of the step before: draw the batch first.",
        ),
        "Adam too early": (
            loss,
            state._replace(weights=weights, weights_m=weights_m, feature_grid=before.feature_grid),
            "Adam ran before this step's gradients were there: call it after the backward pass.",
        ),
    }


def compare(case, arrays, expected, candidates):
    loss, state = expected
    p = arrays.parameters
    pairs = [
        ("loss_sum", arrays.loss_sum, lambda loss, state: np.array([loss])),
        ("weights", p.weights, lambda loss, state: state.weights),
        ("feature_grid", p.feature_grid, lambda loss, state: state.feature_grid),
        ("weights_m", p.weights_m, lambda loss, state: state.weights_m),
        ("grid_steps", p.grid_steps, lambda loss, state: state.feature_grid_steps),
    ]
    for name, got, pick in pairs:
        known = {
            code: (pick(*results), sentence) for code, (*results, sentence) in candidates.items()
        }
        case.expect(got, pick(loss, state), name=name, candidates=known)
    for name, gradient in (
        ("grad_weights", arrays.grad_weights),
        ("grad_feature_grid", arrays.grad_feature_grid),
    ):
        left = {"gradient left": (gradient.array.copy(), f"{name} is not zero after the step: Adam "
                                  "clears it, so Adam has to come last.")}  # fmt: skip
        case.expect(gradient, np.zeros(gradient.shape), name=name, tolerance=0, candidates=left)


def colours_of(arrays, features):
    weights = arrays.parameters.weights.array.astype(np.float64)
    matrices = reference.split_weights(weights, CONFIG.hidden, CONFIG.layers)
    outputs, _ = reference.mlp_forward(features, matrices)
    return outputs[:, :COLOURS]


def paint(parameters, config, width, height):
    weights = parameters.weights.array.astype(np.float64)
    matrices = reference.split_weights(weights, config.hidden, config.layers)
    return reference.render(parameters.feature_grid.array, matrices, width, height)
