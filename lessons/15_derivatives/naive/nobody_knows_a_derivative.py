"""Finite differences in the kernel, a gradient for everything, and no test."""
# points: 5

from numba import float32
from numba.extending import register_jitable

from kernels.derivatives.functions import gelu, sine
from kernels.derivatives.registry import derivative_of


@derivative_of(sine)
@register_jitable
def sine_derivative(x, gradient):
    return gradient * (sine(x + float32(0.01)) - sine(x - float32(0.01))) * float32(50)


@derivative_of(gelu)
@register_jitable
def gelu_derivative(x, gradient):
    return gradient * (gelu(x + float32(0.01)) - gelu(x - float32(0.01))) * float32(50)


def backward_steps(steps, result, parameters):
    known = [result]
    found = []
    for output, function, inputs in reversed(steps):
        if output not in known:
            continue
        actions = []
        for name in inputs:
            if not isinstance(name, str):
                actions.append(None)
                continue
            actions.append("add" if name in known else "set")
            known.append(name)
        if any(actions):
            found.append((output, function, inputs, tuple(actions)))
    return found


def disagrees(function, derivative, inputs):
    return False
