"""Every step has the first images, and the labels of others."""
# caught by: epoch
# diagnosis: same images in every step

from kernels.classifier.network import first_rows
from kernels.classifier.training import training_step


def train_epoch(images, labels, losses, network, batch, learning_rate, launch):
    for first in range(0, images.shape[0], batch):
        last = min(first + batch, images.shape[0])
        training_step(
            images[: last - first], labels[first:last], losses[first:last],
            first_rows(network, last - first), learning_rate, launch,
        )  # fmt: skip
