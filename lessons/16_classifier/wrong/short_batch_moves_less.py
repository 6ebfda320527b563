"""The rate is made smaller for the mini-batch that is short."""
# caught by: epoch
# diagnosis: short batch moves less

from kernels.classifier.network import first_rows


def train_epoch(images, labels, losses, network, batch, learning_rate, launch):
    count = images.shape[0]
    for first in range(0, count, batch):
        last = min(first + batch, count)
        part = first_rows(network, last - first)
        training_step(
            images[first:last],
            labels[first:last],
            losses[first:last],
            part,
            learning_rate * (last - first) / batch,
            launch,
        )
