"""Which function has which derivative.

    @derivative_of(sine)
    def sine_derivative(x, gradient): ...

The idea: a machine cannot invent calculus. Somebody says once what the derivative of each small
function is; from then on the chain rule is book-keeping. A derivative gets `gradient`, how much the
loss grows with the function's result, and gives how much it grows with each of its parameters.

There are three kinds, since a number may have been read by one thread or by many:

    @derivative_of(product)                     one number of each array is read, by its own thread:
    product_derivative(a, b, gradient)          returns the gradients of a and b
    @derivative_of(matmul, gathers="weights")   each number of `weights` is read by many threads: a
    weights_derivative(inputs, gradients,       thread per weight gathers from all `gradients`, and
                       row, column)             returns the gradient of weights[row, column]
    @derivative_of(bilinear, scatters="grid")   a thread per result hands its gradient out, to those
    bilinear_derivative(grad_grid, uv,          numbers of the grid that it has read; atomically,
                        row, column, gradient)  since others do the same. Returns nothing

A derivative takes those of the function's parameters that it needs, by their names. What none of
them needs is never stored.

Only names are kept here, and no function. Source: the derivatives of Slang, `[BackwardDerivative]`;
Bangaru et al., "SLANG.D: Fast, Modular and Differentiable Shader Programming", SIGGRAPH Asia 2023.
"""

import inspect
from typing import NamedTuple

from kernels.plumbing.errors import InputError

POSITION = ("row", "column")  # parameters of functions that take whole arrays


class Derivative(NamedTuple):
    """name, module: where it is. parameters: names. kind: "pointwise", "gathers" or "scatters"."""

    name: str
    module: str
    parameters: tuple
    kind: str


class Function(NamedTuple):
    """A function that a tape may name; derivatives: parameter -> `Derivative`."""

    name: str
    module: str
    parameters: tuple  # of its values, without row and column
    whole: bool  # takes whole arrays and a position; else one number of each
    derivatives: dict

    def derivative(self, parameter):
        """Raises `InputError` if nobody has registered it."""
        if parameter not in self.derivatives:
            raise InputError(
                f"{self.name} has no derivative for its parameter {parameter}: write one, with "
                f"@derivative_of({self.name}) above it"
            )
        return self.derivatives[parameter]


FUNCTIONS = {}  # name -> `Function`


def function_named(name):
    """The `Function` of this name. Raises `InputError` if there is none."""
    if name not in FUNCTIONS:
        raise InputError(f"{name} is no registered function; there are {', '.join(FUNCTIONS)}")
    return FUNCTIONS[name]


def names_of_parameters(function):
    return tuple(inspect.signature(getattr(function, "py_func", function)).parameters)


def differentiable(function):
    """Decorator: the function may stand on a tape, also before it has a derivative."""
    parameters = names_of_parameters(function)
    values = tuple(name for name in parameters if name not in POSITION)
    whole = len(values) < len(parameters)
    known = Function(function.__name__, function.__module__, values, whole, {})
    FUNCTIONS.setdefault(function.__name__, known)
    return function


def derivative_of(function, gathers=None, scatters=None):
    """Decorator: this is the derivative of `function`; see above for the three kinds.

    gathers, scatters: the parameter that it belongs to, for functions that take whole arrays.
    """
    differentiable(function)
    known = FUNCTIONS[function.__name__]
    kind = "gathers" if gathers else "scatters" if scatters else "pointwise"
    parameter = gathers or scatters

    def register(derivative):
        entry = Derivative(
            derivative.__name__, derivative.__module__, names_of_parameters(derivative), kind
        )
        for name in (parameter,) if parameter else known.parameters:
            known.derivatives[name] = entry
        return derivative

    return register
