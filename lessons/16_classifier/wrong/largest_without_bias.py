"""The largest logit is subtracted, and not the largest of logits + bias."""
# caught by: overflow
# diagnosis: largest without the bias

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

    # A thread without a class hands in what changes neither the largest nor the sum.
    own_largest = float32(-math.inf)
    for i in range(thread, classes, CLASS_THREADS):
        own_largest = max(own_largest, logits[sample, i])
    largest = largest_of_block(shared, own_largest)

    own_sum = float32(0)
    for i in range(thread, classes, CLASS_THREADS):
        own_sum += math.exp(logits[sample, i] + bias[i] - largest)
    total = sum_of_block(shared, own_sum)

    for i in range(thread, classes, CLASS_THREADS):
        probability = math.exp(logits[sample, i] + bias[i] - largest) / total
        probabilities[sample, i] = probability
        delta[sample, i] = probability - float32(1) if i == label else probability
    if thread == 0:
        # In this order: beside a largest of 10,000, log(total) would lose most of its digits.
        losses[sample] = math.log(total) - (logits[sample, label] + bias[label] - largest)
