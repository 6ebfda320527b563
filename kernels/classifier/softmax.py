"""Softmax, cross entropy and their slope: one block per sample.

    logits (B, classes), bias (classes,), labels (B,)
        ->  probabilities (B, classes), delta (B, classes), losses (B,)

The idea: with z = logits + bias of one sample,

    probability of class c = exp(z_c) / sum of exp(z)
    loss                   = -log(probability of the label)
    delta = dloss/dz       = probability - (1 for the label, 0 for the others)

exp(89) is more than float32 can hold. But a factor that all exponentials share falls out of the
quotient: so the largest z is subtracted first. Then the largest exponential is 1, and the sum is at
least 1. The loss is the logarithm, written out: log(sum) - (z_label - largest). A probability that
has become 0 is never asked for its logarithm.

The 32 threads of a block share a row: each takes the largest of its classes, then the sum of
its exponentials, and two trees in shared memory make one number of 32. As they are one warp,
shuffles would do it without shared memory and barriers (`kernels/reductions/sums.py`). Trees are
what lesson 5b teaches, and right for a block of any size.

Source: Bridle, "Probabilistic interpretation of feedforward classification network outputs", 1990;
Goodfellow, Bengio, Courville, "Deep Learning", section 4.1, for the largest.
"""

import math

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.launch import on_gpu

CLASS_THREADS = 32


@register_jitable
def largest_of_block(shared, value):
    """The largest `value` of the block's CLASS_THREADS threads; each of them gets it.

    shared: (CLASS_THREADS,) float32 in shared memory, free to use; it is free again afterwards.
    """
    thread = cuda.threadIdx.x
    shared[thread] = value
    active = CLASS_THREADS // 2
    while active > 0:
        cuda.syncthreads()
        if thread < active:
            shared[thread] = max(shared[thread], shared[thread + active])
        active //= 2
    cuda.syncthreads()
    largest = shared[0]
    # Nobody may use `shared` for something else before all have read.
    cuda.syncthreads()
    return largest


@register_jitable
def sum_of_block(shared, value):
    """The sum of the block's values, as `largest_of_block`."""
    thread = cuda.threadIdx.x
    shared[thread] = value
    active = CLASS_THREADS // 2
    while active > 0:
        cuda.syncthreads()
        if thread < active:
            shared[thread] += shared[thread + active]
        active //= 2
    cuda.syncthreads()
    total = shared[0]
    cuda.syncthreads()
    return total


@cuda.jit
def softmax_cross_entropy(logits, bias, labels, probabilities, delta, losses):
    """Softmax of logits + bias, and how wrong it is; one block of CLASS_THREADS threads per sample.

    logits (B, classes), bias (classes,): float32; labels (B,): int32 in [0, classes).
    Writes probabilities (B, classes), whose rows sum to 1; delta (B, classes), the loss's slope
    along logits; losses (B,), each sample's cross entropy: float32.
    """
    shared = cuda.shared.array(CLASS_THREADS, float32)
    sample = cuda.blockIdx.x
    thread = cuda.threadIdx.x
    classes = logits.shape[1]
    label = labels[sample]

    # A thread without a class hands in what changes neither the largest nor the sum.
    own_largest = float32(-math.inf)
    for i in range(thread, classes, CLASS_THREADS):
        own_largest = max(own_largest, logits[sample, i] + bias[i])
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


def launch_softmax_cross_entropy(
    logits, bias, labels, probabilities, delta, losses, launch=on_gpu
):  # fmt: skip
    launch(
        softmax_cross_entropy, logits.shape[0], CLASS_THREADS,
        logits, bias, labels, probabilities, delta, losses,
    )  # fmt: skip
