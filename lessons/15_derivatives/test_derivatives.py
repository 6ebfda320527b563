"""Checks of lesson 15. What a machine writes from the student's steps runs as a part of his file.

A student's steps come back as names. Only steps that are on the tape are taken, and only the words
"set" and "add": no text of a student gets into a kernel. The kernels' text is then put below that
of the file, and looked at as all of it is.
"""

import ast
import itertools
from typing import NamedTuple

import numpy as np

import kernels.derivatives.functions  # noqa: F401  (it registers what a tape may name)
from kernels.derivatives.writer import write
from lessons import reference
from lessons.grading.advice.gelu_terms import Names, wrong_rules, wrong_slope
from lessons.grading.checks.case import check
from lessons.reference import derivatives as derivatives

POINTWISE = derivatives.POINTWISE
GELU_NAMES = Names("GELU_SCALE", "GELU_CUBE")
OWN = "sine_derivative", "gelu_derivative", "bilinear_derivative"
BELOW = b"\n\n\n# ---------------- what the check has added\n\n"


# ---------------------------------------------------------------- single derivatives


@check("sine")
def test_sine(case):
    x = np.concatenate([case.random(8, -3, 3), case.random(3, -40, 40), np.float32([0, np.pi])])
    gradient = np.append(case.random(12, -2, 2), np.float32(1.5)).astype(np.float32)
    sine, cosine = np.sin(x.astype(np.float64)), np.cos(x.astype(np.float64))
    expect_derivative(
        case,
        "sine_derivative",
        x,
        gradient,
        gradient * cosine,
        {
            "sine, not cosine": (gradient * sine, "The slope of the sine is a cosine."),
            "sign reversed": (
                -gradient * cosine,
                "The sign is reversed: at x = 0 the sine grows. Is there a minus too many, or was "
                "a quarter turn taken away? A cosine is a sine that began a quarter turn EARLIER: "
                "0.25 is added to the turns.",
            ),
            "slope of the cosine": (-gradient * sine, "This is the slope of the cosine."),
            "turns, not radians": (
                gradient * np.cos(2 * np.pi * x.astype(np.float64)),
                "x is in radians, and sine_of_turns takes turns: multiply by TURNS_PER_RADIAN.",
            ),
            "per turn": (
                gradient * cosine / (2 * np.pi),
                "This is the slope per turn: x grows in radians.",
            ),
            "times 2 pi": (
                gradient * cosine * (2 * np.pi),
                "This is 2 pi times too much: the slope of sin(x) is at most 1.",
            ),
            "a quarter turn of 1.57": (
                gradient * np.sin(x.astype(np.float64) + 1.57),
                "A quarter turn is pi / 2 = 1.5707963: 1.57 is too far from it. In turns it is "
                "0.25, exactly.",
            ),
            "gradient forgotten": (cosine, "The chain rule multiplies: gradient times slope."),
            "gradient added": (
                gradient + cosine,
                "The chain rule multiplies: gradient times slope.",
            ),
            "of the gradient": (
                x * np.cos(gradient.astype(np.float64)),
                "x and gradient are exchanged.",
            ),
        },
        another_wave,
    )


def another_wave(x, gradient, got):
    """code -> (result, sentence), if what came is some other sine of x, times the gradient."""
    for unit, turns in (("radians", 1.0), ("turns", 2 * np.pi), ("", 1 / (2 * np.pi))):
        parts = np.stack([np.sin(turns * x), np.cos(turns * x)]) * gradient
        (along, across), *_ = np.linalg.lstsq(parts.T, got, rcond=None)
        size, ahead = np.hypot(along, across), np.arctan2(across, along)
        if size < 0.01 or np.abs(parts.T @ [along, across] - got).max() > 0.01 * size:
            continue
        told = f"This is a sine that began {abs(ahead):.4g} radians "
        told += "earlier" if ahead > 0 else "later"
        told += "" if abs(size - 1) < 1e-3 else f", times {size:.4g}"
        told += {"radians": "", "turns": ", and takes x for turns"}.get(unit, ", of x / (2 pi)")
        told += (
            ". The slope is a sine of x that began a quarter turn earlier: that is pi / 2 = 1.5708 "
            "radians, or 0.25 turns."
        )
        return {"another sine": (parts.T @ [along, across], told)}
    return {}


@check("gelu")
def test_gelu(case):
    near = np.float32([2.4, -2.4, 3.6, -3.6])  # where the slope is nearly, and not yet, 0 or 1
    x = np.concatenate([case.random(10, -4, 4), near, np.float32([0, -30, 30, 500, -500])])
    gradient = np.concatenate(
        [case.random(10, -2, 2), np.float32([1.5] * 4), case.random(5, -2, 2)]
    )
    exact = x.astype(np.float64)
    inner = np.sqrt(2 / np.pi) * (exact + 0.044715 * exact**3)
    t = np.tanh(inner)
    slope = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * exact**2)
    own, other = 0.5 * (1 + t), 0.5 * exact * (1 - t**2)
    factor = "GELU is a product, and both of its factors change with x. "
    expect_derivative(
        case,
        "gelu_derivative",
        x,
        gradient,
        gradient * derivatives.gelu_slope(exact),
        {
            "first factor only": (
                gradient * own,
                factor + "This is the part of x / 2 alone: add that of 1 + tanh(inner).",
            ),
            "second factor only": (
                gradient * other * slope,
                factor + "This is the part of 1 + tanh(inner) alone: add that of x / 2.",
            ),
            "inner slope forgotten": (
                gradient * (own + other),
                "The slope of what stands inside of tanh is missing: the chain rule, again.",
            ),
            "x forgotten": (
                gradient * (own + 0.5 * (1 - t**2) * slope),
                factor
                + "In the part of 1 + tanh(inner) the other factor, x / 2, is left as it is: "
                "the x is missing.",
            ),
            "3 forgotten": (
                gradient * (own + other * np.sqrt(2 / np.pi) * (1 + 0.044715 * exact**2)),
                "The slope of x^3 is 3 x^2: the 3 is missing.",
            ),
            "scale forgotten": (
                gradient * (own + other * (1 + 3 * 0.044715 * exact**2)),
                "The slope of the inner part has the factor sqrt(2 / pi), too.",
            ),
            "slope of tanh": (
                gradient * (own + 0.5 * exact * (1 - t) * slope),
                "The slope of tanh is 1 - tanh squared: the square is missing.",
            ),
            "the other GELU": (
                gradient * other_gelu_slope(exact),
                "This is the slope of GELU with the error function. Ours has a tanh, which is a "
                "little different, and so is its slope.",
            ),
            "slope of a sigmoid's GELU": (
                gradient * sigmoid_gelu_slope(exact),
                "This is the slope of x times a sigmoid of 1.702 x, another approximation of GELU. "
                "Ours has a tanh, which is a little different, and so is its slope.",
            ),
            "slope of ReLU": (gradient * (exact > 0), "This is the slope of ReLU."),
            **{
                f"slope of ReLU from {far:.3g} on": (
                    gradient * np.where(abs(exact) < far, derivatives.gelu_slope(exact), exact > 0),
                    f"Far from zero this is the slope of ReLU, 0 or 1, and at x = {far:.3g} or "
                    f"{-far:.3g} that is not right yet. Where tanh is 1, the formula says it.",
                )
                for far in np.unique(np.abs(exact[(exact != 0) & (abs(exact) < 30)]))
            },
            "value, not slope": (
                gradient * derivatives.gelu(exact),
                "This is gradient times gelu(x): its slope is asked for.",
            ),
            "gradient forgotten": (
                derivatives.gelu_slope(exact),
                "The chain rule multiplies: gradient times slope.",
            ),
            "gradient for the first part": (
                gradient * own + other * slope,
                "gradient multiplies the first part of the product rule only: it belongs to their "
                "sum, so put brackets around both.",
            ),
            "gradient for the second part": (
                own + gradient * other * slope,
                "gradient multiplies the second part of the product rule only: it belongs to their "
                "sum, so put brackets around both.",
            ),
            **wrong_rules(exact, GELU_NAMES, gradient),
        },
        lambda x, gradient, got: (
            wrong_slope(x, got, GELU_NAMES, gradient) | measured_slope(x, gradient, got)
        ),
    )


