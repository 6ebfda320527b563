"""What is left over comes first, and the full mini-batches after it."""
# caught by: epoch
# diagnosis: other mini-batches

from kernels.classifier.network import first_rows


def train_epoch(images, labels, losses, network, batch, learning_rate, launch):
    first, last = 0, images.shape[0] % batch
    while last <= images.shape[0]:
        if last > first:
            training_step(
                images[first:last],
                labels[first:last],
                losses[first:last],
                first_rows(network, last - first),
                learning_rate,
                launch,
            )
        first, last = last, last + batch
