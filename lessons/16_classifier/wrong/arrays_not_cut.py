"""The short mini-batch gets arrays for a whole one."""
# caught by: epoch
# diagnosis: what is this function called with

from kernels.classifier.training import training_step


def train_epoch(images, labels, losses, network, batch, learning_rate, launch):
    for first in range(0, images.shape[0], batch):
        last = min(first + batch, images.shape[0])
        training_step(
            images[first:last], labels[first:last], losses[first:last],
            network, learning_rate, launch,
        )  # fmt: skip
