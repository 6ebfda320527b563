"""Tapes of whole networks: short programs that write down the steps one after another.

    sizes  ->  tape, names of its parameters

The idea: a tape is made by a plain loop. Each line of it is one step, and says nothing about how to
come back.
"""

from typing import NamedTuple

from kernels.derivatives.functions import (
    difference,
    encoded,
    gelu,
    linear,
    luminance,
    matmul,
    product,
    relu,
    sigmoid,
    sine,
    square,
)
from kernels.derivatives.tape import Tape

ACTIVATIONS = {"sine": sine, "gelu": gelu, "relu": relu}


class Model(NamedTuple):
    """tape: its last step is the loss, for each number of the colours; parameters: names."""

    tape: Tape
    parameters: tuple


def gray_error():
    """How far the gray of a picture is from a target: three derivatives in one kernel."""
    tape = Tape()
    gray = tape.call("gray", luminance, "red", "green", "blue")
    error = tape.call("error", difference, gray, "target")
    tape.call("loss", square, error)
    return Model(tape, ("red", "green", "blue"))


def siren(layers, omega, activation="sine"):
    """A network of sines with biases: positions (B, 2) to colours; `layers` hidden ones.

    omega: how fast the first layer's waves are. Source: Sitzmann, Martel, Bergman, Lindell,
    Wetzstein, "Implicit Neural Representations with Periodic Activation Functions", NeurIPS 2020.
    """
    tape, parameters = Tape(), []
    values = "positions"
    for layer in range(1, layers + 2):
        own = f"weights_{layer}", f"biases_{layer}"
        parameters += own
        total = tape.call(f"sum_{layer}", linear, values, *own)
        if layer == 1:
            total = tape.call("angle", product, total, float(omega))
        if layer <= layers:
            values = tape.call(f"wave_{layer}", ACTIVATIONS[activation], total)
    colour = tape.call("colour", sigmoid, total)
    error = tape.call("error", difference, colour, "target")
    tape.call("loss", square, error)
    return Model(tape, tuple(parameters))


def lake(layers):
    """The network of lessons 4 to 7: a feature grid, waves, ReLU layers without biases."""
    tape, parameters = Tape(), ["grid"]
    values = tape.call("features", encoded, "grid", "uv")
    for layer in range(1, layers + 2):
        parameters.append(f"weights_{layer}")
        total = tape.call(f"sum_{layer}", matmul, values, f"weights_{layer}")
        if layer <= layers:
            values = tape.call(f"hidden_{layer}", relu, total)
    colour = tape.call("colour", sigmoid, total)
    error = tape.call("error", difference, colour, "target")
    tape.call("loss", square, error)
    return Model(tape, tuple(parameters))
