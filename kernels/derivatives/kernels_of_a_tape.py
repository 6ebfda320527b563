"""Which kernel computes which steps of a tape, forward and backward.

    steps                   ->  kernels, each a list of lines
    steps of the way back   ->  kernels, each a list of lines

The idea: a kernel has a thread per number of one array. A step that takes one number of each array
goes on in the same thread, and its result is a variable there. A step that takes whole arrays has
to wait until they are complete: there one kernel ends, and the next begins. A derivative that
gathers needs all gradients of its output, and waits as well; one that scatters does not.
"""

from typing import NamedTuple

from kernels.derivatives.registry import POSITION, function_named
from kernels.plumbing.errors import InputError

SCALE = "scale"  # the gradient of the result: an argument of the kernel that begins with it


class Line(NamedTuple):
    """text: {name} is one number of a value, {name*} a whole array. here, whole: those names."""

    text: str
    here: tuple = ()
    whole: tuple = ()


class Kernel:
    """A kernel that is being put together, line after line; a thread per number of one array."""

    def __init__(self, name):
        self.name = name
        self.lines = []  # of `Line`
        self.made = set()  # what its threads compute, each one number of it
        self.scalars = []  # arguments that are no arrays

    def add(self, text, here=(), whole=()):
        """Append a `Line`."""
        self.lines.append(Line(text, tuple(here), tuple(whole)))

    def here(self):
        """Names of which its threads read or write one number each, in order."""
        return list(dict.fromkeys(name for line in self.lines for name in line.here))

    def touched(self):
        """Names that its lines read or write, in order."""
        names = [name for line in self.lines for name in (*line.here, *line.whole)]
        return list(dict.fromkeys(names))


def gradient_of(name):
    """What the gradient of a value is called."""
    return f"grad_{name}"


def number_of(name):
    """What stands in a line for one number of a value; a number stands for itself."""
    return f"{{{name}}}" if isinstance(name, str) else f"float32({name!r})"


def whole_of(name):
    """What stands in a line for a whole array."""
    return f"{{{name}*}}"


def names_among(inputs):
    """The inputs that are values, and not numbers."""
    return [name for name in inputs if isinstance(name, str)]


def text_of(step):
    """A step as people read it."""
    return f"{step.output} = {step.function}({', '.join(map(str, step.inputs))})"


# ---------------------------------------------------------------- forward


def forward_kernels(steps):
    """A list of `Kernel`, in order. Raises `InputError` for a step with too few or many inputs."""
    kernels = []
    for step in steps:
        function = function_named(step.function)
        require_inputs(step, function)
        if function.whole or not kernels or not kernels[-1].made & set(step.inputs):
            kernels.append(Kernel(f"compute_{step.output}"))
        kernel = kernels[-1]
        if function.whole:
            arguments, here, whole = [*map(whole_of, step.inputs), *POSITION], [], step.inputs
        else:
            arguments, here, whole = map(number_of, step.inputs), names_among(step.inputs), []
        call = f"{step.function}({', '.join(arguments)})"
        kernel.add(f"{number_of(step.output)} = {call}", [step.output, *here], whole)
        kernel.made.add(step.output)
    return kernels


def require_inputs(step, function):
    if len(step.inputs) != len(function.parameters):
        raise InputError(
            f"{text_of(step)}: {step.function} takes {', '.join(function.parameters)}, and not "
            f"{len(step.inputs)} inputs"
        )


# ---------------------------------------------------------------- backward


def backward_kernels(plan, result, parameters, seeded=False):
    """plan: list of `BackwardStep`. What is made here of parameters' gradients is added to them.

    seeded: whether the gradients of the result are an array that is there, and not all `scale`.
    """
    kernels = []
    if not seeded:
        gradient = gradient_of(result)
        kernels.append(Kernel(f"find_{gradient}"))
        kernels[0].add(f"{number_of(gradient)} = {SCALE}", [gradient])
        kernels[0].made.add(gradient)
        kernels[0].scalars.append(SCALE)
    for step in plan:
        if not function_named(step.function).whole:
            add_pointwise(step, kernels, parameters)
            continue
        # What the steps below go on with comes last: its kernel stays open.
        positions = range(len(step.inputs))
        for position in sorted(positions, key=lambda i: step.inputs[i] not in parameters):
            if step.actions[position]:
                add_whole(step, position, kernels, parameters)
    return kernels


def kernel_that_knows(gradient, kernels):
    """The last kernel if its threads have computed this, else a new one, which reads it."""
    if not kernels or gradient not in kernels[-1].made:
        kernels.append(Kernel(f"continue_from_{gradient}"))
    return kernels[-1]


def add_pointwise(step, kernels, parameters):
    """One call of the derivative, which returns the gradients of all inputs."""
    gradient = gradient_of(step.output)
    kernel = kernel_that_knows(gradient, kernels)
    function = function_named(step.function)
    derivative = function.derivative(function.parameters[0])
    given = {**dict(zip(function.parameters, step.inputs, strict=True)), "gradient": gradient}
    arguments = [given[name] for name in derivative.parameters]
    targets, made, parts = [], [], []
    for position, (name, action) in enumerate(zip(step.inputs, step.actions, strict=True)):
        if not action:
            targets.append("_")
        elif action == "set" and name not in parameters:
            made.append(gradient_of(name))
            targets.append(number_of(made[-1]))
        else:
            targets.append(f"part_{position}")
            parts.append((gradient_of(name), targets[-1]))
    kernel.add(f"# {text_of(step)}")
    call = f"{derivative.name}({', '.join(map(number_of, arguments))})"
    kernel.add(f"{', '.join(targets)} = {call}", [*names_among(arguments), *made])
    for name, part in parts:
        kernel.add(f"{number_of(name)} += {part}", [name])
    kernel.made.update(made)


def add_whole(step, position, kernels, parameters):
    """The derivative by one input; in a kernel of its own if it gathers."""
    function = function_named(step.function)
    parameter, name = function.parameters[position], step.inputs[position]
    derivative = function.derivative(parameter)
    gradient, changed = gradient_of(step.output), gradient_of(name)
    arrays = dict(zip(function.parameters, step.inputs, strict=True))
    arrays |= {"gradients": gradient, f"grad_{parameter}": changed}
    whole = [arrays[one] for one in derivative.parameters if one in arrays]
    given = {name: whole_of(array) for name, array in arrays.items()}
    given |= {"gradient": number_of(gradient), "row": "row", "column": "column"}
    call = f"{derivative.name}({', '.join(given[one] for one in derivative.parameters)})"
    if derivative.kind == "scatters":
        if name not in parameters:  # nobody would set it to zero before
            raise InputError(f"{text_of(step)} scatters into {name}, which must be a parameter")
        kernel = kernel_that_knows(gradient, kernels)
        kernel.add(f"# {text_of(step)}")
        kernel.add(call, [gradient], whole)
        return
    kernel = Kernel(f"find_{changed}")
    kernels.append(kernel)
    sign = "=" if step.actions[position] == "set" and name not in parameters else "+="
    kernel.add(f"# {text_of(step)}")
    kernel.add(f"{number_of(changed)} {sign} {call}", [changed], whole)
    if name not in parameters:
        kernel.made.add(changed)
