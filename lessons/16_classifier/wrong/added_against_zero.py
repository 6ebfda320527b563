"""-log(y + EPSILON): a guard against log(0) makes all losses a little smaller."""
# caught by: softmax
# diagnosis: something added to the probability

import math

from numba import cuda, float32

from kernels.classifier.softmax import CLASS_THREADS, largest_of_block, sum_of_block


@cuda.jit
def softmax_cross_entropy(logits, bias, labels, probabilities, delta, losses):
    scratch = cuda.shared.array(CLASS_THREADS, float32)
    b, i = cuda.blockIdx.x, cuda.threadIdx.x
    K = logits.shape[1]
    m = float32(-math.inf)
    for k in range(i, K, CLASS_THREADS):
        m = max(m, logits[b, k] + bias[k])
    m = largest_of_block(scratch, m)
    s = float32(0)
    for k in range(i, K, CLASS_THREADS):
        s += math.exp(logits[b, k] + bias[k] - m)
    s = sum_of_block(scratch, s)
    for k in range(i, K, CLASS_THREADS):
        y = math.exp(logits[b, k] + bias[k] - m) / s
        probabilities[b, k] = y
        if k == labels[b]:
            delta[b, k] = y - float32(1)
            losses[b] = -math.log(y + float32(1e-6))
        else:
            delta[b, k] = y