def measured_slope(x, gradient, got):
    """code -> (result, sentence), if slopes are nearly right, and not even 1 where all is flat."""
    if np.abs(got - gradient * derivatives.gelu_slope(x)).max() > 0.05:
        return {}
    flat = x >= 30
    slopes = got[flat] / gradient[flat]
    far_out = slopes[np.argmax(np.abs(slopes - 1))]
    if abs(far_out - 1) < 1e-6:
        return {}
    sentence = (
        f"The slopes are nearly right, and far from zero it is {far_out:.6g}, where a formula "
        "gives 1: a slope that is measured, as a difference of two values of gelu, has "
        "only three or four digits in float32. Write the derivative, with the product rule."
    )
    return {"measured, not computed": (got.copy(), sentence)}


def other_gelu_slope(x):
    """x Phi(x) has the slope Phi(x) + x phi(x), with the normal distribution's Phi."""
    from math import erf, exp, pi, sqrt

    return np.array([0.5 * (1 + erf(v / sqrt(2))) + v * exp(-v * v / 2) / sqrt(2 * pi) for v in x])


def sigmoid_gelu_slope(x):
    share = 0.5 + 0.5 * np.tanh(0.851 * x)
    return share + 1.702 * x * share * (1 - share)


def expect_derivative(case, name, x, gradient, expected, candidates, fitted):
    """Compare name(x, gradient) for each of some numbers.

    fitted: (x, gradient, what came) -> more candidates, which are computed from what came.
    """
    got = [case.call(name, np.float32(a), np.float32(b)) for a, b in zip(x, gradient, strict=True)]
    case.require(
        all(np.ndim(value) == 0 for value in got),
        "not a number",
        f"{name} should return one number, the gradient of x.",
    )
    got = np.array(got)
    endless = x[~np.isfinite(got.astype(np.float64))]
    if endless.size and np.abs(endless).min() >= 30:
        case.call(name, endless[0], np.float32(1))  # again: a message shows the call that came last
        case.require(
            False,
            "overflow",
            f"{name} is no number far from zero, as at x = {endless[0]:g}: float32 ends at "
            "exp(88), so an exponential is infinite there, and infinity by infinity is no number. "
            "math.tanh does not need it.",
        )
    exact = (array.astype(np.float64) for array in (x, gradient, got))
    known = candidates | fitted(*exact) if np.isfinite(got.astype(float)).all() else candidates
    case.expect(got, expected, name, candidates=known)


@check("bilinear")
def test_bilinear(case):
    for points, shape in ((5, (3, 4, 1)), (80, (5, 7, 3))):
        check_bilinear(case, points, shape)


def check_bilinear(case, points, shape):
    tape = [
        ("value", "bilinear", ("grid", "uv")),
        ("error", "difference", ("value", "target")),
        ("loss", "square", ("error",)),
    ]
    uv = case.random((points, 2))
    uv[0] = 0.999, 0.001  # beyond the centres of the last cells
    given = {"grid": case.random(shape, -1, 1), "uv": uv}
    given["target"] = case.random((points, shape[2]), -1, 1)
    already = case.random(shape, 0.01, 0.05)
    found, counts = run_backward(
        case, tape, ("grid",), given, 0.5, already={"grad_grid": already}, measure=True
    )
    exact = {name: array.astype(np.float64) for name, array in given.items()}
    gradient = reference.bilinear(exact["grid"], uv) - exact["target"]
    added = handed_out(gradient, uv, shape)
    case.expect(
        found["grad_grid"], already + added, "grad_grid",
        candidates={
            name: (before * already + what, sentence)
            for name, (before, what, sentence) in wrong_grids(gradient, uv, already).items()
        },
    )  # fmt: skip
    per_number = counts.of(found["grad_grid"]).atomics / gradient.size
    case.keep_within(
        "atomic additions per number",
        yours=per_number,
        ours=4,
        allowed=4.5,
        diagnosis="too many atomics",
        sentence=f"each number makes {per_number:.0f} atomic additions: it was blended from "
        "four cells, and no other cell has anything of its gradient.",
    )


def handed_out(gradient, uv, shape, corners=(0, 1, 2, 3), swap=(0, 1, 2, 3)):
    """What the corners of a grid get; corner `swap[i]` takes the weight of corner i."""
    height, width, channels = shape
    indices, weights, _ = reference.bilinear_corners(uv, width, height)
    cells = np.zeros((height * width, channels))
    for corner in corners:
        part = weights[:, corner, np.newaxis] * gradient
        np.add.at(cells, indices[:, swap[corner]], part)
    return cells.reshape(shape)


def handed_out_across(gradient, uv, shape):
    """With u in the place of v, and v in that of u."""
    return handed_out(gradient, uv[:, ::-1], shape)


def cells_before(uv, shape):
    """Columns and rows of the top left cells of points, (P, 2), -1 beyond an edge; fractions."""
    position = uv.astype(np.float64) * [shape[1], shape[0]] - 0.5
    first = np.floor(position).astype(int)
    return first, position - first


def uv_inside(uv, shape):
    """Which points, (P, 1), have four cells in the grid."""
    first, _ = cells_before(uv, shape)
    return ((first >= 0) & (first + 1 < [shape[1], shape[0]])).all(axis=1, keepdims=True)


def handed_out_unclamped(gradient, uv, shape, wrapped):
    """As `handed_out`; shares of cells beyond the grid are lost, or go to the other edge."""
    first, fraction = cells_before(uv, shape)
    sizes = np.array([shape[1], shape[0]])
    cells = np.zeros(shape)
    for corner in ((0, 0), (1, 0), (0, 1), (1, 1)):
        weights = np.where(corner, fraction, 1 - fraction).prod(axis=1, keepdims=True)
        place = first + corner
        there = ((place >= 0) & (place < sizes)).all(axis=1, keepdims=True)
        column, row = (place % sizes).T
        np.add.at(cells, (row, column), weights * gradient * (there | wrapped))
    return cells


