"""The epoch as a while loop, the step in another order."""

from kernels.classifier.column_sums import launch_column_sums
from kernels.classifier.gelu import launch_gelu_backward
from kernels.classifier.network import first_rows, layers_of
from kernels.classifier.sgd import launch_sgd
from kernels.classifier.training import classify
from kernels.products.transposed import launch_product_nt, launch_product_tn


def training_step(images, labels, losses, network, learning_rate, launch):
    classify(images, labels, losses, network, launch)
    weights_1, bias_1, weights_2, bias_2 = layers_of(network.parameters, network)
    slopes_1, slope_1, slopes_2, slope_2 = layers_of(network.gradients, network)
    launch_product_nt(network.delta, weights_2, network.delta_hidden, launch=launch)
    launch_gelu_backward(network.sums, bias_1, network.delta_hidden, launch=launch)
    for inputs, delta, slopes, slope in (
        (images, network.delta_hidden, slopes_1, slope_1),
        (network.hidden, network.delta, slopes_2, slope_2),
    ):
        launch_column_sums(delta, slope, launch=launch)
        launch_product_tn(inputs, delta, slopes, launch=launch)
    launch_sgd(network.parameters, network.gradients, learning_rate, launch=launch)


def train_epoch(images, labels, losses, network, batch, learning_rate, launch):
    first = 0
    while first < images.shape[0]:
        part = slice(first, min(first + batch, images.shape[0]))
        short = first_rows(network, part.stop - part.start)
        training_step(images[part], labels[part], losses[part], short, learning_rate, launch)
        first += batch
