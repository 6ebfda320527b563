"""The tape: which function was applied to what, in order; and the way back.

    steps, result, parameters  ->  steps of the backward pass

The idea: a network is a chain of steps, each of which gives a name to the result of one function:

    Step("gray", "luminance", ("red", "green", "blue"))
    Step("error", "difference", ("gray", "target"))
    Step("loss", "square", ("error",))

The gradient of the loss goes the other way. Each step on the way back knows the gradient of its
output, and finds those of its inputs. Two things need care. A value that was used twice has two
ways to change the loss: its gradients are added, and it is complete only when all of its uses have
been seen, which is why the steps come in reverse. And what no parameter can change needs no
gradient, however the loss depends on it.

Source: Wengert, "A simple automatic derivative evaluation program", 1964; Griewank, Walther,
"Evaluating Derivatives", 2008.
"""

from typing import NamedTuple


class Step(NamedTuple):
    """output = function(*inputs). Names, but for inputs that are numbers."""

    output: str
    function: str
    inputs: tuple


class BackwardStep(NamedTuple):
    """The derivative of a `Step`: from the gradient of its output to those of its inputs.

    actions: for each input, "set" (the first part of its gradient), "add" (one more part of it) or
    None (it needs none).
    """

    output: str
    function: str
    inputs: tuple
    actions: tuple


class Tape(list):
    """A list of `Step`."""

    def call(self, output, function, *inputs):
        """Append output = function(*inputs). Returns the output's name, for further steps."""
        self.append(Step(output, function.__name__, inputs))
        return output


def needs_gradient(steps, parameters):
    """The names whose value a parameter can change: the parameters, and what is made of them.

    steps: list of (output, function, inputs), in order. parameters: tuple of names. Returns a list
    of names, in any order; inputs may also be numbers, which nothing can change.
    """
    found = list(parameters)
    for output, _, inputs in steps:
        if any(name in found for name in inputs):
            found.append(output)
    return found


def backward_steps(steps, result, parameters):
    """The backward pass of a tape: a list of (output, function, inputs, actions), in order.

    steps: list of (output, function, inputs). result: the name whose gradient is known. parameters:
    tuple of the names whose gradients are wanted. actions: for each input "set", if this is the
    first part of its gradient; "add", if it has one already; None, if it needs none. Steps that no
    wanted gradient needs are left out.
    """
    wanted = needs_gradient(steps, parameters)
    known = [result]
    found = []
    for output, function, inputs in reversed(steps):
        if output not in known:
            continue
        actions = []
        for name in inputs:
            if name not in wanted:
                actions.append(None)
                continue
            actions.append("add" if name in known else "set")
            known.append(name)
        if any(actions):
            found.append((output, function, inputs, tuple(actions)))
    return found