def handed_out_at(gradient, position, shape, after_clamping=False):
    """As `handed_out`, at other positions, (P, 2), in cells along x and y.

    after_clamping: the second cell is the one behind the first, which is clamped already.
    """
    last = np.array([shape[1] - 1, shape[0] - 1])
    floor = np.floor(position).astype(int)
    fraction = position - floor
    first = np.clip(floor, 0, last)
    second = np.clip((first if after_clamping else floor) + 1, 0, last)
    cells = np.zeros(shape)
    for corner in ((0, 0), (1, 0), (0, 1), (1, 1)):
        weights = np.where(corner, fraction, 1 - fraction).prod(axis=1, keepdims=True)
        column, row = np.where(corner, second, first).T
        np.add.at(cells, (row, column), weights * gradient)
    return cells


def largest_of(already, gradient, uv):
    """What cuda.atomic.max makes of a grid."""
    height, width, channels = already.shape
    indices, weights, _ = reference.bilinear_corners(uv, width, height)
    cells = already.reshape(-1, channels).astype(np.float64)
    for corner in range(4):
        np.maximum.at(cells, indices[:, corner], weights[:, corner, np.newaxis] * gradient)
    return cells.reshape(already.shape)


def wrong_grids(gradient, uv, already):
    """name -> (times what was there before, what is added, sentence)."""
    shape = already.shape
    height, width, _ = shape
    right = handed_out(gradient, uv, shape)
    indices, weights, _ = reference.bilinear_corners(uv, width, height)
    equal = np.zeros((height * width, shape[2]))
    for corner in range(4):
        np.add.at(equal, indices[:, corner], gradient)
    nearest = np.zeros_like(equal)
    np.add.at(nearest, indices[np.arange(len(uv)), weights.argmax(axis=1)], gradient)
    once = np.zeros_like(equal)
    for corner in range(4):
        new = (indices[:, :corner] != indices[:, corner, np.newaxis]).all(axis=1)
        np.add.at(once, indices[new, corner], (weights[:, corner, np.newaxis] * gradient)[new])
    inside = gradient * uv_inside(uv, shape)
    sizes = np.array([width, height])
    weights_alone = handed_out(np.ones_like(gradient), uv, shape)
    all_channels = np.repeat(right.sum(axis=2, keepdims=True), shape[2], axis=2)
    missing = {
        f"{corner} corner missing": (
            1,
            handed_out(gradient, uv, shape, tuple(c for c in range(4) if c != number)),
            f"The {corner} corner got nothing: all four were read.",
        )
        for number, corner in enumerate(("top left", "top right", "bottom left", "bottom right"))
    }
    return missing | {
        "stored, not added": (0, right, "What grad_grid held before is gone: add to it."),
        "sign reversed": (1, -right, "The gradient is taken away instead of being added."),
        "corner weights forgotten": (
            1,
            equal.reshape(shape),
            "All four corners get the whole gradient: each gets it times its weight.",
        ),
        "a quarter each": (
            1,
            equal.reshape(shape) / 4,
            "All four corners get a quarter: each gets its weight times the gradient.",
        ),
        "nearest cell only": (
            1,
            nearest.reshape(shape),
            "Only the nearest cell gets something: four were blended, each with its weight.",
        ),
        "each cell only once": (
            1,
            once.reshape(shape),
            "At the edges two corners are the same cell, and it got the share of one of them only: "
            "it was read for each, so it gets the shares of all.",
        ),
        "shares beyond the edge lost": (
            1,
            handed_out_unclamped(gradient, uv, shape, wrapped=False),
            "Near an edge some of the four cells would lie beyond the grid, and their shares are "
            "lost: `bilinear` has read the cell at the edge for them, so that cell gets them.",
        ),
        "shares beyond the edge wrapped": (
            1,
            handed_out_unclamped(gradient, uv, shape, wrapped=True),
            "Near an edge some of the four cells would lie beyond the grid, and their shares go to "
            "the cells at the other edge: `bilinear` has read the cell at this edge for them.",
        ),
        "half a cell too far": (
            1,
            handed_out_at(gradient, uv * sizes, shape),
            "The cells are half a cell too far: cell i has its centre at (i + 0.5) / size, so the "
            "position is u * size - 0.5, as in `neighbours`.",
        ),
        "from corner to corner": (
            1,
            handed_out_at(gradient, uv * (sizes - 1), shape),
            "The first and the last cell are taken to lie at 0 and at 1: cell i has its centre at "
            "(i + 0.5) / size, so the position is u * size - 0.5, as in `neighbours`.",
        ),
        "second cell after clamping": (
            1,
            handed_out_at(gradient, uv * sizes - 0.5, shape, after_clamping=True),
            "Before the centre of the first cell, cell 1 gets the share of cell 0: clamp both "
            "numbers, floor and floor + 1, each by itself, as `neighbours` does.",
        ),
        "points near the edge left out": (
            1,
            handed_out(inside, uv, shape),
            "Points near an edge, of which some of the four cells would lie beyond the grid, give "
            "nothing: `bilinear` has read the cell at the edge for those, so it gets their shares.",
        ),
        "one corner only": (
            1,
            handed_out(gradient, uv, shape, (0,)),
            "Only the top left corner gets its share: the other three were read, too.",
        ),
        "gradient forgotten": (
            1,
            weights_alone,
            "The weights alone are added: each is multiplied by the gradient.",
        ),
        "all channels": (
            1,
            all_channels,
            "Each number is added to all channels: it was read from one, number `column`.",
        ),
        "corners exchanged": (
            1,
            handed_out(gradient, uv, shape, swap=(0, 2, 1, 3)),
            "Top right and bottom left have each other's weight.",
        ),
        "u and v exchanged": (
            1,
            handed_out_across(gradient, uv, shape),
            "u and v are exchanged: u counts columns, v counts rows.",
        ),
        **{
            f"corners {code}": (
                1,
                handed_out(gradient, uv, shape, swap=swap),
                f"{whose} weight. Is 1 minus a fraction taken where the fraction belongs, or the "
                "four weights in another order? corner_weights gives first that of the top left "
                "corner, then top right, bottom left and bottom right.",
            )
            for code, swap, whose in (
                ("turned round", (3, 2, 1, 0), "Each corner has the opposite corner's"),
                ("mirrored along u", (1, 0, 3, 2), "Left and right corners have each other's"),
                ("mirrored along v", (2, 3, 0, 1), "Upper and lower corners have each other's"),
            )
        },
        "added by one": (0, 0 * right + 1, "Each cell is set to 1."),
        "largest kept": (
            0,
            largest_of(already, gradient, uv),
            "The largest of all shares is kept, or what was there: cuda.atomic.add makes a sum.",
        ),
        "nothing added": (1, 0 * right, "Nothing was added to grad_grid."),
    }


# ---------------------------------------------------------------- tapes


class Example(NamedTuple):
    """A tape to go back on, whose result is `loss`."""

    steps: list
    parameters: tuple
    constants: tuple


