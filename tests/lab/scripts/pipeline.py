"""A host program as people write them: pinned buffers, three streams, events, a reduction.

    pipeline.py [CHUNKS] [MISTAKE]

MISTAKE is one of the mistakes that the tests make here, such as "no-wait".
"""

import sys

import numba.cuda as nc
import numpy as np
from helpers_of_pipeline import smooth_step
from numba import cuda, float32
from numba.cuda import jit, to_device

CHUNK = 96
THREADS = 32


@cuda.jit("void(float32[:], float32[:], float32)")
def smooth(values, result, amount):
    i = cuda.grid(1)
    if i < values.size:
        result[i] = amount * smooth_step(values[i])


@jit
def block_sums(values, sums):
    tile = cuda.shared.array(THREADS, float32)
    thread = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[thread] = values[i] if i < values.size else float32(0)
    width = THREADS // 2
    while width > 0:
        cuda.syncthreads()
        if thread < width:
            tile[thread] += tile[thread + width]
        width //= 2
    if thread == 0:
        sums[cuda.blockIdx.x] = tile[0]


@nc.jit(fastmath=True)
def add_one(values):
    i = cuda.grid(1)
    if i < values.size:
        values[i] += float32(1)


@cuda.reduce
def total_of(a, b):
    return a + b


def main(chunks, mistake=""):
    device = cuda.get_current_device()
    assert cuda.is_available() and len(cuda.gpus) == 1 and device.MAX_THREADS_PER_BLOCK == 1024
    cuda.select_device(0)
    values = np.linspace(0, 1, chunks * CHUNK, dtype=np.float32)
    amount = 2.5
    upload, compute, download = cuda.stream(), cuda.stream(), cuda.stream()
    sources = [cuda.pinned_array(CHUNK, np.float32) for _ in range(chunks)]
    results = [cuda.pinned_array_like(source) for source in sources]
    for chunk in range(chunks):
        sources[chunk][:] = values[chunk * CHUNK : (chunk + 1) * CHUNK]
        uploaded, computed = cuda.event(timing=False), cuda.event(timing=False)
        on_device = cuda.to_device(sources[chunk], stream=upload)
        out = cuda.device_array_like(on_device)
        uploaded.record(upload)
        if mistake != "no-wait":
            uploaded.wait(compute)
        smooth[(CHUNK + THREADS - 1) // THREADS, THREADS, compute](on_device, out, amount)
        computed.record(compute)
        computed.wait(download)
        out.copy_to_host(results[chunk], stream=download)
        if mistake == "reuse-buffer":
            sources[0][:] = 0
    if mistake != "no-synchronize":
        download.synchronize()
    smoothed = np.concatenate(results)

    everything = to_device(smoothed)
    blocks = -(-everything.size // THREADS)
    sums = cuda.device_array(blocks, np.float32)
    block_sums[blocks, THREADS](everything, sums)
    total = sums.copy_to_host().sum()
    assert abs(total - total_of(everything)) < 1e-3 * total

    managed = cuda.managed_array(CHUNK, np.float32)
    managed[:] = smoothed[:CHUNK]
    add_one.forall(CHUNK)(managed)
    if mistake != "managed":
        cuda.synchronize()
    np.testing.assert_array_equal(managed, smoothed[:CHUNK] + 1)
    plain = smoothed[:CHUNK].copy()
    add_one[3, THREADS](plain)
    np.testing.assert_array_equal(managed, plain)

    expected = amount * values * values * (3 - 2 * values)
    np.testing.assert_allclose(smoothed, expected, rtol=1e-4, atol=1e-6)
    print(f"total {total:.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
