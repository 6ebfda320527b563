"""The samples are cut into even slices, and not into mini-batches of `batch` and a rest."""
# caught by: epoch
# diagnosis: other mini-batches

import numpy as np

from kernels.classifier.network import first_rows


def train_epoch(images, labels, losses, network, batch, learning_rate, launch):
    n_samples = images.shape[0]
    n_batches = -(-n_samples // batch)
    for rows in np.array_split(np.arange(n_samples), n_batches):
        start, stop = int(rows[0]), int(rows[-1]) + 1
        part = first_rows(network, stop - start)
        training_step(
            images[start:stop], labels[start:stop], losses[start:stop], part, learning_rate, launch
        )