def examples(case):
    """Small tapes, each with one difficulty, and a large one with all; each time other names."""
    one = ["sine", "square", "gelu", "sigmoid"]
    f, g, h = case.rng.permutation(one)[:3].tolist()
    two = case.rng.permutation(["product", "added", "difference"]).tolist()
    chain = [("a", f, ("x",)), ("b", g, ("a",)), ("loss", h, ("b",))]
    twice = [("a", f, ("x",)), ("b", g, ("a",)), ("loss", "product", ("a", "b"))]
    squared = [("a", f, ("x",)), ("b", "product", ("a", "a")), ("loss", "product", ("b", "x"))]
    constants = [
        ("a", f, ("c",)), ("b", two[0], ("x", "a")), ("d", "product", (3.0, "b")),
        ("loss", two[1], ("c", "d")),
    ]  # fmt: skip
    watched = [
        ("a", f, ("x",)),
        ("b", g, ("a",)),
        ("w", h, ("b",)),
        ("loss", "product", ("b", "a")),
    ]
    everything = [
        ("a", f, ("x",)), ("b", "product", ("a", "c")), ("d", g, ("c",)), ("w", h, ("a",)),
        ("e", two[0], ("b", "a")), ("i", two[1], ("e", "d")), ("j", "product", ("i", "i")),
        ("w2", "added", ("w", "c")), ("k", "luminance", ("j", "y", "x")),
        ("l", "product", ("d", "k")), ("loss", "difference", ("l", 0.5)),
    ]  # fmt: skip
    tapes = [
        (chain, ("x",), ()),
        (twice, ("x",), ()),
        (squared, ("x",), ()),
        (constants, ("x",), ("c",)),
        (watched, ("x",), ()),
        (everything, ("x", "y"), ("c",)),
    ]
    return [renamed(case, Example(*tape)) for tape in tapes]


def renamed(case, example):
    """The same with other names for all but the result."""
    letters = [f"{a}{b}" for a, b in itertools.product("pqrstuv", "aeiou")]
    case.rng.shuffle(letters)
    names = {"loss": "loss"}

    def new(name):
        if not isinstance(name, str):
            return name
        if name not in names:
            names[name] = letters.pop()
        return names[name]

    steps = [(new(o), function, tuple(map(new, inputs))) for o, function, inputs in example.steps]
    return Example(steps, tuple(map(new, example.parameters)), tuple(map(new, example.constants)))


def text_of(steps):
    return [f"    {o} = {function}({', '.join(map(str, inputs))})" for o, function, inputs in steps]


def refuse(case, example, diagnosis, sentence):
    parameters = ", ".join(example.parameters)
    case.fail(
        diagnosis, f"{diagnosis}: {sentence}", f"the tape, with the parameters {parameters}:",
        *text_of(example.steps),
    )  # fmt: skip


@check("needs_gradient")
def test_needs_gradient(case):
    tapes = examples(case)
    answers = [names_of_student(case, example) for example in tapes]
    rule = rule_behind(tapes, answers)
    for example, got in zip(tapes, answers, strict=True):
        expected = derivatives.changed_by(example.steps, example.parameters)
        if got == expected:
            continue
        names_of_student(case, example)  # again: a message shows the call that came last
        missing, needless = expected - got, got - expected
        if missing & set(example.parameters):
            refuse(
                case, example, "parameters missing",
                f"{first_of(missing)} is a parameter, and needs a gradient itself.",
            )  # fmt: skip
        if missing:
            # The first one on the way: what is made of it may be missing because of that.
            name = next(output for output, _, _ in example.steps if output in missing)
            also = f" {RULES[rule][1]}" if rule else ""
            refuse(
                case, example, "not followed to the end",
                f"{name} is made of something that a parameter can change, so it changes as well"
                + (f".{also}" if also else ": " + EACH_STEP),
            )  # fmt: skip
        name = first_of(needless)
        known = {*itertools.chain.from_iterable(i for _, _, i in example.steps)}
        words = "no parameter can change it" if name in known else "it is no value of this tape"
        also = f" {RULES[rule][1]}" if rule and name in known else ""
        refuse(case, example, "too many", f"{name} needs no gradient: {words}.{also}")


def names_of_student(case, example):
    got = case.call("needs_gradient", example.steps, example.parameters)
    is_list = isinstance(got, (list, tuple)) and all(isinstance(name, str) for name in got)
    case.require(is_list, "no list of names", "needs_gradient returns a list of names.")
    return set(got)


def rule_behind(tapes, answers):
    """The first of `RULES` by which all of these answers come about; None if there is none."""
    right = [derivatives.changed_by(*example[:2]) for example in tapes]
    for code, (names_by, _) in RULES.items():
        by_rule = [names_by(*example[:2]) for example in tapes]
        if by_rule == answers != right:
            return code
    return None


def all_values(steps, parameters):
    inputs = itertools.chain.from_iterable(inputs for _, _, inputs in steps)
    given = {name for name in inputs if isinstance(name, str)}
    return given | {output for output, _, _ in steps} | set(parameters)


def all_outputs(steps, parameters):
    return {output for output, _, _ in steps} | set(parameters)


def made_of(steps, parameters):
    """What the last value is made of, and the parameters."""
    reached = derivatives.leading_to(steps, steps[-1][0])
    return {name for name in reached if isinstance(name, str)} | set(parameters)


def outputs_made_of(steps, parameters):
    return made_of(steps, parameters) & all_outputs(steps, parameters)


def on_the_way(steps, parameters):
    """What lies between the parameters and the last value."""
    return derivatives.changed_by(steps, parameters) & made_of(steps, parameters)


def by_all_inputs(steps, parameters):
    found = set(parameters)
    for output, _, inputs in steps:
        if found >= {name for name in inputs if isinstance(name, str)}:
            found.add(output)
    return found


def by_all_inputs_and_numbers(steps, parameters):
    found = set(parameters)
    for output, _, inputs in steps:
        if found.issuperset(inputs):
            found.add(output)
    return found


def by_first_input(steps, parameters):
    found = set(parameters)
    for output, _, inputs in steps:
        if inputs[0] in found:
            found.add(output)
    return found


EACH_STEP = "go over the steps in order, and ask of each whether any input is in the list already."
OTHER_WAY = (
    "Your lists go by what the last value is made of. Asked for is the other way: what is made of "
    "the parameters. So " + EACH_STEP
)
ONE_IS_ENOUGH = (
    "Your lists take an output only if all of its step's inputs are there: one is enough."
)
# How somebody may have chosen names: code -> (steps, parameters -> names; what is said of it).
RULES = {
    "what the result is made of": (made_of, OTHER_WAY),
    "outputs that the result is made of": (outputs_made_of, OTHER_WAY),
    "all values": (
        all_values,
        "Your lists have every name of a tape. An output belongs there if one of its inputs does, "
        "and what no step has made only if it is a parameter.",
    ),
    "all outputs": (
        all_outputs,
        "Your lists have the output of every step. It belongs there only if one of the step's "
        "inputs does: " + EACH_STEP,
    ),
    "on the way to the result": (
        on_the_way,
        "Your lists leave out what the last value is not made of. That is not asked here: "
        "backward_steps leaves such steps out, since nobody knows their gradient.",
    ),
    "all inputs have to change": (by_all_inputs, ONE_IS_ENOUGH),
    "all inputs and numbers have to change": (by_all_inputs_and_numbers, ONE_IS_ENOUGH),
    "first input only": (
        by_first_input,
        "Your lists take an output only if the first input of its step is there: any input will "
        "do.",
    ),
}


