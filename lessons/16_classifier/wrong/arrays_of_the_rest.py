"""The network is cut once, for the short mini-batch, and every mini-batch gets that."""
# caught by: epoch
# diagnosis: Of each mini-batch only the first

from kernels.classifier.network import first_rows
from kernels.classifier.training import training_step


def train_epoch(images, labels, losses, network, batch, learning_rate, launch):
    count = images.shape[0]
    room = first_rows(network, count % batch or batch)
    for first in range(0, count, batch):
        last = min(first + batch, count)
        training_step(
            images[first:last], labels[first:last], losses[first:last], room, learning_rate, launch
        )
