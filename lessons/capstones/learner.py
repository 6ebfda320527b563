"""A network that learns which class an image is of: epochs of training, and what it then says."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kernels.files.plot import Measure
from lessons.capstones.device import Device, DeviceArray

ACCURACY = Measure(
    "accuracy", "of held-out images, in %", "{:.1f} %",
    loss="cross entropy of the training images, in each epoch",
)  # fmt: skip


class Part(NamedTuple):
    """images (n, ...) float32 in [0, 1], labels (n,) int32, losses (n,) float32; on the device."""

    images: DeviceArray
    labels: DeviceArray
    losses: DeviceArray

    def rows(self, first: int, count: int) -> "Part":
        return Part(*(array[first : first + count] for array in self))


class Functions(NamedTuple):
    """What a lesson's network is trained and asked with."""

    train_epoch: Callable[..., None]  # (*part, network, batch, rate, launch)
    classify: Callable[..., None]  # (*part, network, launch); fills network.probabilities
    first_rows: Callable[..., Any]  # (network, count): the same network for so many images


class Learner:
    """A network in training, and the images that it is trained with.

    network: on the device, for mini-batches of `batch` images. rate: for the mean of a mini-batch's
    gradients. images, labels: see `Part`, on the host.
    """

    def __init__(
        self,
        device: Device,
        functions: Functions,
        network: Any,
        batch: int,
        rate: float,
        images: np.ndarray,
        labels: np.ndarray,
    ) -> None:
        self.device, self.functions = device, functions
        self.network, self.batch = network, batch
        self.training = self.part(images, labels)
        # All launches of an epoch are the same in every epoch, and so can be recorded.
        self.epoch = device.repeated(
            lambda launch: self.train(self.training, rate / batch, launch),
            (network.parameters, self.training.losses),
        )

    def part(self, images: np.ndarray, labels: np.ndarray) -> Part:
        to_device = self.device.to_device
        return Part(to_device(images), to_device(labels), self.device.empty(labels.shape))

    def compile(self) -> None:
        """Run every kernel once, with a rate of 0."""
        self.train(self.training.rows(0, self.batch), 0.0, self.device.launch)

    def train(self, part: Part, rate: float, launch: Callable[..., None]) -> None:
        """rate: for the sum of a mini-batch's gradients."""
        self.functions.train_epoch(*part, self.network, self.batch, rate, launch)

    def loss(self) -> float:
        """The mean of the last epoch."""
        return float(self.device.to_host(self.training.losses).mean())

    def probabilities(self, part: Part) -> np.ndarray:
        """What the network says of each image: (n, classes) float32, on the host."""
        found = []
        for first in range(0, part.labels.shape[0], self.batch):
            few = part.rows(first, self.batch)
            network = self.functions.first_rows(self.network, few.labels.shape[0])
            self.functions.classify(*few, network, self.device.launch)
            found.append(self.device.to_host(network.probabilities))
        return np.concatenate(found)

    def accuracy(self, part: Part) -> float:
        """In percent."""
        right = self.probabilities(part).argmax(axis=1) == self.device.to_host(part.labels)
        return 100 * int(right.sum()) / len(right)
