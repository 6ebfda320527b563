"""The second product takes sums in place of hidden."""
# caught by: epoch
# diagnosis: network.logits

from kernels.classifier.network import layers_of
from kernels.products.tiles import launch_product_registers


def classify(images, labels, losses, network, launch):
    layers = layers_of(network.parameters, network)
    launch_product_registers(images, layers.weights_1, network.sums, launch=launch)
    launch_bias_gelu(network.sums, layers.bias_1, network.hidden, launch=launch)
    launch_product_registers(network.sums, layers.weights_2, network.logits, launch=launch)
    launch_softmax_cross_entropy(
        network.logits, layers.bias_2, labels, network.probabilities, network.delta, losses,
        launch=launch,
    )  # fmt: skip
