"""Each exponential is computed once, and kept in probabilities meanwhile."""

import math

from numba import cuda, float32

from kernels.classifier.softmax import CLASS_THREADS, largest_of_block, sum_of_block


@cuda.jit
def softmax_cross_entropy(logits, bias, labels, probabilities, delta, losses):
    shared = cuda.shared.array(CLASS_THREADS, float32)
    sample = cuda.blockIdx.x
    thread = cuda.threadIdx.x
    classes = logits.shape[1]

    largest = float32(-math.inf)
    for i in range(thread, classes, CLASS_THREADS):
        largest = max(largest, logits[sample, i] + bias[i])
    largest = largest_of_block(shared, largest)

    total = float32(0)
    for i in range(thread, classes, CLASS_THREADS):
        z = logits[sample, i] + bias[i] - largest
        if i == labels[sample]:
            losses[sample] = -z
        probabilities[sample, i] = math.exp(z)
        total += probabilities[sample, i]
    total = sum_of_block(shared, total)

    for i in range(thread, classes, CLASS_THREADS):
        probabilities[sample, i] /= total
        delta[sample, i] = probabilities[sample, i]
        if i == labels[sample]:
            delta[sample, i] -= float32(1)
            losses[sample] += math.log(total)
