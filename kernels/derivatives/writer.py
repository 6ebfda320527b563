"""From a tape to a Python file: the kernels of both passes, and the functions that launch them.

    tape, result, parameters  ->  source text; what it stores; what its functions are called with

The idea: what one kernel computes and another reads is an array. What no other reads is a variable,
and is never stored. The text is for people, too: above each derivative stands the step that it
belongs to.
"""

import textwrap
from collections import Counter
from typing import NamedTuple

# The module, and not its functions: a student's file must not find the solution here.
from kernels.derivatives import tape as tapes
from kernels.derivatives.kernels_of_a_tape import SCALE, backward_kernels, forward_kernels, text_of
from kernels.derivatives.registry import FUNCTIONS
from kernels.plumbing.errors import InputError

WIDTH = 100
HEAD = '''"""{title}: written by a machine, from this tape.

{tape}

Gradients of parameters are added to. {seed}
"""

from numba import cuda, float32

{imports}'''
ALWAYS = {"kernels.derivatives.blocks": ["BLOCK", "blocks_over"], "kernels.launch": ["on_gpu"]}


class Written(NamedTuple):
    """source: a Python file with launch_forward and launch_backward. forward, backward: the names
    of their arguments, in order. stored: which values and gradients are arrays, in the order in
    which they are computed; inputs and parameters are not among them, nor are gradients of these.
    """

    source: str
    forward: list
    backward: list
    stored: list


def write(title, steps, result, parameters, keep=(), plan=None, own=(), seeded=False):
    """A `Written`.

    steps: list of `Step`. parameters: whose gradients are wanted. keep: values to store though no
    other kernel reads them. plan: the backward steps, if not our own. own: derivatives that stand
    in the same file, and are not imported. seeded: whether the gradient of the result is an array,
    an argument of launch_backward, and not one number for all, `scale`.

    Raises `InputError` for a step without a derivative, or with other inputs than its function has.
    """
    steps = [tapes.Step(*step) for step in steps]
    if plan is None:
        plan = tapes.backward_steps(steps, result, parameters)
    plan = [backward_step(step, steps) for step in plan]
    if not plan:
        raise InputError(f"{result} depends on none of the parameters {', '.join(parameters)}")
    forward = forward_kernels(steps)
    backward = backward_kernels(plan, result, parameters, seeded)
    stored = stored_names([*forward, *backward]) | {result, *keep}
    forward = [kernel for kernel in forward if kernel.made & stored]
    kept = stored & made_by([*forward, *backward])
    tape = "\n".join(f"    {text_of(step)}" for step in steps)
    imports = import_lines(steps, plan, own)
    one = f"`{SCALE}` is the gradient of each number of {result}."
    seed = f"`grad_{result}` is the gradient of {result}." if seeded else one
    patterns = {}
    for kernel in [*forward, *backward]:
        patterns.setdefault(pattern_of(kernel, stored), []).append(kernel)
    text = [
        HEAD.format(title=title, tape=tape, seed=seed, imports=imports),
        *(kernel_text(alike, stored) for alike in patterns.values()),
        launch_text("launch_forward", forward, patterns, stored),
        launch_text("launch_backward", backward, patterns, stored),
    ]
    return Written(
        "\n\n\n".join(text) + "\n",
        used_by(forward, stored),
        [*used_by(backward, stored), *([] if seeded else [SCALE])],
        [name for name in used_by([*forward, *backward], stored) if name in kept],
    )


def backward_step(step, steps):
    """A `BackwardStep` of what was given as one. Raises `InputError` if it is not on the tape."""
    try:
        output, function, inputs, actions = step
        found = tapes.BackwardStep(output, function, tuple(inputs), tuple(actions))
        on_the_tape = tapes.Step(*found[:3]) in steps
        fits = len(found.actions) == len(found.inputs)
    except (TypeError, ValueError):
        raise InputError(f"{step!r} is no (output, function, inputs, actions)") from None
    words = all(action in ("set", "add", None) for action in found.actions)
    if not (on_the_tape and fits and words):
        raise InputError(f"{step!r} is no step back on this tape")
    return found


# ---------------------------------------------------------------- what is stored


