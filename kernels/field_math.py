"""The mathematics of one sample, one value, one cell: written once, used by every backend.

Each function is plain Python marked `register_jitable`. Called from a `@cuda.jit` kernel it
compiles for the GPU, called from an `@njit` function it compiles for the CPU, and called from
Python (or from a simulator) it simply runs. So the lake on a laptop and the lake on a GPU come
from the same lines.

Two habits you will see in every kernel of this course:

* `float32(0.5)`, never a bare `0.5`. A bare literal is a double, and `x * 0.5` would then be
  double arithmetic, which most GPUs do at 1/32 of the speed (or worse).
* no branches where a formula will do: a branch-free function can be applied to sixteen samples
  by one CPU vector instruction, and lets the 32 threads of a GPU warp stay together.
"""

import math

from numba import float32, int32, uint64
from numba.extending import register_jitable

# ---------------------------------------------------------------- random numbers

LOW_32_BITS = 0xFFFFFFFF
PHILOX_MULTIPLIER_A = 0xD2511F53
PHILOX_MULTIPLIER_B = 0xCD9E8D57
PHILOX_WEYL_A = 0x9E3779B9
PHILOX_WEYL_B = 0xBB67AE85
PHILOX_ROUNDS = 10


# Inlined by force: otherwise the CPU compiler leaves the ten rounds as a function call, and a loop
# that contains a call is not vectorised (five times slower).
@register_jitable(forceinline=True)
def philox4x32(counter_0, counter_1, counter_2, counter_3, key_0, key_1):
    """Turn a 128-bit counter and a 64-bit key into four random 32-bit words (Philox4x32-10).

    A counter-based generator has no state to carry from one number to the next: the random
    number *is* a function of its position. Every thread can therefore draw its own numbers
    without talking to any other, and drawing them again gives the same ones.

    All arguments and results are `uint64` that hold 32-bit values. A 64-bit type is used because
    the product of two 32-bit numbers needs 64 bits, and because Numba and NumPy disagree on what
    `uint32 * uint32` means.

    Source: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.
    """
    low_32_bits = uint64(LOW_32_BITS)
    half = uint64(32)
    for _ in range(PHILOX_ROUNDS):
        product_a = uint64(PHILOX_MULTIPLIER_A) * counter_0
        product_b = uint64(PHILOX_MULTIPLIER_B) * counter_2
        counter_0 = (product_b >> half) ^ counter_1 ^ key_0
        counter_1 = product_b & low_32_bits
        counter_2 = (product_a >> half) ^ counter_3 ^ key_1
        counter_3 = product_a & low_32_bits
        key_0 = (key_0 + uint64(PHILOX_WEYL_A)) & low_32_bits
        key_1 = (key_1 + uint64(PHILOX_WEYL_B)) & low_32_bits
    return counter_0, counter_1, counter_2, counter_3


@register_jitable(forceinline=True)
def random_uv(sample, step, seed):
    """Return the random coordinate (u, v) of one sample of one step, both in [0, 1).

    `sample`, `step`, `seed`: uint64. A pure function of the three, so every backend draws the
    same batch bit for bit, and a resumed run draws what an uninterrupted one would have drawn.
    """
    low_32_bits = uint64(LOW_32_BITS)
    half = uint64(32)
    word_0, word_1, _, _ = philox4x32(
        sample, step & low_32_bits, step >> half, uint64(0), seed & low_32_bits, seed >> half
    )
    # 24 bits fill a float32 mantissa exactly: no value is rounded up to 1.0.
    unit = float32(2.0**-24)
    return float32(word_0 >> uint64(8)) * unit, float32(word_1 >> uint64(8)) * unit


# ---------------------------------------------------------------- textures


@register_jitable
def neighbours(coordinate, size):
    """Find the two texels that a coordinate lies between, along one axis of `size` texels.

    Texel i covers [i / size, (i + 1) / size) and has its centre at (i + 0.5) / size.
    Returns (low, high, fraction): the two indices, clamped to the texture, and how far the
    coordinate is from the centre of `low` toward the centre of `high`, in [0, 1).
    """
    position = coordinate * float32(size) - float32(0.5)
    floor = int32(math.floor(position))
    fraction = position - float32(floor)
    return max(floor, int32(0)), min(floor + int32(1), int32(size - 1)), fraction


