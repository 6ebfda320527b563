"""A thread has three classes side by side: its neighbours are three places away."""
# caught by: one_block_per_row
# diagnosis: not side by side

import math

from numba import cuda, float32

from kernels.classifier.softmax import CLASS_THREADS, largest_of_block, sum_of_block


@cuda.jit
def softmax_cross_entropy(logits, bias, labels, probabilities, delta, losses):
    shared = cuda.shared.array(CLASS_THREADS, float32)
    sample = cuda.blockIdx.x
    thread = cuda.threadIdx.x
    classes = logits.shape[1]
    label = labels[sample]
    each = (classes + CLASS_THREADS - 1) // CLASS_THREADS
    first, last = thread * each, min((thread + 1) * each, classes)

    own_largest = float32(-math.inf)
    for i in range(first, last):
        own_largest = max(own_largest, logits[sample, i] + bias[i])
    largest = largest_of_block(shared, own_largest)
    own_sum = float32(0)
    for i in range(first, last):
        own_sum += math.exp(logits[sample, i] + bias[i] - largest)
    total = sum_of_block(shared, own_sum)
    for i in range(first, last):
        probability = math.exp(logits[sample, i] + bias[i] - largest) / total
        probabilities[sample, i] = probability
        delta[sample, i] = probability - float32(1) if i == label else probability
    if thread == 0:
        losses[sample] = math.log(total) - (logits[sample, label] + bias[label] - largest)
