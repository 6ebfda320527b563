"""Every class adds its -log(probability) to the loss; cross entropy has that of the label only."""
# caught by: softmax
# diagnosis: losses of all classes

import math

from numba import cuda, float32

from kernels.classifier.softmax import CLASS_THREADS, largest_of_block, sum_of_block


@cuda.jit
def softmax_cross_entropy(logits, bias, labels, probabilities, delta, losses):
    shared = cuda.shared.array(CLASS_THREADS, float32)
    sample = cuda.blockIdx.x
    thread = cuda.threadIdx.x
    classes = logits.shape[1]
    own_largest = float32(-math.inf)
    for i in range(thread, classes, CLASS_THREADS):
        own_largest = max(own_largest, logits[sample, i] + bias[i])
    largest = largest_of_block(shared, own_largest)
    own_sum = float32(0)
    for i in range(thread, classes, CLASS_THREADS):
        own_sum += math.exp(logits[sample, i] + bias[i] - largest)
    total = sum_of_block(shared, own_sum)
    own_loss = float32(0)
    for i in range(thread, classes, CLASS_THREADS):
        z = logits[sample, i] + bias[i] - largest
        y = math.exp(z) / total
        t = float32(1) if i == labels[sample] else float32(0)
        probabilities[sample, i] = y
        delta[sample, i] = y - t
        own_loss += math.log(total) - z
    loss = sum_of_block(shared, own_loss)
    if thread == 0:
        losses[sample] = loss
