"""One thread per sample, one thread per strip, doubles: right numbers alone."""
# points: 7

import math

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.classifier.column_sums import STRIP_COLUMNS
from kernels.classifier.gelu import CUBIC, ROOT_2_OVER_PI


@register_jitable
def gelu(x):
    return 0.5 * x * (1 + math.tanh(ROOT_2_OVER_PI * (x + CUBIC * x * x * x)))


@cuda.jit
def softmax_cross_entropy(logits, bias, labels, probabilities, delta, losses):
    sample = cuda.blockIdx.x
    if cuda.threadIdx.x > 0:
        return

    label = labels[sample]
    largest = logits[sample, 0] + bias[0]
    for i in range(logits.shape[1]):
        largest = max(largest, logits[sample, i] + bias[i])
    total = 0.0
    for i in range(logits.shape[1]):
        total += math.exp(logits[sample, i] + bias[i] - largest)
    for i in range(logits.shape[1]):
        probabilities[sample, i] = math.exp(logits[sample, i] + bias[i] - largest) / total
        delta[sample, i] = probabilities[sample, i] - (1 if i == label else 0)
    losses[sample] = math.log(total) + largest - logits[sample, label] - bias[label]


@cuda.jit
def column_sums(values, sums):
    if cuda.threadIdx.x > 0 or cuda.threadIdx.y > 0:
        return

    first = cuda.blockIdx.x * STRIP_COLUMNS
    for column in range(first, min(first + STRIP_COLUMNS, values.shape[1])):
        total = float32(0)
        for row in range(values.shape[0]):
            total += values[row, column]
        sums[column] = total
