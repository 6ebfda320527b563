"""Each mini-batch is classified, and nothing learnt."""
# caught by: epoch
# diagnosis: not trained

from kernels.classifier.network import first_rows
from kernels.classifier.training import classify


def train_epoch(images, labels, losses, network, batch, learning_rate, launch):
    for first in range(0, images.shape[0], batch):
        last = min(first + batch, images.shape[0])
        classify(
            images[first:last],
            labels[first:last],
            losses[first:last],
            first_rows(network, last - first),
            launch,
        )