def first_of(names):
    return sorted(names)[0]


@check("backward_steps")
def test_backward_steps(case):
    for example in examples(case):
        plan = plan_of_student(case, example)
        problem = problem_of(example, plan)
        if problem:
            require_right_names(case, example)
            plan_of_student(case, example)  # again: a message shows the call that came last
            refuse(case, example, *problem)


def require_right_names(case, example):
    """End the check if needs_gradient, which another one looks at, is wrong for this tape."""
    got = case.call("needs_gradient", example.steps, example.parameters)
    expected = derivatives.changed_by(example.steps, example.parameters)
    if not isinstance(got, (list, tuple)) or {*map(str, got)} != expected:
        waits = "waits for needs_gradient"
        case.fail(waits, f"{waits}: it is wrong for a tape whose way back is asked for here.")


@check("nothing_needless")
def test_nothing_needless(case):
    yours = ours = 0
    for example in examples(case):
        plan = plan_of_student(case, example)
        require_right_way(case, example, plan)
        best = derivatives.way_back(example.steps, "loss", example.parameters)
        yours += gradients_in(plan)
        ours += gradients_in(best)
    case.budget(
        "gradients that are computed on the way back, of six tapes",
        yours=yours,
        ours=ours,
        allowed=ours,
        diagnosis="needless gradients",
        sentence="some of the gradients lead to no parameter. An input that no parameter can "
        "change gets None, and a step without any other input is left out.",
    )


def require_right_way(case, example, plan):
    """End a check that builds on right steps, and that another one tells about."""
    problem = problem_of(example, plan)
    if problem:
        waits = "waits for backward_steps"
        case.fail(waits, f"{waits}: {problem[0]}: {problem[1]}")


def gradients_in(plan):
    return sum(action is not None for step in plan for action in step[3])


def plan_of_student(case, example):
    """The student's steps, each one of the tape. Ends the check for anything else."""
    got = case.call("backward_steps", example.steps, "loss", example.parameters)
    case.require(
        isinstance(got, (list, tuple)) and all(is_step(step) for step in got),
        "no list of steps",
        "backward_steps returns a list of (output, function, inputs, actions), where actions has "
        'for each input "set", "add" or None.',
    )
    known = {(output, function, tuple(inputs)) for output, function, inputs in example.steps}
    plan = []
    for output, function, inputs, actions in got:
        step = (output, function, tuple(inputs))
        if step not in known:
            refuse(case, example, "not on the tape", f"{text_of([step])[0].strip()} is not on it.")
        plan.append((*step, tuple(actions)))
    return plan


def is_step(step):
    if not (isinstance(step, (list, tuple)) and len(step) == 4):
        return False
    output, function, inputs, actions = step
    return (
        isinstance(output, str)
        and isinstance(function, str)
        and isinstance(inputs, (list, tuple))
        and isinstance(actions, (list, tuple))
        and len(inputs) == len(actions)
        and all(isinstance(name, (str, float, int)) for name in inputs)
        and all(action in ("set", "add", None) for action in actions)
    )


def problem_of(example, plan):
    """(diagnosis, sentence) for the first thing that is wrong with a plan; None if it is right."""
    steps, parameters, _ = example
    changed = derivatives.changed_by(steps, parameters)
    known, done = {"loss"}, set()
    for output, function, inputs, actions in plan:
        here = f"{output} = {function}({', '.join(map(str, inputs))})"
        if output in done:
            return "twice", f"the step {here} is undone twice."
        if output not in known:
            if output in derivatives.leading_to(steps, "loss"):
                return (
                    "not from the end",
                    f"the step {here} is undone before the gradient of {output} is known: the "
                    "steps that use it come first, so go over the tape from its end.",
                )
            return (
                "dead end",
                f"the loss does not depend on {output}, so it has no gradient, and the step "
                f"{here} has nothing to begin with: leave it out.",
            )
        done.add(output)
        before = frozenset(known)
        for name, action in zip(inputs, actions, strict=True):
            if action is None:
                if name in changed:
                    return (
                        "part missing",
                        f"at the step {here}, {name} gets nothing, but a parameter can change it.",
                    )
                continue
            if name in done:
                return (
                    "too late",
                    f"at the step {here}, {name} gets a part of its gradient after that was used: "
                    "first all of its uses have to be undone.",
                )
            if action == "set" and name in known and name not in changed:
                return (
                    "needless",
                    f"at the step {here}, {name} gets a part of a gradient for the second time, "
                    "but no parameter can change it: it needs none, so its action is None.",
                )
            if action == "set" and name in known and name not in before:
                return (
                    "gradient lost",
                    f"{name} stands twice in the step {here}, and the second "
                    '"set" replaces what the first has given: "add" to it. What an input of a step '
                    "has got counts already when you decide for the next input.",
                )
            if action == "set" and name in known:
                return (
                    "gradient lost",
                    f'{name} was used twice. At the step {here}, "set" replaces the part of its '
                    'gradient that it had already: "add" to it.',
                )
            if action == "add" and name not in known:
                said = (
                    f'at the step {here}, {name} gets the first part of its gradient: "set" it; '
                    "there is nothing yet to add to."
                )
                if first_of_the_way_forward(steps, plan, changed):
                    said += (
                        ' Your "set" stands where the tape uses a value first. The way back comes '
                        "there last: decide while you go back, from the end of the tape."
                    )
                return "added to nothing", said
            known.add(name)
    for output, function, inputs in steps:
        if output in known & changed and output not in done:
            here = f"{output} = {function}({', '.join(map(str, inputs))})"
            return (
                "step missing",
                f"{output} has a gradient, but the step {here} is not undone: go over the tape "
                "from its end, and take each step whose output has one.",
            )
    return None


def first_of_the_way_forward(steps, plan, changed):
    """Whether a plan sets what is the first part on the way forward, and adds all later ones."""
    actions = {step[:3]: step[3] for step in plan}
    known = set()
    for step in steps:
        given = actions.get((step[0], step[1], tuple(step[2])), ())
        for name, action in zip(step[2], given, strict=False):
            if name in changed and action != ("add" if name in known else "set"):
                return False
            known.add(name)
    return True


# ---------------------------------------------------------------- finite differences


class Suspect(NamedTuple):
    name: str
    text: str  # of the function and its derivative
    kind: str  # why its derivative is wrong; "" if it is right
    value: object  # the function, in float64
    slopes: object
    points: list


