"""One mini-batch, and one epoch: every kernel once, in the order in which the data flows.

    images -> sums -> hidden -> logits -> delta -> gradients -> parameters

The idea: all images lie on the device, from the first step to the last. A mini-batch is a slice
of them: the same memory, from another row on. So nothing is copied while training runs, and the
host only says what comes next. The last slice of an epoch may be shorter, and is as good as any.

With `t` for the label as a row of zeros with a single 1, and `y` for the probabilities, the chain
rule from the loss back is

    delta          = y - t                                     softmax and cross entropy together
    grad_weights_2 = hidden^T @ delta            grad_bias_2 = the columns of delta, summed
    delta_hidden   = delta @ weights_2^T * gelu_slope(sums + bias_1)
    grad_weights_1 = images^T @ delta_hidden     grad_bias_1 = the columns of delta_hidden, summed

Source: LeCun, Bottou, Bengio, Haffner, "Gradient-based learning applied to document recognition",
1998.
"""

from kernels.classifier.column_sums import launch_column_sums
from kernels.classifier.gelu import launch_bias_gelu, launch_gelu_backward
from kernels.classifier.network import first_rows, layers_of
from kernels.classifier.sgd import launch_sgd
from kernels.classifier.softmax import launch_softmax_cross_entropy
from kernels.products.tiles import launch_product_registers
from kernels.products.transposed import launch_product_nt, launch_product_tn


def classify(images, labels, losses, network, launch):
    """What the network says of each image, and how wrong it is.

    images: (B, inputs) float32; labels: (B,) int32. network: `Network` with room for B samples.
    Fills its sums, hidden, logits, probabilities and delta, and losses (B,).
    """
    layers = layers_of(network.parameters, network)
    launch_product_registers(images, layers.weights_1, network.sums, launch=launch)
    launch_bias_gelu(network.sums, layers.bias_1, network.hidden, launch=launch)
    launch_product_registers(network.hidden, layers.weights_2, network.logits, launch=launch)
    launch_softmax_cross_entropy(
        network.logits, layers.bias_2, labels, network.probabilities, network.delta, losses,
        launch=launch,
    )  # fmt: skip


def training_step(images, labels, losses, network, learning_rate, launch):
    """Classify one mini-batch, and move every parameter against its gradient.

    As `classify`; then fills network.delta_hidden and network.gradients, and changes
    network.parameters. The gradients are sums over the batch, not means.
    """
    classify(images, labels, losses, network, launch)
    layers = layers_of(network.parameters, network)
    gradients = layers_of(network.gradients, network)
    launch_product_tn(network.hidden, network.delta, gradients.weights_2, launch=launch)
    launch_column_sums(network.delta, gradients.bias_2, launch=launch)
    launch_product_nt(network.delta, layers.weights_2, network.delta_hidden, launch=launch)
    launch_gelu_backward(network.sums, layers.bias_1, network.delta_hidden, launch=launch)
    launch_product_tn(images, network.delta_hidden, gradients.weights_1, launch=launch)
    launch_column_sums(network.delta_hidden, gradients.bias_1, launch=launch)
    launch_sgd(network.parameters, network.gradients, learning_rate, launch=launch)


def train_epoch(images, labels, losses, network, batch, learning_rate, launch):
    """One training step for each mini-batch: every sample once, in order.

    images: (n, inputs), labels: (n,), losses: (n,), resident on the device. batch: samples per
    mini-batch; the last one has what is left.
    """
    for first in range(0, images.shape[0], batch):
        last = min(first + batch, images.shape[0])
        training_step(
            images[first:last], labels[first:last], losses[first:last],
            first_rows(network, last - first), learning_rate, launch,
        )  # fmt: skip
