"""Written kernels as functions that can be launched.

    `Written`, sizes  ->  module, arrays

The idea: the text of a kernel is a module like any other, except that no file holds it. Python, the
lab and a debugger find its lines where they look for those of files.
"""

import importlib
import linecache
import types

import numpy as np

from kernels.derivatives.registry import function_named

# function -> (rows, columns) of its result, from the shapes of its inputs.
SHAPES = {
    "matmul": lambda inputs, weights: (inputs[0], weights[1]),
    "linear": lambda inputs, weights, biases: (inputs[0], weights[1]),
    "bilinear": lambda grid, uv: (uv[0], grid[2]),
    "encoded": lambda grid, uv: (uv[0], 16),
}


def module_of(written, name):
    """A module with launch_forward and launch_backward.

    written: `Written`. name: what a debugger and the lab call the file that there is not.
    """
    filename, lines = f"<{name}>", written.source.splitlines(keepends=True)
    # Another text of that name stays where its own kernels are looked for.
    while filename in linecache.cache and linecache.cache[filename][2] != lines:
        filename += "'"
    linecache.cache[filename] = (len(written.source), None, lines, filename)
    module = types.ModuleType(name)
    module.__file__ = filename
    exec(compile(written.source, filename, "exec"), module.__dict__)
    return module


def shapes_of(steps, known):
    """name -> shape, of all values of a tape. known: those of its inputs and parameters."""
    shapes = dict(known)
    for step in steps:
        given = [shapes[name] for name in step.inputs if isinstance(name, str)]
        shapes[step.output] = SHAPES.get(step.function, first_of)(*given)
    return shapes


def first_of(shape, *others):
    """A function of numbers has a result of its first input's shape."""
    return shape


def arrays_for(steps, written, given, empty=lambda shape: np.zeros(shape, np.float32)):
    """name -> array, for all that the written functions are called with.

    given: name -> array, for inputs and parameters; and for gradients of parameters, if they are
    not to begin as new arrays of zeros. empty(shape): a new array.
    """
    shapes = shapes_of(steps, {name: array.shape for name, array in given.items()})
    arrays = dict(given)
    for name in [*written.forward, *written.backward]:
        if name not in arrays and name != "scale":
            arrays[name] = empty(shapes[name.removeprefix("grad_")])
    return arrays


def run_forward(module, written, arrays, launch):
    """From inputs and parameters to all that is stored. arrays: see `arrays_for`."""
    module.launch_forward(*[arrays[name] for name in written.forward], launch=launch)


def run_backward(module, written, arrays, scale, launch):
    """Add to the gradients of the parameters, which are among the arrays.

    scale: the gradient of each number of the result; for a mean, 1 / how many there are. It is not
    used if the gradient of the result is one of the arrays.
    """
    given = arrays | {"scale": np.float32(scale)}
    module.launch_backward(*[given[name] for name in written.backward], launch=launch)


# ---------------------------------------------------------------- single functions


def function_called(name):
    """(function, names of its parameters) of a registered function."""
    known = function_named(name)
    return getattr(importlib.import_module(known.module), name), known.parameters


def derivative_by_names(name):
    """The derivative of a registered function of numbers, called with all inputs and a gradient."""
    known = function_named(name)
    entry = known.derivative(known.parameters[0])
    derivative = getattr(importlib.import_module(entry.module), entry.name)
    derivative = getattr(derivative, "py_func", derivative)

    def call(*inputs_and_gradient):
        names = (*known.parameters, "gradient")
        given = dict(zip(names, inputs_and_gradient, strict=True))
        return derivative(*(given[parameter] for parameter in entry.parameters))

    return call
