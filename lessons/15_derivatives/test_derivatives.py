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
from lessons.grading.judge.case import Curve, check
from lessons.reference import derivatives as derivatives

OWN = "sine_derivative", "gelu_derivative", "bilinear_derivative"
BELOW = b"\n\n\n# ---------------- what the check has added\n\n"
GRIDS = (5, (3, 4, 1)), (80, (5, 7, 3))  # points, and the shape of the grid
CELL_ADDITIONS = 4.5  # atomic, allowed per number
BATCH_OF_SIREN = 600
ABOUT_RIGHT = "a finite difference in float32, of each slope or of 1, whichever is larger"
LARGE_SLOPE = 100  # bent so much that a good step may be off by a tenth


# ---------------------------------------------------------------- single derivatives


@check("sine")
def test_sine(case):
    x = np.concatenate([case.random(8, -3, 3), case.random(3, -40, 40), np.float32([0, np.pi])])
    gradient = np.append(case.random(12, -2, 2), np.float32(1.5)).astype(np.float32)
    expect_derivative(case, "sine_derivative", x, gradient, np.cos(x.astype(np.float64)))


@check("gelu")
def test_gelu(case):
    near = np.float32([2.4, -2.4, 3.6, -3.6])  # where the slope is nearly, and not yet, 0 or 1
    x = np.concatenate([case.random(10, -4, 4), near, np.float32([0, -30, 30, 500, -500])])
    gradient = np.concatenate(
        [case.random(10, -2, 2), np.float32([1.5] * 4), case.random(5, -2, 2)]
    )
    slopes = derivatives.gelu_slope(x.astype(np.float64))
    expect_derivative(case, "gelu_derivative", x, gradient, slopes)


def expect_derivative(case, name, x, gradient, slopes):
    """Compare name(x, gradient) for each of some numbers."""
    got = [case.call(name, np.float32(a), np.float32(b)) for a, b in zip(x, gradient, strict=True)]
    case.require(
        all(np.ndim(value) == 0 for value in got),
        "not a number",
        f"{name} should return one number, the gradient of x.",
    )
    case.expect(np.array(got), gradient * slopes, name, over=Curve(x, gradient))


@check("bilinear")
def test_bilinear(case):
    for points, shape in GRIDS:
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
    added = np.zeros((shape[0] * shape[1], shape[2]))
    cells, shares, _ = reference.bilinear_corners(uv, shape[1], shape[0])
    np.add.at(added, cells, shares[:, :, np.newaxis] * gradient[:, np.newaxis])
    case.expect(found["grad_grid"], already + added.reshape(shape), "grad_grid")
    per_number = counts.of(found["grad_grid"]).atomics / gradient.size
    case.keep_within(
        "atomic additions per number",
        yours=per_number,
        ours=4,
        allowed=CELL_ADDITIONS,
        diagnosis="too many atomics",
        sentence=f"each number makes {per_number:.0f} atomic additions: it was blended from "
        "four cells, and no other cell has anything of its gradient.",
    )


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
    for example in examples(case):
        got = case.call("needs_gradient", example.steps, example.parameters)
        case.require(
            isinstance(got, (list, tuple)) and all(isinstance(name, str) for name in got),
            "no list of names",
            "needs_gradient returns a list of names.",
        )
        expected = derivatives.changed_by(example.steps, example.parameters)
        missing, needless = sorted(expected - set(got)), sorted(set(got) - expected)
        if missing:
            refuse(
                case, example, "not followed to the end",
                f"{', '.join(missing)} should be in the list: a parameter needs a gradient itself, "
                "and what is made of something that a parameter can change, changes as well. Go "
                "over the steps in order, and ask of each whether any input is in the list.",
            )  # fmt: skip
        if needless:
            refuse(
                case, example, "too many",
                f"{', '.join(needless)} should not be in the list: no parameter can change it. An "
                "output belongs there only if one of its step's inputs does.",
            )  # fmt: skip


@check("backward_steps")
def test_backward_steps(case):
    for example in examples(case):
        problem = problem_of(example, plan_of_student(case, example))
        if problem:
            refuse(case, example, *problem)


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
        if output not in known and output in derivatives.leading_to(steps, "loss"):
            return (
                "not from the end",
                f"the step {here} is undone before the gradient of {output} is known: the "
                "steps that use it come first, so go over the tape from its end.",
            )
        if output not in known:
            return (
                "dead end",
                f"the loss does not depend on {output}, so it has no gradient, and the step "
                f"{here} has nothing to begin with: leave it out.",
            )
        done.add(output)
        for name, action in zip(inputs, actions, strict=True):
            problem = problem_of_action(name, action, here, known, done, changed)
            if problem:
                return problem
            if action is not None:
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


def problem_of_action(name, action, here, known, done, changed):
    """As `problem_of`, of what the step `here` does with the gradient of one of its inputs.

    known: what has a gradient already. done: outputs whose step is undone. changed: by parameters.
    """
    if action is None and name in changed:
        return (
            "part missing",
            f"at the step {here}, {name} gets nothing, but a parameter can change it.",
        )
    if action is None:
        return None
    if name in done:
        return (
            "too late",
            f"at the step {here}, {name} gets a part of its gradient after that was used: "
            "first all of its uses have to be undone.",
        )
    if action == "set" and name in known:
        return (
            "gradient lost",
            f'{name} has a part of its gradient already, and at the step {here} "set" replaces '
            'that: "add" to it, also where it stands twice in one step. If no parameter can change '
            "it, its action is None.",
        )
    if action == "add" and name not in known:
        return (
            "added to nothing",
            f'at the step {here}, {name} gets the first part of its gradient: "set" it; there is '
            "nothing yet to add to. What comes first is decided from the end of the tape.",
        )
    return None