# parameters, result, slopes; {c} is another number each time.
FORMULAS = [
    ("x", "x * x * x - {c} * x", ["3 * x * x - {c}"]),
    ("a b", "a * b + {c} * a", ["b + {c}", "a"]),
    ("x", "{c} * x * x + x", ["2 * {c} * x + 1"]),
    ("a b", "a * a * b - {c} * b", ["2 * a * b", "a * a - {c}"]),
    ("x", "400 * x * x * x + {c}", ["1200 * x * x"]),  # always positive, and large
    ("a b", "({c} * a - b) * b", ["{c} * b", "{c} * a - 2 * b"]),
    ("a b", "{c} * a + 0.0003 * b", ["{c}", "0.0003"]),  # one slope is smaller than float32's noise
]
# Both slopes are the same: one value would do for both.
ALIKE = "a b", "(a + b) * (a + b) + {c} * a + {c} * b", ["2 * a + 2 * b + {c}"] * 2
LIARS = {
    "forgets the gradient": (
        "does not multiply by the gradient that it gets. Tried with a gradient of 1, that does not "
        "show."
    ),
    "sign": "has the wrong sign.",
    "off by 5 %": "is off by 5 %; a hundredth is allowed.",
    "second input": "is wrong along its second input only: look along each of them.",
    "a little, once": "is off by more than a hundredth along its second input, and right along its "
    "first: a mean of both would hide it.",
    "opposite": "is too large along its first input, and as much too small along its second: look "
    "at each of them by itself.",
    "negative": "is wrong where its first input is negative.",
    "a fifth too small": "is a fifth too small.",
    "too small": "is always less than it should be, by a fifth and more.",
}
# What stops some programs rather than deceive them: they come last.
SPOILERS = {
    "not a number": "returns NaN where its first input is positive. Every comparison with NaN is "
    "False, so max may leave it out: ask of each value whether it is near enough, and not whether "
    "the largest error is too far off.",
    "too few values": "returns one value, and its function has two inputs: compare the lengths "
    "first.",
    "one value for both": "returns one value, and its function has two inputs, with the same slope "
    "along both: compare the lengths first. An array stretches one value, and zip stops after it.",
    "too many values": "returns three values, and its function has two inputs: compare the lengths "
    "first.",
    "multiplies twice": "multiplies by the gradient twice, and is wrong by that. Tried with "
    "gradients of 1 and 0 alone, that does not show.",
}
# What Python and NumPy say of values that are more, or fewer, than somebody has thought.
OTHER_LENGTHS = (
    "zip() argument",
    "index out of range",
    "out of bounds",
    "could not be broadcast",
    "inhomogeneous",
    "values to unpack",
    "not iterable",
    "non-iterable",
    "not subscriptable",
    "invalid index to scalar",
    "too many indices",
    "has no len()",
)


@check("wrong_derivative")
def test_wrong_derivative(case):
    suspects, spoilers = make_suspects(case)
    add_code(case, "\n\n\n".join(suspect.text for suspect in [*suspects, *spoilers]))
    expect_slopes(case, suspects)
    named = [verdict_of(case, suspect) for suspect in suspects]
    verdicts = list(zip(suspects, named, strict=True))
    passed = [suspect.kind for suspect, said in verdicts if not said]
    case.require(
        "" in passed or not {"sign", "off by 5 %"} <= set(passed),
        "verdicts reversed",
        "wrong derivatives pass, and all right ones are accused: disagrees returns True if a "
        "derivative is wrong.",
    )
    accused = [suspect for suspect, said in verdicts if said and not suspect.kind]
    why = next((told for text, told in WHY_ACCUSED.items() if only(text, accused)), "")
    for suspect, said in verdicts:
        expect_verdict(case, suspect, said, why)
    for suspect in spoilers:
        case.advice = {}
        if "value" in suspect.kind:
            says = f"One of the derivatives {SPOILERS[suspect.kind]}"
            case.advice = dict.fromkeys(OTHER_LENGTHS, says)
        expect_verdict(case, suspect, verdict_of(case, suspect))


def make_suspects(case):
    """Right derivatives and all kinds of wrong ones, in any order; and spoilers, with a right one.

    Returns (list of `Suspect`, list of `Suspect`).
    """
    chosen = [("", formula) for formula in FORMULAS]
    pairs = "second input", "opposite", "a little, once"  # of formulas with two inputs
    numbers = [1 if kind in pairs else int(case.rng.integers(4)) for kind in LIARS]
    chosen += [(kind, FORMULAS[number]) for kind, number in zip(LIARS, numbers, strict=True)]
    chosen += [("off by 5 %", FORMULAS[4]), ("a fifth too small", FORMULAS[4])]
    spoilers = [
        ("not a number", FORMULAS[2]),
        ("too few values", FORMULAS[1]),
        ("one value for both", ALIKE),
        ("too many values", FORMULAS[1]),
        ("multiplies twice", FORMULAS[0]),
        ("", FORMULAS[3]),
    ]
    letters = iter(case.rng.permutation(list("abcdefghijklmnopqrstuvwxyz")).tolist())
    return tuple(
        [
            make_suspect(case, f"suspect_{next(letters)}", kind, *formula)
            for kind, formula in in_any_order(case, group)
        ]
        for group in (chosen, spoilers)
    )


def in_any_order(case, group):
    return [group[number] for number in case.rng.permutation(len(group))]


def make_suspect(case, name, kind, parameters, result, slopes):
    names = parameters.split()
    c = round(float(case.rng.uniform(1.1, 1.9)), 2)
    result, slopes = result.format(c=c), [slope.format(c=c) for slope in slopes]
    told = [f"gradient * ({slope})" for slope in slopes]
    if kind == "forgets the gradient":
        told = [f"({slope})" for slope in slopes]
    elif kind == "multiplies twice":
        told = [f"gradient * {one}" for one in told]
    elif kind == "sign":
        told = [f"-{one}" for one in told]
    elif kind == "off by 5 %":
        told = [f"{one} * 1.05 + 0.05" for one in told]
    elif kind == "a fifth too small":
        told = [f"{one} * 0.8" for one in told]
    elif kind == "too small":
        told = [f"{one} - 0.2 - 0.2 * abs({one})" for one in told]
    elif kind == "second input":
        told[1] = "gradient * 0.25"
    elif kind == "a little, once":
        told[1] = f"{told[1]} + gradient * 0.016 * max(1, abs({slopes[0]}), abs({slopes[1]}))"
    elif kind == "opposite":
        told = [f"{told[0]} + 0.5", f"{told[1]} - 0.5"]
    elif kind == "not a number":
        told[0] += f" if {names[0]} < 0 else 'nan'"
    elif kind in ("too few values", "one value for both"):
        told = told[:1]
    elif kind == "too many values":
        told.append(told[1])
    elif kind == "negative":
        told[0] = f"{told[0]} * (1 if {names[0]} > 0 else 2) + (0 if {names[0]} > 0 else 1)"
    single = ", ".join(f"float32({one})" for one in told)
    arguments = ", ".join(names)
    text = (
        "from numpy import float32\n\n\n"
        f"def {name}({arguments}):\n    return float32({result})\n\n\n"
        f"def {name}_derivative({arguments}, gradient):\n"
        f"    return {single if len(told) == 1 else f'({single})'}"
    )
    # Far from zero, and on both sides of it.
    sides = itertools.cycle([1, -1])
    points = [tuple(next(sides) * case.random(len(names), 0.5, 2.5)) for _ in range(4)]
    return Suspect(
        name,
        text,
        kind,
        function_of(names, result),
        [function_of(names, s) for s in slopes],
        points,
    )


def function_of(names, formula):
    return eval(f"lambda {', '.join(names)}: {formula}")  # of our own FORMULAS


