"""The labels are not sliced: every step has the first ones."""
# caught by: epoch
# diagnosis: same labels in every step

from kernels.classifier.network import first_rows
from kernels.classifier.training import training_step


def train_epoch(images, labels, losses, network, batch, learning_rate, launch):
    for first in range(0, images.shape[0], batch):
        last = min(first + batch, images.shape[0])
        training_step(
            images[first:last], labels[: last - first], losses[first:last],
            first_rows(network, last - first), learning_rate, launch,
        )  # fmt: skip
