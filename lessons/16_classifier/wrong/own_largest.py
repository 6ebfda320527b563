"""Each thread subtracts the largest of its own classes."""
# caught by: softmax
# diagnosis: each thread its own largest

import math

from numba import cuda, float32

from kernels.classifier.softmax import CLASS_THREADS, sum_of_block


@cuda.jit
def softmax_cross_entropy(logits, bias, labels, probabilities, delta, losses):
    shared = cuda.shared.array(CLASS_THREADS, float32)
    row = cuda.blockIdx.x
    thread = cuda.threadIdx.x
    classes = logits.shape[1]

    largest = float32(-math.inf)
    for k in range(thread, classes, CLASS_THREADS):
        largest = max(largest, logits[row, k] + bias[k])

    total = float32(0)
    for k in range(thread, classes, CLASS_THREADS):
        total += math.exp(logits[row, k] + bias[k] - largest)
    total = sum_of_block(shared, total)

    label = labels[row]
    for k in range(thread, classes, CLASS_THREADS):
        z = logits[row, k] + bias[k] - largest
        y = math.exp(z) / total
        probabilities[row, k] = y
        if k == label:
            delta[row, k] = y - float32(1)
            losses[row] = math.log(total) - z
        else:
            delta[row, k] = y
