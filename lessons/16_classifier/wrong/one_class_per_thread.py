"""A thread has one class, and nobody has the 33rd."""
# caught by: softmax
# diagnosis: one class per thread

import math

from numba import cuda, float32

from kernels.classifier.softmax import CLASS_THREADS, largest_of_block, sum_of_block


@cuda.jit
def softmax_cross_entropy(logits, bias, labels, probabilities, delta, losses):
    shared = cuda.shared.array(CLASS_THREADS, float32)
    row = cuda.blockIdx.x
    thread = cuda.threadIdx.x
    classes = logits.shape[1]

    largest = float32(-math.inf)
    for k in range(thread, min(thread + 1, classes)):
        largest = max(largest, logits[row, k] + bias[k])
    largest = largest_of_block(shared, largest)

    total = float32(0)
    for k in range(thread, min(thread + 1, classes)):
        total += math.exp(logits[row, k] + bias[k] - largest)
    total = sum_of_block(shared, total)

    label = labels[row]
    for k in range(thread, min(thread + 1, classes)):
        z = logits[row, k] + bias[k] - largest
        y = math.exp(z) / total
        probabilities[row, k] = y
        if k == label:
            delta[row, k] = y - float32(1)
            losses[row] = math.log(total) - z
        else:
            delta[row, k] = y