def expect_slopes(case, suspects):
    got, expected, twice, others, sums = [], [], [], [], []
    for suspect in suspects:
        point = suspect.points[0]
        for position in range(len(point)):
            value = case.call("finite_difference", case.student(suspect.name), point, position)
            case.require(
                np.ndim(value) == 0 and isinstance(value, (int, float, np.generic)),
                "not a number",
                "finite_difference returns one number, the slope.",
            )
            got.append(float(value))
            exact = [slope(*map(float, point)) for slope in suspect.slopes]
            expected.append(exact[position])
            twice.append(2 * exact[position])
            others.append(exact[0])
            sums.append(sum(exact))
    got, expected = np.array(got), np.array(expected)
    near = np.abs(got - expected) / np.maximum(1, np.abs(expected))
    inexact = 0.005 < near.max() < 0.6
    case.require(
        not inexact,
        "inexact",
        f"the slopes are about right, and off by up to {near.max():.1g} of their size. "
        + (why_inexact(case) if inexact else ""),
    )
    # The largest ones would allow the others anything.
    usual = np.abs(expected) < 100
    got, expected, twice, others, sums = (
        np.array(a)[usual] for a in (got, expected, twice, others, sums)
    )
    case.expect(
        got, expected, "slopes",
        candidates={
            "twice the slope": (
                twice,
                "From x - step to x + step it is two steps: divide by 2 step.",
            ),
            "half of the slope": (expected / 2, "This is half of the slope."),
            "sign reversed": (-expected, "The sign is reversed: ahead minus behind."),
            "first input only": (
                others,
                "This is always the slope along the first input: change inputs[position].",
            ),
            "all inputs change": (
                sums,
                "This is the sum of the slopes along all inputs: change inputs[position] alone, "
                "and leave the others as they are.",
            ),
            "no slope": (np.zeros(len(got)), "The slope is 0 everywhere: does an input change?"),
        },
    )  # fmt: skip
    expect_step_at_zero(case, suspects)


FINEST_STEP, WIDEST_STEP = 1e-4, 0.05  # beyond that the step alone explains what is inexact
# Functions of one input near 1.5 that tell from where a difference looks at them, and how far away.
SIDES = """from numpy import float32


def side(x):
    return float32(x > 1.5) - float32(x < 1.5)


def off_the_point(x):
    return float32(x != 1.5)
"""


def why_inexact(case):
    """The cause of slopes that are about right: the step, if two functions show how large it is."""
    add_code(case, SIDES)
    shown, point = case.last_run, (np.float32(1.5),)
    rise, uneven = (
        case.call("finite_difference", case.student(name), point, 0)
        for name in ("side", "off_the_point")
    )
    case.last_run = shown  # what is told is the call that was inexact
    if uneven != 0 and abs(uneven) == abs(rise):
        beyond = "ahead" if uneven > 0 else "behind"
        return (
            f"It looks {beyond} only, and sees the slope half a step further on: take the "
            "difference of one step ahead and one behind, and divide by both."
        )
    # From -1 to 1 over two steps; rules with more points come near that.
    step = 1 / rise if np.isfinite(rise) and rise > 0 else 0.01
    if step < FINEST_STEP:
        return (
            f"Its step is about {step:.1g}, and that is too small for float32, which has seven "
            "digits: two results so near to each other differ in their last digits only, and those "
            "are rounded. Take a step of about a hundredth."
        )
    if step > WIDEST_STEP:
        return f"Its step is about {step:.1g}, and over that the curve bends: take a smaller one."
    return (
        "Too small a step loses the digits of a float32 number, too large a step leaves the curve, "
        "and who looks ahead only, and not behind, sees a slope further on."
    )


def expect_step_at_zero(case, suspects):
    """End the check if a step is made in proportion to the input, and so is none at 0."""
    sentence = (
        "at an input of 0 the slope is no number: a step that is a part of the input is 0 there. "
        "Take the same step everywhere."
    )
    case.advice = {"division by zero": sentence}
    for suspect in suspects:
        position = len(suspect.slopes) - 1
        point = list(suspect.points[0])
        if abs(suspect.slopes[position](*map(float, point))) > 100:
            continue  # bent so much that another good step may be off by a tenth
        point[position] = np.float32(0)
        value = case.call("finite_difference", case.student(suspect.name), tuple(point), position)
        exact = float(suspect.slopes[position](*map(float, point)))
        case.require(bool(np.isfinite(value)), "no step at zero", sentence)
        case.require(
            abs(float(value) - exact) <= 0.06 + 0.02 * abs(exact),
            "wrong at zero",
            f"at an input of 0 the slope is {exact:.4g}, and not {float(value):.4g}: is the step "
            "there as large as elsewhere?",
        )
    case.advice = {}


def verdict_of(case, suspect):
    """Whether the student accuses this derivative."""
    functions = case.student(suspect.name), case.student(f"{suspect.name}_derivative")
    named = case.call("wrong_derivatives", [(suspect.name, *functions, suspect.points)])
    case.require(
        isinstance(named, (list, tuple)),
        "no list of names",
        "wrong_derivatives returns a list of names.",
    )
    return bool(named)


# What is asked if all right derivatives that are accused have this in their text.
WHY_ACCUSED = {
    "0.0003 * b": " Is each slope compared with a hundredth of itself? Of 0.0003 that is less than "
    "a measured slope can show.",
    "400 * x * x * x": " Is no more than 0.01 allowed for a slope of hundreds, too?",
}


def only(text, accused):
    return all(text in suspect.text for suspect in accused)


def expect_verdict(case, suspect, named, why_accused=""):
    """End the check if a verdict is wrong. why_accused: what is asked if a right one is accused."""
    why_wrong = LIARS | SPOILERS
    lines = suspect.text.split("\n\n\n")[1:]
    shown = [f"    {line}" for part in lines for line in part.splitlines()]
    if named and not suspect.kind:
        case.fail(
            "accuses a right one",
            f"accuses a right one: the derivative of {suspect.name} is right. So is each that is "
            "gradient times slope, to a hundredth of the largest slope there, or of 1 where "
            f"all slopes are smaller.{why_accused}",
            *shown,
        )
    if suspect.kind and not named:
        also = sizes_that_pass(case, suspect) if suspect.kind in OF_SIZES else ""
        case.fail(
            "a wrong one passes",
            f"a wrong one passes: the derivative of {suspect.name} {why_wrong[suspect.kind]}{also}",
            *shown,
        )


OF_SIZES = "off by 5 %", "a fifth too small", "too small", "a little, once"
SMALLER, LARGER = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98), (1.02, 1.05, 1.1, 1.25, 2.0, 10.0)
FACTORS = *SMALLER, *LARGER, -1.0


def sizes_that_pass(case, suspect):
    """What is said of which multiples of a slope pass, tried with one function of one input."""
    point = (np.float32(1.75),)
    text = "from numpy import float32\n\n\ndef probe(x):\n    return float32(1.5 * x * x + x)\n"
    for number, factor in enumerate(FACTORS):
        text += f"\n\ndef probe_{number}(x, gradient):\n"
        text += f"    return float32(gradient * (3 * x + 1) * {factor})\n"
    add_code(case, f"{suspect.text}\n\n\n{text}")
    probes = [
        (f"probe {number}", case.student("probe"), case.student(f"probe_{number}"), [point])
        for number in range(len(FACTORS))
    ]
    accused = case.call("wrong_derivatives", probes)
    verdict_of(case, suspect)  # again: a message shows the call that came last
    names = {name for name in accused if isinstance(name, str)}
    return told_of_sizes([f for n, f in enumerate(FACTORS) if f"probe {n}" not in names])


