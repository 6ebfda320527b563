"""A SIREN whose passes are written by a machine, and which learns a picture with them.

    image, seed, sizes  ->  parameters; the whole picture

The idea: nothing of `kernels/siren` computes here but what draws the batches. The tape is the
network, and both of its passes come from the writer. The parameters lie as those of `kernels/siren`
do, and begin with the same values: so both can be compared, number by number.
"""

import numpy as np

from kernels.adam import bias_corrections
from kernels.config import COLOURS, PUBLISHED_RATES
from kernels.derivatives import models
from kernels.derivatives.tape import backward_steps
from kernels.derivatives.writer import write
from kernels.derivatives.written import arrays_for, module_of, run_backward, run_forward
from kernels.recording import launch_adam_weights_by_clock, step_numbers
from kernels.siren import network
from kernels.siren.positions import launch_pixel_positions, launch_random_pixels


class WrittenSiren:
    """A network in training on a picture.

    image: (H, W, 3) float32 in [0, 1]. layers: of sines, each `width` wide. device: has `launch`,
    `to_device`, `empty`, `to_host` and `repeated`. activation: a key of `models.ACTIVATIONS`.
    steps_back: what goes back on the tape, see `tape.backward_steps`.
    """

    def __init__(
        self, image, seed, batch, device, width, layers, activation="sine",
        steps_back=backward_steps,
    ):  # fmt: skip
        self.device, self.seed, self.batch = device, seed, batch
        model = models.siren(layers, network.FIRST_OMEGA, activation)
        plan = steps_back(list(model.tape), "loss", model.parameters)
        self.written = write(
            f"A network of {layers} layers of {activation}", model.tape, "loss", model.parameters,
            keep=("colour",), plan=plan,
        )  # fmt: skip
        self.module = module_of(self.written, "siren written by a machine")
        shapes = network.layer_shapes(width, layers)
        begin = network.initial_parameters(seed, shapes)
        self.parameters = device.to_device(begin)
        self.gradients, self.m, self.v = (device.to_device(np.zeros_like(begin)) for _ in range(3))
        self.corrections = device.to_device(
            bias_corrections(PUBLISHED_RATES.beta1, PUBLISHED_RATES.beta2)
        )
        self.image = device.to_device(image)
        self.shapes = shapes
        given = {"positions": device.empty((batch, 2)), "target": device.empty((batch, COLOURS))}
        given |= views_of(self.parameters, shapes, "")
        given |= views_of(self.gradients, shapes, "grad_")
        self.arrays = arrays_for(model.tape, self.written, given, device.empty)
        self.numbers = step_numbers(device.to_device)
        self.step_work = self.new_step_work()

    def new_step_work(self):
        return self.device.repeated(self.launch_step, (self.parameters, self.m, self.v))

    def set_parameters(self, values):
        """values: (n,) float32, on the host. Gradients and Adam's averages stay."""
        self.parameters = self.device.to_device(values)
        self.arrays |= views_of(self.parameters, self.shapes, "")
        self.step_work = self.new_step_work()

    def begin_again(self, values):
        """As before the first step, with these parameters."""
        self.m, self.v = (self.device.to_device(np.zeros_like(values)) for _ in range(2))
        self.set_parameters(values)

    def train(self, step, learning_rate=network.LEARNING_RATE):
        """One step, the first is 1: draw a batch, forward, back, move every parameter."""
        self.numbers.set(step, learning_rate, self.device.launch)
        self.step_work()

    def launch_step(self, launch):
        """All launches of a step, the same in every step; see `kernels.siren.network.Siren`."""
        batch = self.arrays["positions"], self.arrays["target"]
        launch_random_pixels(self.image, self.seed, self.numbers.clock, *batch, launch)
        self.find_gradients(launch)
        launch_adam_weights_by_clock(
            *self.numbers, self.parameters, self.gradients, self.m, self.v, self.corrections,
            PUBLISHED_RATES, launch,
        )  # fmt: skip

    def find_gradients(self, launch):
        """Both passes for the batch that lies in the arrays; adds to the gradients."""
        run_forward(self.module, self.written, self.arrays, launch)
        run_backward(self.module, self.written, self.arrays, 1 / (self.batch * COLOURS), launch)

    def loss(self):
        """The mean squared error of the latest forward pass."""
        return float(self.device.to_host(self.arrays["loss"]).mean(dtype=np.float64))

    def paint(self, width, height):
        """The whole picture, (height, width, 3) float32 in (0, 1), at any size."""
        colours = np.empty((width * height, COLOURS), np.float32)
        for first in range(0, width * height, self.batch):
            launch_pixel_positions(
                first, width, height, self.arrays["positions"], self.device.launch
            )
            run_forward(self.module, self.written, self.arrays, self.device.launch)
            count = min(self.batch, width * height - first)
            colours[first : first + count] = self.device.to_host(self.arrays["colour"])[:count]
        return colours.reshape(height, width, COLOURS)


def views_of(flat, shapes, prefix):
    """name -> part of a flat array: of each layer the weights, then the biases as one row."""
    found, begin = {}, 0
    for layer, (fan_in, fan_out) in enumerate(shapes, 1):
        middle, end = begin + fan_in * fan_out, begin + (fan_in + 1) * fan_out
        found[f"{prefix}weights_{layer}"] = flat[begin:middle].reshape((fan_in, fan_out))
        found[f"{prefix}biases_{layer}"] = flat[middle:end].reshape((1, fan_out))
        begin = end
    return found
