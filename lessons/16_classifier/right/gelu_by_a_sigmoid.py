"""1 + tanh(u) is twice a sigmoid: its exponential may be infinite. Products come in another order."""

import math

from numba import float32
from numba.extending import register_jitable

from kernels.classifier.gelu import CUBIC, ROOT_2_OVER_PI
from kernels.classifier.network import layers_of
from kernels.products.transposed import launch_product_nt, launch_product_tn


@register_jitable
def share(x):
    u = float32(ROOT_2_OVER_PI) * x * (float32(1) + float32(CUBIC) * x * x)
    return float32(1) / (float32(1) + math.exp(float32(-2) * u))


@register_jitable
def gelu(x):
    return x * share(x)


@register_jitable
def gelu_slope(x):
    s = share(x)
    two_u_slope = float32(2 * ROOT_2_OVER_PI) * (float32(1) + float32(3 * CUBIC) * x * x)
    return s + x * s * (float32(1) - s) * two_u_slope


def training_step(images, labels, losses, network, learning_rate, launch):
    classify(images, labels, losses, network, launch)
    values = layers_of(network.parameters, network)
    grads = layers_of(network.gradients, network)
    launch_product_nt(network.delta, values.weights_2, network.delta_hidden, launch=launch)
    launch_gelu_backward(network.sums, values.bias_1, network.delta_hidden, launch=launch)
    for delta, below, weights, bias in (
        (network.delta_hidden, images, grads.weights_1, grads.bias_1),
        (network.delta, network.hidden, grads.weights_2, grads.bias_2),
    ):
        launch_product_tn(below, delta, weights, launch=launch)
        launch_column_sums(delta, bias, launch=launch)
    launch_sgd(network.parameters, network.gradients, learning_rate, launch=launch)