def told_of_sizes(passing):
    """A sentence that begins with a blank, of the factors with which a slope passes; or none."""
    smaller, larger = ([f for f in part if f in passing] for part in (SMALLER, LARGER))
    tried = " Tried with a single slope of 6.25: "
    if -1 in passing and len(larger) == len(LARGER):
        return f"{tried}ten times as much passes, and so does the wrong sign. What is compared?"
    if larger == list(LARGER) and {0.5, 0.8} <= set(smaller):
        return (
            f"{tried}half of it passes, and so does ten times as much; the wrong sign does not. So "
            "only a direction or a sign is compared: compare the values, too."
        )
    if {0.5, 0.8} <= set(smaller) and not larger:
        return f"{tried}half of it passes, twice as much does not. Is the size compared, by abs()?"
    if not smaller and larger == list(LARGER):
        return f"{tried}twice as much passes, half of it does not. Is the size compared, by abs()?"
    if smaller and larger and smaller == list(SMALLER[-len(smaller) :]):
        return (
            f"{tried}{smaller[0]:g} times to {larger[-1]:g} times of it pass, and 0.99 to 1.01 "
            "should."
        )
    return ""


# ---------------------------------------------------------------- written kernels


@check("siren")
def test_siren(case):
    batch = case.size(large=600, small=50)
    run_network(case, 20, 8, 2, "sine", of_student=True)
    run_network(case, 23, 5, 1, "gelu", of_student=True)
    run_network(case, batch, 24, 3, "sine", of_student=True, engine="native")


@check("float32")
def test_float32(case):
    check_bilinear(case, 9, (3, 4, 1))
    run_network(case, 9, 5, 1, "sine")
    run_network(case, 9, 5, 1, "gelu")


def siren_tape(layers, omega, activation):
    tape, parameters, values = [], [], "positions"
    for layer in range(1, layers + 2):
        own = f"weights_{layer}", f"biases_{layer}"
        parameters += own
        total = f"sum_{layer}"
        tape.append((total, "linear", (values, *own)))
        if layer == 1:
            total = "angle"
            tape.append(("angle", "product", ("sum_1", omega)))
        if layer <= layers:
            values = f"wave_{layer}"
            tape.append((values, activation, (total,)))
    tape += [
        ("colour", "sigmoid", (total,)),
        ("error", "difference", ("colour", "target")),
        ("loss", "square", ("error",)),
    ]
    return tape, tuple(parameters)


def run_network(case, batch, width, layers, activation, of_student=False, engine=None):
    """Run a network's backward pass, written from the student's steps or from ours."""
    omega = round(float(case.rng.uniform(2, 9)), 1)
    tape, parameters = siren_tape(layers, omega, activation)
    plan = None
    if of_student:
        example = Example(tape, parameters, ("positions", "target"))
        plan = plan_of_student(case, example)
        require_right_way(case, example, plan)
    widths = [2, *[width] * layers, 3]
    given = {"positions": case.random((batch, 2), -1, 1), "target": case.random((batch, 3))}
    for layer, (fan_in, fan_out) in enumerate(itertools.pairwise(widths), 1):
        scale = 0.5 if layer == 1 else np.sqrt(6 / fan_in)
        given[f"weights_{layer}"] = case.random((fan_in, fan_out), -scale, scale)
        given[f"biases_{layer}"] = case.random((1, fan_out), -1, 1)
    already = {f"grad_{name}": np.full(given[name].shape, 0.25, np.float32) for name in parameters}
    scale = 1 / (3 * batch)
    found, _ = run_backward(case, tape, parameters, given, scale, plan, already, engine)
    exact = [given[name].astype(np.float64) for name in parameters]
    expected = derivatives.siren_backward(
        given["positions"], exact[::2], [b[0] for b in exact[1::2]], omega, given["target"],
        activation,
    )  # fmt: skip
    largest = max(np.abs(slopes).max() for slopes in [*expected.weights, *expected.biases])
    tolerance = case.check.tolerance * max(largest, 0.01)
    for layer in range(layers + 1, 0, -1):
        for name, slopes in (("weights", expected.weights), ("biases", expected.biases)):
            array = found[f"grad_{name}_{layer}"]
            case.expect(
                array, 0.25 + slopes[layer - 1].reshape(array.shape), f"grad_{name}_{layer}",
                tolerance=tolerance,
            )  # fmt: skip


def run_backward(
    case, tape, parameters, given, scale, plan=None, already=None, engine=None, measure=False
):
    """Write the kernels of a tape, and run those of the way back below the student's code.

    given: name -> array, of inputs and parameters. already: what gradients hold before. Returns
    (name -> `Output`, counts or None).
    """
    if plan is None:
        plan = derivatives.way_back(tape, "loss", parameters)
    written = write("this tape", tape, "loss", parameters, plan=plan, own=OWN)
    add_code(case, written.source)
    case.explain = explained
    values = derivatives.values_of(tape, given)
    arrays, outputs = [], {}
    for name in written.backward:
        if name == "scale":
            arrays.append(np.float32(scale))
        elif name.startswith("grad_"):
            shape = np.shape(values[name.removeprefix("grad_")])
            initial = (already or {}).get(name)
            outputs[name] = case.output(shape, initial=initial)
            arrays.append(outputs[name])
        else:
            array = given.get(name, values[name])
            arrays.append(np.ascontiguousarray(array, np.float32))
    if measure:
        return outputs, case.measure("launch_backward", *arrays)
    case.run("launch_backward", *arrays, engine=engine)
    return outputs, None


def explained(found):
    """What a race at the grid, or an index outside of it, says in this lesson."""
    if "grad_grid[" not in found.message:
        return ""
    if found.kind == "race" and "atomically" in found.message and "writes it" in found.message:
        return (
            "Nothing is stored in grad_grid, not even a zero to begin with: it holds what others "
            "have added, and atomic additions are all that it gets."
        )
    if found.kind == "race":
        return (
            "Other numbers were blended from the same cell, and their threads add to it at the "
            "same time: cuda.atomic.add(grad_grid, (row, column, channel), value)."
        )
    if found.kind == "out-of-bounds":
        return (
            "grad_grid is (gh, gw, channels): v runs along its rows, shape[0], and gives top and "
            "bottom; u runs along its columns, shape[1], and gives left and right. A cell is "
            "(top, left, column)."
        )
    return ""


def add_code(case, text):
    """Let the student's file end with this text, in the place of what was added before.

    A file that is no Python stays as it is: an open bracket must not swallow what follows, and its
    error is told by whoever loads it.
    """
    own = (case.submission.text or b"").split(BELOW)[0]
    try:
        ast.parse(own)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    case.submission = case.submission._replace(text=own + BELOW + text.encode("utf-8"))
