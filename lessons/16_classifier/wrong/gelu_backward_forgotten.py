"""delta goes back as if there were no activation."""
# caught by: epoch
# diagnosis: before the slope of GELU

from kernels.classifier.column_sums import launch_column_sums
from kernels.classifier.network import layers_of
from kernels.classifier.sgd import launch_sgd
from kernels.classifier.training import classify
from kernels.products.transposed import launch_product_nt, launch_product_tn


def training_step(images, labels, losses, network, learning_rate, launch):
    classify(images, labels, losses, network, launch)
    layers = layers_of(network.parameters, network)
    gradients = layers_of(network.gradients, network)
    launch_product_tn(network.hidden, network.delta, gradients.weights_2, launch=launch)
    launch_column_sums(network.delta, gradients.bias_2, launch=launch)
    launch_product_nt(network.delta, layers.weights_2, network.delta_hidden, launch=launch)
    launch_product_tn(images, network.delta_hidden, gradients.weights_1, launch=launch)
    launch_column_sums(network.delta_hidden, gradients.bias_1, launch=launch)
    launch_sgd(network.parameters, network.gradients, learning_rate, launch=launch)
