"""A block fetches the chunk's deltas into shared memory; each thread then has inputs of its own."""

from numba import cuda, float32

from kernels.launch import blocks_for, on_gpu
from kernels.siren.sums import CHUNK_SAMPLES

UNITS = 32


@cuda.jit
def chunk_sums(inputs, deltas, partial):
    own = cuda.shared.array((CHUNK_SAMPLES, UNITS), float32)
    thread, chunk = cuda.threadIdx.x, cuda.blockIdx.y
    unit = cuda.blockIdx.x * UNITS + thread
    samples, fan_in = inputs.shape
    fan_out = deltas.shape[1]
    first = chunk * CHUNK_SAMPLES
    count = min(CHUNK_SAMPLES, samples - first)
    for s in range(count):
        own[s, thread] = deltas[first + s, unit] if unit < fan_out else float32(0)
    cuda.syncthreads()
    if unit < fan_out:
        bias = float32(0)
        for s in range(count):
            bias += own[s, thread]
        partial[chunk, fan_in, unit] = bias
        for i in range(fan_in):
            total = float32(0)
            for s in range(count):
                total += inputs[first + s, i] * own[s, thread]
            partial[chunk, i, unit] = total


def launch_chunk_sums(inputs, deltas, partial, launch=on_gpu):
    chunks, _, fan_out = partial.shape
    blocks = blocks_for(fan_out, UNITS), chunks
    launch(chunk_sums, blocks, (UNITS, 1), inputs, deltas, partial)
