"""Softmax by one thread of each block: right, and 32 times the reads."""
# points: 9

import math

from numba import cuda, float32


@cuda.jit
def softmax_cross_entropy(logits, bias, labels, probabilities, delta, losses):
    sample = cuda.blockIdx.x
    if cuda.threadIdx.x > 0:
        return

    classes = logits.shape[1]
    label = labels[sample]
    largest = float32(-math.inf)
    for i in range(classes):
        largest = max(largest, logits[sample, i] + bias[i])
    total = float32(0)
    for i in range(classes):
        total += math.exp(logits[sample, i] + bias[i] - largest)
    for i in range(classes):
        probability = math.exp(logits[sample, i] + bias[i] - largest) / total
        probabilities[sample, i] = probability
        delta[sample, i] = probability - float32(1) if i == label else probability
    losses[sample] = math.log(total) - (logits[sample, label] + bias[label] - largest)
