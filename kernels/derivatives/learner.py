"""A SIREN whose passes are written by a machine, and which learns a picture with them.

    image, seed, sizes  ->  parameters; the whole picture

The idea: nothing of `kernels/siren` computes here but what draws the batches. The tape is the
network, and both of its passes come from the writer. The parameters lie as those of `kernels/siren`
do, and begin with the same values: so both can be compared, number by number.
"""

import numpy as np

from kernels.config import COLOURS
from kernels.derivatives import models
from kernels.derivatives.tape import backward_steps
from kernels.derivatives.writer import write
from kernels.derivatives.written import arrays_for, module_of, run_backward, run_forward
from kernels.siren import network
from kernels.siren.positions import launch_pixel_positions


class WrittenSiren(network.PictureLearner):
    """A network in training on a picture, as `network.PictureLearner`.

    layers: of sines, each `width` wide. activation: a key of `models.ACTIVATIONS`. steps_back: what
    goes back on the tape, see `tape.backward_steps`.
    """

    def __init__(
        self, image, seed, batch, device, width, layers, activation="sine",
        steps_back=backward_steps,
    ):  # fmt: skip
        model = models.siren(layers, network.FIRST_OMEGA, activation)
        plan = steps_back(list(model.tape), "loss", model.parameters)
        self.shapes = network.layer_shapes(width, layers)
        self.batch = self.painted_at_once = batch
        title = f"A network of {layers} layers of {activation}"
        self.written = self.write_kernels(title, model, plan, device)
        self.module = module_of(self.written, "siren written by a machine")
        super().__init__(image, seed, network.initial_parameters(seed, self.shapes), device)
        given = {"positions": device.empty((batch, 2)), "target": device.empty((batch, COLOURS))}
        given |= self.arrays_of_parameters()
        self.arrays = arrays_for(model.tape, self.written, given, device.empty)

    def write_kernels(self, title, model, plan, device):
        """What has a source, and the names of its functions' arguments; see `writer.Written`."""
        return write(title, model.tape, "loss", model.parameters, keep=("colour",), plan=plan)

    def arrays_of_parameters(self):
        """name -> array, of the parameters and of their gradients."""
        return views_of(self.parameters, self.shapes, "") | views_of(
            self.gradients, self.shapes, "grad_"
        )

    def set_parameters(self, values):
        """values: (n,) float32, on the host. Gradients and Adam's averages stay."""
        self.parameters = self.device.to_device(values)
        self.step_work = self.new_step_work()
        self.arrays |= self.arrays_of_parameters()

    def begin_again(self, values):
        """As before the first step, with these parameters."""
        self.m, self.v = (self.device.to_device(np.zeros_like(values)) for _ in range(2))
        self.set_parameters(values)

    def drawn_batch(self):
        return self.arrays["positions"], self.arrays["target"]

    def find_gradients(self, launch):
        """Both passes for the batch that lies in the arrays; adds to the gradients."""
        run_forward(self.module, self.written, self.arrays, launch)
        run_backward(self.module, self.written, self.arrays, 1 / (self.batch * COLOURS), launch)

    def loss(self):
        """The mean squared error of the latest forward pass."""
        return float(self.device.to_host(self.arrays["loss"]).mean(dtype=np.float64))

    def paint_pixels(self, first, width, height):
        launch = self.device.launch
        launch_pixel_positions(first, width, height, self.arrays["positions"], launch)
        run_forward(self.module, self.written, self.arrays, launch)
        return self.device.to_host(self.arrays["colour"])


def views_of(flat, shapes, prefix):
    """name -> part of a flat array: of each layer the weights, then the biases as one row."""
    found, begin = {}, 0
    for layer, (fan_in, fan_out) in enumerate(shapes, 1):
        middle, end = begin + fan_in * fan_out, begin + (fan_in + 1) * fan_out
        found[f"{prefix}weights_{layer}"] = flat[begin:middle].reshape((fan_in, fan_out))
        found[f"{prefix}biases_{layer}"] = flat[middle:end].reshape((1, fan_out))
        begin = end
    return found
