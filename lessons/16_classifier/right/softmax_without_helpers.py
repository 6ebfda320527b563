"""Both trees within the kernel."""

import math

from numba import cuda, float32

from kernels.classifier.softmax import CLASS_THREADS


@cuda.jit
def softmax_cross_entropy(logits, bias, labels, probabilities, delta, losses):
    maxima = cuda.shared.array(CLASS_THREADS, float32)
    sums = cuda.shared.array(CLASS_THREADS, float32)
    sample, thread = cuda.blockIdx.x, cuda.threadIdx.x
    classes = logits.shape[1]

    own = float32(-math.inf)
    for i in range(thread, classes, CLASS_THREADS):
        own = max(own, logits[sample, i] + bias[i])
    maxima[thread] = own
    active = CLASS_THREADS // 2
    while active:
        cuda.syncthreads()
        if thread < active:
            maxima[thread] = max(maxima[thread], maxima[thread + active])
        active //= 2
    cuda.syncthreads()

    own = float32(0)
    for i in range(thread, classes, CLASS_THREADS):
        own += math.exp(logits[sample, i] + bias[i] - maxima[0])
    sums[thread] = own
    active = CLASS_THREADS // 2
    while active:
        cuda.syncthreads()
        if thread < active:
            sums[thread] += sums[thread + active]
        active //= 2
    cuda.syncthreads()

    for i in range(thread, classes, CLASS_THREADS):
        probabilities[sample, i] = math.exp(logits[sample, i] + bias[i] - maxima[0]) / sums[0]
        delta[sample, i] = probabilities[sample, i] - float32(i == labels[sample])
        if i == labels[sample]:
            losses[sample] = math.log(sums[0]) - (logits[sample, i] + bias[i] - maxima[0])