# ---------------------------------------------------------------- finite differences


class Suspect(NamedTuple):
    name: str
    text: str  # of the function and its derivative
    kind: str  # why its derivative is wrong; "" if it is right
    slopes: list  # along each input, in float64: functions of all inputs
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
VALLEY = "from numpy import float32\n\n\ndef valley(x):\n    return float32(300) * x * x"
FLAT = 1e-3  # 300 times the step, if that goes to one side
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
# What these do to each gradient * slope.
EVERYWHERE = {
    "forgets the gradient": "({slope})",
    "multiplies twice": "gradient * {told}",
    "sign": "-{told}",
    "off by 5 %": "{told} * 1.05 + 0.05",
    "a fifth too small": "{told} * 0.8",
    "too small": "{told} - 0.2 - 0.2 * abs({told})",
}


@check("wrong_derivative")
def test_wrong_derivative(case):
    suspects, spoilers = make_suspects(case)
    texts = [suspect.text for suspect in [*suspects, *spoilers]]
    add_code(case, "\n\n\n".join([*texts, VALLEY]))
    expect_slopes(case, suspects)
    expect_both_sides(case)
    for suspect in [*suspects, *spoilers]:
        expect_verdict(case, suspect)


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
    everywhere = EVERYWHERE.get(kind, "{told}")
    told = [everywhere.format(told=f"gradient * ({slope})", slope=slope) for slope in slopes]
    if kind == "second input":
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
    return Suspect(name, text, kind, [function_of(names, slope) for slope in slopes], points)


def function_of(names, formula):
    return eval(f"lambda {', '.join(names)}: {formula}")  # of our own FORMULAS


def expect_slopes(case, suspects):
    found, expected = [], []
    for suspect in suspects:
        for point, position in itertools.product(suspect.points, range(len(suspect.slopes))):
            found.append(slope_at(case, suspect, point, position))
            expected.append(suspect.slopes[position](*map(float, point)))
    sizes = np.maximum(1, np.abs(expected))
    got, right = np.array(found) / sizes, np.array(expected) / sizes
    case.expect(got, right, "slopes, each by its size", reason=ABOUT_RIGHT)
    for suspect in suspects:
        expect_step_at_zero(case, suspect)


def slope_at(case, suspect, point, position):
    value = case.call("finite_difference", case.student(suspect.name), tuple(point), position)
    case.require(
        np.ndim(value) == 0 and isinstance(value, (int, float, np.generic)),
        "not a number",
        "finite_difference returns one number, the slope.",
    )
    return float(value)


def expect_step_at_zero(case, suspect):
    """End the check if a step is made in proportion to the input, and so is none at 0."""
    position = len(suspect.slopes) - 1
    point = list(suspect.points[0])
    if abs(suspect.slopes[position](*map(float, point))) > LARGE_SLOPE:
        return
    point[position] = np.float32(0)
    value = slope_at(case, suspect, point, position)
    exact = float(suspect.slopes[position](*map(float, point)))
    case.require(
        abs(value - exact) <= 0.06 + 0.02 * abs(exact),
        "wrong at zero",
        f"at an input of 0 the slope is {exact:.4g}, and not {value:.4g}: a step that is a part of "
        "the input is 0 there. Take the same step everywhere.",
    )


def expect_both_sides(case):
    """End the check if the slope is measured to one side: at the bottom of a valley that shows."""
    inputs = (np.float32(0),)
    value = float(case.call("finite_difference", case.student("valley"), inputs, 0))
    case.require(
        abs(value) <= FLAT,
        "to one side only",
        f"the slope of 300 * x * x at x = 0 is 0, and not {value:.3g}: from the bottom of a valley "
        "it goes up on both sides. Go one step to each side, as far on both, and divide what is "
        "between the two values by what is between the two points.",
    )


def expect_verdict(case, suspect):
    """End the check if a right derivative is accused, or a wrong one is not."""
    functions = case.student(suspect.name), case.student(f"{suspect.name}_derivative")
    named = case.call("wrong_derivatives", [(suspect.name, *functions, suspect.points)])
    case.require(
        isinstance(named, (list, tuple)),
        "no list of names",
        "wrong_derivatives returns a list of names.",
    )
    shown = "\n".join(f"    {line}" for line in suspect.text.splitlines()[3:] if line)
    case.require(
        not named or bool(suspect.kind),
        "accuses a right one",
        f"the derivative of {suspect.name} is right. So is each that is gradient times slope, to a "
        "hundredth of the largest slope there, or of 1 where all slopes are smaller.\n" + shown,
    )
    case.require(
        bool(named) or not suspect.kind,
        "a wrong one passes",
        f"the derivative of {suspect.name} {(LIARS | SPOILERS).get(suspect.kind)}\n{shown}",
    )


# ---------------------------------------------------------------- written kernels


@check("siren")
def test_siren(case):
    batch = case.size(large=BATCH_OF_SIREN, small=50)
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
    case.go_on_with(own + BELOW + text.encode("utf-8"))
