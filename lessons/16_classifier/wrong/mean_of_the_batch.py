"""The rate is divided by the size of the batch once more."""
# caught by: epoch
# diagnosis: mean, not sum

from kernels.classifier.network import first_rows
from kernels.classifier.training import training_step


def train_epoch(images, labels, losses, network, batch, learning_rate, launch):
    for first in range(0, images.shape[0], batch):
        last = min(first + batch, images.shape[0])
        training_step(
            images[first:last], labels[first:last], losses[first:last],
            first_rows(network, last - first), learning_rate / (last - first), launch,
        )  # fmt: skip
