"""Lesson 15's SIREN with the fused kernels that `fused_writer` writes.

image, seed, sizes  ->  parameters; the whole picture
"""

from kernels.config import COLOURS
from kernels.derivatives import learner
from kernels.derivatives.fused_writer import write_fused
from kernels.derivatives.written import run_backward
from kernels.fused.tape_steps import count_step, launch_add_sums
from kernels.siren.fused import MovedBySums


class FusedWrittenSiren(MovedBySums, learner.WrittenSiren):
    """`learner.WrittenSiren`, whose steps are four launches: two of them are written by machine.

    Raises `fused_writer.Unfit` for a network that cannot be written so.
    """

    def write_kernels(self, title, model, plan, device):
        shapes = {"positions": (self.batch, 2), "target": (self.batch, COLOURS)}
        for layer, (fan_in, fan_out) in enumerate(self.shapes, 1):
            shapes |= {f"weights_{layer}": (fan_in, fan_out), f"biases_{layer}": (1, fan_out)}
        form = write_fused(
            title, model.tape, "loss", model.parameters, shapes, keep=("colour",), plan=plan
        )
        self.prepare([shape for _, shape in form.places.values()], form.blocks(self.batch), device)
        return form

    def arrays_of_parameters(self):
        own = {"parameters": self.parameters, "turned": self.turned, "sums": self.sums}
        return super().arrays_of_parameters() | own

    def write_sums(self, launch):
        """Both passes for the batch that lies in the arrays."""
        run_backward(self.module, self.written, self.arrays, 1 / (self.batch * COLOURS), launch)

    def find_sums(self, launch):
        self.write_sums(launch)
        launch(count_step, 1, 1, self.numbers.clock)

    def find_gradients(self, launch):
        self.write_sums(launch)
        launch_add_sums(self.sums, self.gradients, launch)
