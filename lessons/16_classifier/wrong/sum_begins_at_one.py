"""Every thread begins its sum of exponentials at 1."""
# caught by: softmax
# diagnosis: 1 from each thread

import math

from numba import cuda, float32

from kernels.classifier.softmax import CLASS_THREADS


@cuda.jit
def softmax_cross_entropy(logits, bias, labels, probabilities, delta, losses):
    shared = cuda.shared.array(CLASS_THREADS, float32)
    sample = cuda.blockIdx.x
    thread = cuda.threadIdx.x
    classes = logits.shape[1]
    label = labels[sample]

    own_largest = float32(-math.inf)
    for i in range(thread, classes, CLASS_THREADS):
        own_largest = max(own_largest, logits[sample, i] + bias[i])
    largest = largest_of_block(shared, own_largest)

    own_sum = float32(1)
    for i in range(thread, classes, CLASS_THREADS):
        own_sum += math.exp(logits[sample, i] + bias[i] - largest)
    total = sum_of_block(shared, own_sum)

    for i in range(thread, classes, CLASS_THREADS):
        probability = math.exp(logits[sample, i] + bias[i] - largest) / total
        probabilities[sample, i] = probability
        delta[sample, i] = probability - float32(1) if i == label else probability
    if thread == 0:
        losses[sample] = math.log(total) - (logits[sample, label] + bias[label] - largest)
