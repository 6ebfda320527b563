"""What learns a picture with few launches: steps that count themselves, weights moved by sums.

    parameters, blocks' sums of gradients  ->  parameters, and their turned copy

The idea: the host names a step only if it is not the next one. All else that a step needs lies
where its kernels run, so a whole step is one replay of a graph.
"""

import numpy as np

from kernels.config import PUBLISHED_RATES
from kernels.fused.few_samples import launch_move_by_adam, turned_places
from kernels.siren import network
from kernels.siren.positions import launch_random_pixels


class MovedBySums:
    """Beside a `network.PictureLearner`: its `find_sums(launch)` writes sums (blocks, n) of the
    gradients, and counts the clock. matrices: (rows, columns) of what the parameters hold.
    """

    def prepare(self, matrices, blocks, device):
        """Before the learner itself is begun. blocks: rows of the sums."""
        places = turned_places(matrices)
        self.host_places = places
        self.places = device.to_device(places)
        self.sums = device.empty((blocks, places.size))

    def new_step_work(self):
        turned = np.empty(self.host_places.size, np.float32)
        turned[self.host_places] = self.device.to_host(self.parameters)
        self.turned = self.device.to_device(turned)
        self.expected = None  # the step and its rate that the clock shows
        proof = self.parameters, self.m, self.v, self.turned, self.numbers.clock
        return self.device.repeated(self.launch_step, proof)

    def train(self, step, learning_rate=network.LEARNING_RATE):
        if self.expected != (step, learning_rate):
            self.numbers.set(step, learning_rate, self.device.launch)
        self.step = step
        self.step_work()
        self.expected = step + 1, learning_rate

    def launch_step(self, launch):
        clock, rates = self.numbers
        launch_random_pixels(self.image, self.seed, clock, *self.drawn_batch(), launch)
        self.find_sums(launch)
        launch_move_by_adam(
            clock, rates, self.sums, self.parameters, self.turned, self.places, self.m, self.v,
            self.corrections, PUBLISHED_RATES, launch=launch,
        )  # fmt: skip
