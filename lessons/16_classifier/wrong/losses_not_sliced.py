"""Every step writes its losses to the first places."""
# caught by: epoch
# diagnosis: losses in the first places

from kernels.classifier.network import first_rows
from kernels.classifier.training import training_step


def train_epoch(images, labels, losses, network, batch, learning_rate, launch):
    for first in range(0, images.shape[0], batch):
        last = min(first + batch, images.shape[0])
        training_step(
            images[first:last], labels[first:last], losses[: last - first],
            first_rows(network, last - first), learning_rate, launch,
        )  # fmt: skip
