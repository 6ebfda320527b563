"""Layer 2 moves before delta goes back through its weights."""
# caught by: epoch
# diagnosis: weights moved too early

from kernels.classifier.column_sums import launch_column_sums
from kernels.classifier.gelu import launch_gelu_backward
from kernels.classifier.network import layers_of
from kernels.classifier.sgd import launch_sgd
from kernels.classifier.training import classify
from kernels.products.transposed import launch_product_nt, launch_product_tn


def training_step(images, labels, losses, network, learning_rate, launch):
    classify(images, labels, losses, network, launch)
    weights_1, bias_1, weights_2, bias_2 = layers_of(network.parameters, network)
    grad_1, grad_bias_1, grad_2, grad_bias_2 = layers_of(network.gradients, network)
    # layer 2 begins behind the weights and biases of layer 1
    split = grad_1.size + grad_bias_1.size

    launch_product_tn(network.hidden, network.delta, grad_2, launch=launch)
    launch_column_sums(network.delta, grad_bias_2, launch=launch)
    launch_sgd(network.parameters[split:], network.gradients[split:], learning_rate, launch=launch)

    launch_product_nt(network.delta, weights_2, network.delta_hidden, launch=launch)
    launch_gelu_backward(network.sums, bias_1, network.delta_hidden, launch=launch)
    launch_product_tn(images, network.delta_hidden, grad_1, launch=launch)
    launch_column_sums(network.delta_hidden, grad_bias_1, launch=launch)
    launch_sgd(network.parameters[:split], network.gradients[:split], learning_rate, launch=launch)
