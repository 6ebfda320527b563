"""The thread is compared with the label, and not the class that it is at."""
# caught by: softmax
# diagnosis: thread compared with the label

import math

from numba import cuda, float32

from kernels.classifier.softmax import CLASS_THREADS


@cuda.jit
def softmax_cross_entropy(logits, bias, labels, probabilities, delta, losses):
    tree = cuda.shared.array(CLASS_THREADS, float32)
    sample, thread = cuda.blockIdx.x, cuda.threadIdx.x
    classes = bias.shape[0]
    biggest = float32(-math.inf)
    for i in range(thread, classes, CLASS_THREADS):
        biggest = max(biggest, logits[sample, i] + bias[i])
    biggest = largest_of_block(tree, biggest)
    partial = float32(0)
    for i in range(thread, classes, CLASS_THREADS):
        partial += math.exp(logits[sample, i] + bias[i] - biggest)
    denominator = sum_of_block(tree, partial)
    truth = float32(0)
    if thread == labels[sample]:
        truth = float32(1)
    for i in range(thread, classes, CLASS_THREADS):
        y = math.exp(logits[sample, i] + bias[i] - biggest) / denominator
        probabilities[sample, i] = y
        delta[sample, i] = y - truth
    if thread == 0:
        answer = labels[sample]
        z = logits[sample, answer] + bias[answer]
        losses[sample] = math.log(denominator) - (z - biggest)