def stored_names(kernels):
    """Inputs, parameters, what is read as a whole, and what more than one kernel touches."""
    touched = Counter(name for kernel in kernels for name in kernel.touched())
    whole = {name for kernel in kernels for line in kernel.lines for name in line.whole}
    computed = made_by(kernels)
    stored = whole | {name for name in touched if touched[name] > 1 or name not in computed}
    for kernel in kernels:
        here = kernel.here()
        if not stored & set(here):  # a kernel needs an array that says how many threads it has
            stored.add(here[0])
    return stored


def place_of(kernel, stored):
    """The array for each of whose numbers a kernel has a thread."""
    return next(name for name in kernel.here() if name in stored)


def made_by(kernels):
    return set().union(*(kernel.made for kernel in kernels))


def used_by(kernels, stored):
    """The arrays that kernels touch, in the order of their use."""
    names = [name for kernel in kernels for name in kernel.touched() if name in stored]
    return list(dict.fromkeys(names))


# ---------------------------------------------------------------- text


def import_lines(steps, plan, own):
    """From each module the functions of the tape and the derivatives that the way back calls."""
    wanted = [(FUNCTIONS[step.function].module, step.function) for step in steps]
    for step in plan:
        known = FUNCTIONS[step.function]
        for parameter, action in zip(known.parameters, step.actions, strict=True):
            if action:
                derivative = known.derivative(parameter)
                wanted.append((derivative.module, derivative.name))
    names = {module: set(always) for module, always in ALWAYS.items()}
    for module, name in wanted:
        if name not in own:
            names.setdefault(module, set()).add(name)
    return "\n".join(
        filled(f"from {module} import ", sorted(names[module]), "", "(", ")")
        for module in sorted(names)
    )


def kernel_text(alike, stored):
    """The first of some kernels that differ in names only; its docstring tells of the others."""
    kernel = alike[0]
    place, *others = [place_of(one, stored) for one in alike]
    words = [f"One thread per number of {place}", *(f"of {other}" for other in others)]
    values = {name: f"{name}[row, column]" if name in stored else name for name in kernel.touched()}
    values |= {f"{name}*": name for name in kernel.touched()}
    body = [
        *docstring(words),
        "column, row = cuda.grid(2)",
        f"if row >= {place}.shape[0] or column >= {place}.shape[1]:",
        "    return",
        *(line.text.format_map(values) for line in kernel.lines),
    ]
    signature = filled(f"def {kernel.name}(", arguments_of(kernel, stored), "):")
    return "\n".join(["@cuda.jit", signature, *(f"    {line}" for line in body)])


def docstring(words):
    lines = textwrap.wrap('"""' + ", or ".join(words) + ".", WIDTH - 8)
    return [f'{lines[0]}"""'] if len(lines) == 1 else [*lines, '"""']


def pattern_of(kernel, stored):
    """What two kernels have in common that differ in the names of their values only."""
    values = {}
    for number, name in enumerate(kernel.touched()):
        values[name] = f"{number}{'[]' if name in stored else ''}"
        values[f"{name}*"] = str(number)
    code = [line.text for line in kernel.lines if not line.text.startswith("#")]
    return tuple(text.format_map(values) for text in code)


def arguments_of(kernel, stored):
    return [*used_by([kernel], stored), *kernel.scalars]


def launch_text(name, kernels, patterns, stored):
    """A function that launches the kernels one after another; alike ones are one and the same."""
    lines = []
    for kernel in kernels:
        written = patterns[pattern_of(kernel, stored)][0]
        blocks = f"blocks_over({place_of(kernel, stored)})"
        call = [written.name, blocks, "BLOCK", *arguments_of(kernel, stored)]
        lines.append(textwrap.indent(filled("launch(", call, ")"), "    "))
    scalars = [scalar for kernel in kernels for scalar in kernel.scalars]
    signature = [*used_by(kernels, stored), *scalars, "launch=on_gpu"]
    return "\n".join([filled(f"def {name}(", signature, "):"), *lines])


def filled(before, names, after, opening="", closing=""):
    """A call or a signature: in one line, or its arguments in lines of their own."""
    line = f"{before}{', '.join(names)}{after}"
    if len(line) <= WIDTH - 4:
        return line
    inside = textwrap.wrap(", ".join(names), WIDTH - 8)
    return "\n".join([before + opening, *(f"    {part}" for part in inside), closing + after])