@register_jitable
def corner_weights(x_fraction, y_fraction):
    """Weights of the corners (top left, top right, bottom left, bottom right); they sum to 1."""
    x_rest = float32(1) - x_fraction
    y_rest = float32(1) - y_fraction
    return x_rest * y_rest, x_fraction * y_rest, x_rest * y_fraction, x_fraction * y_fraction


@register_jitable
def bilinear(texture, u, v):
    """Sample a (height, width, 3) float32 texture at (u, v); edges clamp. Returns three values."""
    left, right, x_fraction = neighbours(u, texture.shape[1])
    top, bottom, y_fraction = neighbours(v, texture.shape[0])
    w0, w1, w2, w3 = corner_weights(x_fraction, y_fraction)
    return (
        blend(texture, top, bottom, left, right, w0, w1, w2, w3, 0),
        blend(texture, top, bottom, left, right, w0, w1, w2, w3, 1),
        blend(texture, top, bottom, left, right, w0, w1, w2, w3, 2),
    )


@register_jitable
def blend(texture, top, bottom, left, right, w0, w1, w2, w3, channel):
    """Weighted sum of one channel of the four corner texels."""
    return (
        w0 * texture[top, left, channel]
        + w1 * texture[top, right, channel]
        + w2 * texture[bottom, left, channel]
        + w3 * texture[bottom, right, channel]
    )


