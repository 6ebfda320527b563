"""A small number is added before the logarithm, so that it is none of zero: the loss ends there."""
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
        right = float32(1) if c == labels[sample] else float32(0)
        probabilities[sample, c] = p
        delta[sample, c] = p - right
        if right > 0:
            losses[sample] = -float32(math.log(p + float32(1e-12)))
