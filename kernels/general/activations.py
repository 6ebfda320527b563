"""What a unit does with its sum: the activations one may choose, each with its slope.

    a sum (float32), the activation's number  ->  (value, slope), both float32

The idea: going back through an activation means to multiply by its slope. A ReLU's slope can be
told from its value, a sine's cannot. So the forward pass computes both at once, while it has the
sum.

Sources: Sitzmann et al., "Implicit Neural Representations with Periodic Activation Functions",
NeurIPS 2020 (sine); Hendrycks and Gimpel, "Gaussian Error Linear Units (GELUs)", 2016.
"""

from numba import float32
from numba.extending import register_jitable

from kernels.field_math import GELU_CUBE, GELU_SCALE, cosine, relu, sigmoid, sine

RELU, SINE, GELU, NONE, SIGMOID = range(5)
NUMBERS = {"relu": RELU, "sine": SINE, "gelu": GELU, "none": NONE, "sigmoid": SIGMOID}


@register_jitable
def relu_and_slope(x):
    """max(x, 0), whose slope at 0 is taken to be 0."""
    return relu(x), float32(1) if x > float32(0) else float32(0)


@register_jitable
def sine_and_slope(x):
    """sin(x) and cos(x), x in radians."""
    return sine(x), cosine(x)


@register_jitable
def gelu_and_slope(x):
    """GELU, x times about the probability that a normal number is below x: the tanh form.

    Not `field_math.gelu`: (1 + tanh(z / 2)) / 2 is sigmoid(z), and only our sigmoid, unlike tanh,
    becomes vector instructions on a CPU.
    """
    z = float32(2 * GELU_SCALE) * (x + float32(GELU_CUBE) * x * x * x)
    share = sigmoid(z)
    # `sigmoid` stops 1e-7 before 0 and 1. Times x and x^2 that would be a slope of thousands.
    share = float32(0) if z < float32(-16) else share
    share = float32(1) if z > float32(16) else share
    inner_slope = float32(2 * GELU_SCALE) * (float32(1) + float32(3 * GELU_CUBE) * x * x)
    return x * share, share + x * share * (float32(1) - share) * inner_slope


@register_jitable
def sigmoid_and_slope(x):
    """1 / (1 + exp(-x)), and its slope, which is at most a quarter."""
    y = sigmoid(x)
    return y, y * (float32(1) - y)


@register_jitable
def value_and_slope(activation, x):
    """The activation with this number, and its derivative, at x."""
    if activation == RELU:
        return relu_and_slope(x)
    if activation == SINE:
        return sine_and_slope(x)
    if activation == GELU:
        return gelu_and_slope(x)
    if activation == SIGMOID:
        return sigmoid_and_slope(x)
    return x, float32(1)
