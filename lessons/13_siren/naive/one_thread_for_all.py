"""The first thread sums everything, chunk after chunk; the others have nothing to do."""
# points: 4

from numba import cuda, float32

from kernels.siren.sums import CHUNK_SAMPLES


@cuda.jit
def chunk_sums(inputs, deltas, partial):
    unit, group, chunk = cuda.grid(3)
    if unit > 0 or group > 0 or chunk > 0:
        return
    samples, fan_in = inputs.shape
    for c in range(partial.shape[0]):
        for u in range(deltas.shape[1]):
            for i in range(fan_in + 1):
                total = float32(0)
                for s in range(c * CHUNK_SAMPLES, min((c + 1) * CHUNK_SAMPLES, samples)):
                    total += (inputs[s, i] if i < fan_in else float32(1)) * deltas[s, u]
                partial[c, i, u] = total


@cuda.jit
def sum_chunks(partial, gradients):
    unit, row = cuda.grid(2)
    if unit > 0 or row > 0:
        return
    for r in range(gradients.shape[0]):
        for u in range(gradients.shape[1]):
            total = float32(0)
            for chunk in range(partial.shape[0]):
                total += partial[chunk, r, u]
            gradients[r, u] = total
