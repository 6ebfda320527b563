"""A thread has one class at most; thread 0 reads the label's logit for the loss."""
# caught by: softmax
# diagnosis: one class per thread

import math

from numba import cuda, float32

from kernels.classifier.softmax import CLASS_THREADS, largest_of_block, sum_of_block


@cuda.jit
def softmax_cross_entropy(logits, bias, labels, probabilities, delta, losses):
    shared = cuda.shared.array(CLASS_THREADS, float32)
    sample = cuda.blockIdx.x
    c = cuda.threadIdx.x
    mine = c < logits.shape[1]
    z = float32(-3.0e38)
    if mine:
        z = logits[sample, c] + bias[c]
    largest = largest_of_block(shared, z)
    power = float32(0)
    if mine:
        power = float32(math.exp(z - largest))
    total = sum_of_block(shared, power)
    label = labels[sample]
    if mine:
        y = power / total
        probabilities[sample, c] = y
        delta[sample, c] = y - (float32(1) if label == c else float32(0))
    if c == 0:
        losses[sample] = float32(math.log(total)) - (logits[sample, label] + bias[label] - largest)
