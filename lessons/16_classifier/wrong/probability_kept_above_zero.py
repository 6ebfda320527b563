"""The loss is the logarithm of the clipped probability: it is finite, and ends at 16."""
# caught by: overflow
# diagnosis: loss cut off

import math

from numba import cuda, float32

from kernels.classifier.softmax import CLASS_THREADS, largest_of_block


@cuda.jit
def softmax_cross_entropy(logits, bias, labels, probabilities, delta, losses):
    shared = cuda.shared.array(CLASS_THREADS, float32)
    sample, lane = cuda.blockIdx.x, cuda.threadIdx.x
    classes = logits.shape[1]
    top = float32(-math.inf)
    for c in range(lane, classes, CLASS_THREADS):
        top = max(top, logits[sample, c] + bias[c])
    top = largest_of_block(shared, top)
    total = float32(0)
    for c in range(lane, classes, CLASS_THREADS):
        total += float32(math.exp(logits[sample, c] + bias[c] - top))
    total = sum_of_block(shared, total)
    for c in range(lane, classes, CLASS_THREADS):
        p = float32(math.exp(logits[sample, c] + bias[c] - top)) / total
        probabilities[sample, c] = p
        delta[sample, c] = p
        if c == labels[sample]:
            delta[sample, c] = p - float32(1)
            losses[sample] = -float32(math.log(max(p, float32(1e-7))))