@register_jitable
def pixel_centre(pixel, width, height):
    """The coordinate (u, v) of the centre of pixel number `pixel`, counted row by row.

    Pixel numbers past the last one give a coordinate in the last row.
    """
    row = min(pixel // width, height - 1)
    u = (float32(pixel % width) + float32(0.5)) / float32(width)
    v = (float32(row) + float32(0.5)) / float32(height)
    return u, v


# ---------------------------------------------------------------- activations

TURNS_PER_RADIAN = 1 / (2 * math.pi)
GELU_SCALE = math.sqrt(2 / math.pi)
GELU_CUBE = 0.044715


@register_jitable
def sine_of_turns(turns):
    """sin(2 pi turns), to within 3e-7, for |turns| up to a few hundred.

    Measuring angles in turns makes range reduction one subtraction: only the distance to the
    nearest whole turn matters. On [-0.5, 0.5] the sine is then a polynomial times factors that
    put its zeros exactly at 0 and at half a turn. The coefficients are a least-maximum-error fit
    (Lawson's iteration on Chebyshev nodes). `math.sin` would do the same per sample on a GPU, but
    on a CPU it is a function call that stops the loop around it from being vectorised.
    """
    r = turns - float32(math.floor(turns + float32(0.5)))
    s = r * r
    series = float32(12.233301162719727)
    series = series * s + float32(-38.12319564819336)
    series = series * s + float32(67.04389953613281)
    series = series * s + float32(-64.83467864990234)
    series = series * s + float32(25.13273048400879)
    return r * (float32(0.25) - s) * series


@register_jitable
def sine(x):
    """sin(x), x in radians, float32: to within 3e-6 for |x| up to 30, 1e-4 up to 1,000.

    What is lost grows with the angle: from 1,000 to the next float32 it is 6e-5.
    """
    return sine_of_turns(x * float32(TURNS_PER_RADIAN))


@register_jitable
def cosine(x):
    """cos(x), as `sine`: a sine that started a quarter turn earlier."""
    return sine_of_turns(x * float32(TURNS_PER_RADIAN) + float32(0.25))


@register_jitable
def relu(x):
    """max(x, 0), the rectified linear unit; NaN stays NaN so that trouble is not hidden."""
    return float32(0) if x < float32(0) else x


@register_jitable
def sigmoid(x):
    """1 / (1 + exp(-x)), to within 2e-7: squashes any number into the range of a colour channel.

    A ratio of two polynomials in x^2 (fitted like `sine_of_turns`), so that this loop vectorises
    too. Beyond |x| = 16 it is that of 16, about 1e-7 from 0 or 1. NaN stays NaN: both comparisons
    are false for it.
    """
    x = float32(16) if x > float32(16) else x
    x = float32(-16) if x < float32(-16) else x
    s = x * x
    numerator = float32(1.4708696066678684e-11)
    numerator = numerator * s + float32(8.505144677428689e-08)
    numerator = numerator * s + float32(5.568986671278253e-05)
    numerator = numerator * s + float32(0.008398867212235928)
    numerator = numerator * s + float32(0.2499999850988388)
    denominator = float32(3.3021949619183033e-09)
    denominator = denominator * s + float32(5.3112062232685275e-06)
    denominator = denominator * s + float32(0.0016334998654201627)
    denominator = denominator * s + float32(0.11692877113819122)
    denominator = denominator * s + float32(1)
    return float32(0.5) + x * numerator / denominator


@register_jitable
def gelu(x):
    """x / 2 * (1 + tanh(GELU_SCALE * (x + GELU_CUBE * x^3))), all of it float32.

    That is about x times the probability that a normal random number is below x. GELU_SCALE and
    GELU_CUBE are Python's floats: doubles to Numba.
    """
    # The tanh form. The exact one, x / 2 * (1 + erf(x / sqrt(2))), is at most 5e-4 away.
    # Source: Hendrycks and Gimpel, "Gaussian Error Linear Units (GELUs)", 2016.
    inside = float32(GELU_SCALE) * (x + float32(GELU_CUBE) * x * x * x)
    return float32(0.5) * x * (float32(1) + math.tanh(inside))


# ---------------------------------------------------------------- optimiser


@register_jitable
def adam_step(parameter, gradient, m, v, correction_m, correction_v, learning_rate, rates):
    """One Adam update of one parameter. Returns the new (parameter, m, v), all float32.

    `m` and `v` are running averages of the gradient and of its square. They start at zero, so
    early on they are too small by the factor 1 - beta^t; `correction_m` = 1 / (1 - beta1^t) and
    `correction_v` = 1 / (1 - beta2^t) undo that. `rates` holds beta1, beta2 and epsilon.

    Source: Kingma and Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015, algorithm 1.
    """
    m = rates.beta1 * m + (float32(1) - rates.beta1) * gradient
    v = rates.beta2 * v + (float32(1) - rates.beta2) * gradient * gradient
    unbiased_m = m * correction_m
    unbiased_v = v * correction_v
    step = learning_rate * unbiased_m / (math.sqrt(unbiased_v) + rates.epsilon)
    return parameter - step, m, v


# ---------------------------------------------------------------- whole images


@register_jitable
def luminance(red, green, blue):
    """Brightness of a colour as the eye weighs it (Rec. ITU-R BT.709 luma coefficients)."""
    return float32(0.2126) * red + float32(0.7152) * green + float32(0.0722) * blue


@register_jitable
def overlap(cell, cells, texel, texels):
    """Length of the overlap of cell `cell` of `cells` and texel `texel` of `texels`, in texels.

    Both divide the same axis evenly. Computed in whole numbers (units of 1 / cells of a texel)
    until the last division, so that rounding neither adds nor loses a thin overlap.
    """
    begin = max(cell * texels, texel * cells)
    end = min((cell + 1) * texels, (texel + 1) * cells)
    return float32(end - begin) / float32(cells)


@register_jitable
def area_average(image, column, row, columns, rows, channel):
    """Mean of one image channel over cell (column, row) of a columns x rows division.

    A pixel that the cell covers only in part counts in proportion, so no size has to be a multiple
    of another.
    """
    height, width, _ = image.shape
    total = float32(0)
    for y in range(row * height // rows, ((row + 1) * height - 1) // rows + 1):
        for x in range(column * width // columns, ((column + 1) * width - 1) // columns + 1):
            weight = overlap(column, columns, x, width) * overlap(row, rows, y, height)
            total += weight * image[y, x, channel]
    return total / (float32(width) / float32(columns) * (float32(height) / float32(rows)))
