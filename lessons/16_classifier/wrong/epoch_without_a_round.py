"""The loop over the mini-batches has no round."""
# caught by: epoch
# diagnosis: a loop that has no round

from kernels.classifier.network import first_rows


def train_epoch(images, labels, losses, network, batch, learning_rate, launch):
    for first in range(0, batch // images.shape[0]):
        last = min(first + batch, images.shape[0])
        training_step(
            images[first:last], labels[first:last], losses[first:last],
            first_rows(network, last - first), learning_rate, launch,
        )  # fmt: skip
